"""Run the cells of one notebook in a kernel, and print what comes of it, one JSON object a line.

This process stands between the teacher's command and the kernel: a cell that ends its parent ends
this one and nothing else. It is started by its path and imports nothing of the course, since
PyTorch takes two seconds.
"""

import json
import os
import sys

from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import v4

KEPT = 200  # characters of an error
LONGEST = 50_000  # characters of a line
MOST = 1000  # lines: a loop may show one verdict after the other


class Listener(NotebookClient):
    """Outputs are looked at and not kept: an endless loop that prints needs no memory."""

    def start(self, mime, pipe):
        self.mime, self.pipe, self.left = mime, pipe, MOST
        self.on_cell_start = lambda cell, cell_index: self.tell(cell=cell_index + 1)
        self.execute()

    def tell(self, **entry):
        line = json.dumps(entry)
        if self.left and len(line) <= LONGEST:
            self.left -= 1
            print(line, file=self.pipe, flush=True)

    def output(self, outs, msg, display_id, cell_index):
        content = msg["content"]
        data = content.get("data", {})
        if self.mime in data:
            self.tell(shown={kind: data.get(kind) for kind in (self.mime, "text/plain")})
        if msg["msg_type"] == "error":
            error = f"{content['ename']}: {content['evalue']}".removesuffix(": ")
            if error == "KeyboardInterrupt":
                error = f"took longer than {self.timeout} seconds and was interrupted"
            self.tell(error=error[:KEPT])


def main():
    asked = json.load(sys.stdin)
    # Only this process may write what is believed: the kernel inherits no pipe.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (asked["memory"],) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    listener = Listener(
        v4.new_notebook(cells=[v4.new_code_cell(source) for source in asked["sources"]]),
        timeout=asked["seconds"],
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        shutdown_kernel="immediate",
        store_widget_state=False,
    )
    try:
        listener.start(asked["mime"], pipe)
        end = {"at_end": True}
    except DeadKernelError:
        end = {"failed": "its process ended"}
    except BaseException as error:
        end = {"failed": f"cannot be run: {type(error).__name__}: {str(error)[:KEPT]}"}
    print(json.dumps(end), file=pipe, flush=True)


if __name__ == "__main__":
    main()
