"""A lesson as a page: its notebook is run, its views record themselves, nbconvert writes it."""

import base64
import html
import json
import re
import zlib
from functools import cached_property
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters import strip_ansi
from nbformat import v4

from .record import MIME

HERE = Path(__file__).parent
SECONDS = 170  # that a cell may take
RECORD = "record: "  # a tag of a cell: another text for its text box
SET_UP = """
import sys
sys.path.insert(0, "..")
from helpers.pages.record import start
start({texts!r})
"""
PICTURE = re.compile(r'<img alt="([^"]*)"([^>]*?) src="data:image/png;base64,([^"]*)">')


class CannotMake(Exception):
    """What is in the way of a page, and what to do."""


class Lesson:
    """One notebook on its way to a page."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        try:
            self.notebook = nbformat.read(path, as_version=4)
        except Exception:
            raise CannotMake(f"{path} is no notebook.") from None

    @cached_property
    def title(self):
        return re.search(r"^# (.*)", self.notebook.cells[0].source, re.M)[1]

    @cached_property
    def aims(self):
        """What one can do afterwards, each a line of Markdown."""
        return re.findall(r"^- (.*?)[,.]?$", self.notebook.cells[0].source, re.M)

    @cached_property
    def minutes(self):
        found = re.search(r"\*(\d+) minutes", self.notebook.cells[0].source)
        return found and found[1]

    def run(self):
        """Run all cells; views leave their recordings in their outputs."""
        texts = {cell.source.rstrip("\n"): _texts(cell) for cell in self.notebook.cells}
        first = v4.new_code_cell(SET_UP.format(texts={k: v for k, v in texts.items() if v}))
        self.notebook.cells.insert(0, first)
        try:
            NotebookClient(
                self.notebook,
                timeout=SECONDS,
                kernel_name="python3",
                coalesce_streams=True,
                resources={"metadata": {"path": str(self.path.parent)}},
            ).execute()
        except CellExecutionError as error:
            why = strip_ansi(str(error))
            raise CannotMake(f"{self.name}: a cell raised an error.\n{why}") from None
        except CellTimeoutError:
            raise CannotMake(
                f"{self.name}: a cell took longer than {SECONDS} seconds; make it faster."
            ) from None
        except DeadKernelError:
            raise CannotMake(
                f"{self.name}: its kernel died, as when memory runs out; run the notebook in "
                "JupyterLab to see in which cell."
            ) from None
        finally:
            self.notebook.cells.pop(0)

    def write(self, folder, before=None, after=None):
        """Write the page, and its pictures beside it. before, after: lessons, or None."""
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [self._output(cell, x, folder) for x in _shown(cell.outputs)]
            else:
                cell.source = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.html)", cell.source)
        body, _ = _exporter().from_notebook_node(
            self.notebook, resources={"lesson": self, "before": before, "after": after}
        )
        (folder / f"{self.name}.html").write_text(body, encoding="utf-8")

    def _output(self, cell, output, folder):
        """As the page shows it: pictures in files, a live view with its recording."""
        data = output.get("data", {})
        if "text/html" in data:
            text = re.sub(r"<style>.*?</style>", "", data["text/html"], flags=re.S)
            text = text.replace(' role="alert"', "")
            data["text/html"] = PICTURE.sub(lambda x: self._picture(cell, x, folder), text)
            data.pop("image/png", None)
        recorded = data.pop(MIME, None)
        if recorded is not None:
            if "cannot" in recorded:
                raise CannotMake(f"{self.name}, cell {cell.id}: {recorded['cannot']}")
            packed = zlib.compress(json.dumps(recorded, separators=(",", ":")).encode(), 9)
            data["text/html"] = (
                f'<div class="live"><div class="saved">{data["text/html"]}</div>'
                f'<script type="text/plain">{base64.b64encode(packed).decode()}</script></div>'
            )
        return output

    def _picture(self, cell, found, folder):
        alt, more, data = found.groups()
        pictures = folder / "pictures"
        pictures.mkdir(exist_ok=True)
        png = base64.b64decode(data)
        name = f"{cell.id}-{zlib.crc32(png):08x}.png"
        (pictures / name).write_bytes(png)
        return (
            f'<figure><div class="wide" tabindex="0" role="region" aria-label="Picture">'
            f'<img alt="{alt}"{more} src="pictures/{name}"></div>'
            f"<figcaption>{alt}</figcaption></figure>"
        )


def _texts(cell):
    tags = cell.metadata.get("tags", ())
    return [tag.removeprefix(RECORD) for tag in tags if tag.startswith(RECORD)]


def _shown(outputs):
    """Without the widget itself, which needs a kernel."""
    return [x for x in outputs if set(x.get("data", {"text": 0})) - {_WIDGET}]


_WIDGET = "application/vnd.jupyter.widget-view+json"


def _exporter():
    return HTMLExporter(
        template_name="page",
        extra_template_basedirs=[str(HERE)],
        exclude_anchor_links=True,
        embed_images=False,
        sanitize_html=False,
    )


def write_common(folder):
    """What all pages share: the style, and the script of the views with what plays them."""
    helpers = HERE.parent
    names = ("plane.js", "pixels.js", "explore.js")
    view = "".join((helpers / name).read_text(encoding="utf-8") for name in names)
    ours = (HERE / "pages.js").read_text(encoding="utf-8")
    view = view.replace("export default", "const widget =")
    (folder / "course.js").write_text(f"(() => {{\n{view}\n{ours}\n}})();\n", encoding="utf-8")
    style = (HERE / "pages.css").read_text(encoding="utf-8")
    style += (helpers / "explore.css").read_text(encoding="utf-8")
    (folder / "course.css").write_text(style, encoding="utf-8")


def index(folder, lessons):
    """The first page: what the course is, and its lessons."""
    template = _exporter().environment.get_template("course.html.j2")
    body = template.render(lessons=lessons, markdown=_inline)
    (folder / "index.html").write_text(body, encoding="utf-8")


def _inline(text):
    """Markdown of one line, as HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text)
    return re.sub(r"\*([^*]*)\*", r"<em>\1</em>", text)
