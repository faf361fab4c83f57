"""Run the notebook in a file: python kernel.py FILE SECONDS BYTES MIME

Errors and outputs of type MIME are saved in FILE as soon as they appear; other output is not kept,
so a loop that prints needs no memory. This process separates the teacher's command from the kernel:
a cell that kills its parent ends only this process. It is started by its path and imports nothing
from the course, since PyTorch takes two seconds.
"""

import json
import os
import sys

import nbformat
from nbclient import NotebookClient

KEPT = 200  # characters of an error
LONGEST = 50_000  # characters of an output
MOST = 1000  # outputs of a cell: a loop may show verdict after verdict


class Runner(NotebookClient):
    def run(self, path, mime):
        self.path, self.mime = path, mime
        self.on_cell_start = self.begin
        self.execute()

    def begin(self, cell, cell_index):
        cell.execution_count = cell_index + 1
        self.save()

    def save(self):
        nbformat.write(self.nb, f"{self.path}.new")
        os.replace(f"{self.path}.new", self.path)

    def output(self, outs, msg, display_id, cell_index):
        content = msg["content"]
        if msg["msg_type"] == "error":
            content |= {"evalue": content["evalue"][:KEPT], "traceback": []}
            if content["ename"] == "KeyboardInterrupt":
                content["ename"] = f"took longer than {self.timeout} seconds and was interrupted"
        elif self.mime not in content.get("data", {}):
            return
        if len(outs) < MOST and len(json.dumps(content)) < LONGEST:
            super().output(outs, msg, display_id, cell_index)
            self.save()


def main(path, seconds, memory, mime):
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(memory),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    runner = Runner(
        nbformat.read(path, as_version=4),
        timeout=int(seconds),
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        shutdown_kernel="immediate",
        store_widget_state=False,
    )
    runner.run(path, mime)


if __name__ == "__main__":
    main(*sys.argv[1:])
