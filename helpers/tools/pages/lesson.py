"""Make a lesson into a page: run its notebook, which records its views, and let nbconvert write."""

import base64
import html
import io
import json
import re
import time
import zlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import TemplateExporter
from nbconvert.filters import Highlight2HTML, html2text, strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import v4

from ...checks.verdict import MIME as VERDICT
from ...pictures.explore import Explore
from ...pictures.live import page_text
from ...pictures.predict import SAVED
from ..course import CHECK, ROOT, handed_out, listed, notebooks, write
from ..path import steps
from .closed import ASIDE, closed
from .puzzle import as_puzzle
from .record import MIME, in_columns

HERE = Path(__file__).parent
TITLE = "Attention, one step at a time"
COVER = "l01-60"  # the cell whose view is on the front page: course.html.j2 asks about it
SECONDS = 600  # that a cell may take, even on a busy machine
WIDGET = "application/vnd.jupyter.widget-view+json"
RECORD = "record: "  # a cell's tag: one more text for its text box
# A notebook finds of an earlier one what is imported, and nothing else that it could notice.
SET_UP = """
%reset -f
import os, sys, torch
os.chdir({folder!r})
sys.path.insert(0, {course!r})
from helpers.checks.verdict import forget
from helpers.tools.pages.record import start
torch.set_printoptions(profile="default")
forget()
start({texts!r})
"""
# The label on folded code, by the reason why it is folded.
FOLDED = {
    "loads": "What this lesson loads",
    "explore": "The Python behind this picture",
    ASIDE: "Python that you can skip",
}
WITHOUT = (
    "*On this page, think or write on paper, then open the solution. Below each exercise, find "
    "the mistake in someone's answer. To write code and have it checked, use "
    "[the notebooks](index.html#notebooks).*"
)


class CannotMake(Exception):
    """Why a page cannot be made, and what to do."""


class Lesson:
    """One notebook that becomes a page."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.notebook, self.done = handed_out(path)
        self.picture = None  # the first one, (file, alt, width and height in pixels)

    @property
    def title(self):
        found = re.search(r"^# (.*)", self.notebook.cells[0].source, re.M)
        return found[1] if found else self.name

    @property
    def aims(self):
        """What readers will be able to do afterwards, a list in Markdown."""
        sources = (cell.source for cell in self.notebook.cells)
        aims = next((text for text in sources if "**After this lesson you " in text), "")
        return "\n".join(re.findall(r"^(- .*?)[,.]?$", aims, re.M))

    @property
    def minutes(self):
        """The minutes of the lesson, including its exercises."""
        text = "\n".join(cell.source for cell in self.notebook.cells)
        found = re.search(r"(?m)^\*(\d+) minutes(?:, and (\d+) for the exercises?)?\.", text)
        return sum(int(part or 0) for part in found.groups()) if found else 0

    def run(self, kernel):
        """Run all cells in this kernel, a client; views store their recordings in their outputs."""
        folder, course = str(self.path.parent.resolve()), str(ROOT)
        set_up = SET_UP.format(folder=folder, course=course, texts=texts_of(self.notebook))
        self.notebook.cells.insert(0, v4.new_code_cell(set_up))
        run = NotebookClient(self.notebook, kernel.parent, timeout=SECONDS, coalesce_streams=True)
        run.kc = kernel
        try:
            run.execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            why = strip_ansi(str(error))
            raise CannotMake(f"{self.name} does not run to its end.\n{why}") from None
        del self.notebook.cells[0]
        for cell in self.notebook.cells:
            for output in cell.get("outputs", ()):
                if why := output.get("data", {}).get(MIME, {}).get("cannot"):
                    raise CannotMake(f"{self.name}, cell {cell.id}: {why}")

    def write(self, folder, before=None, after=None):
        """Write the page and its pictures. before, after: the neighbouring lessons, or None."""
        resources = {"title": self.title, "before": before, "after": after}
        resources["headings"] = self._for_readers(folder)
        body, _ = _exporter().from_notebook_node(self.notebook, resources=resources)
        write(folder / f"{self.name}.html", body)

    def _for_readers(self, folder):
        """Adapt the notebook for readers who run no code: remove what is solved and how to run a
        cell, fold what is closed in a notebook, and put a puzzle below each check. Return the
        headings of its texts."""
        markdown = Markdown()
        self.notebook.cells = [x for x in self.notebook.cells if "progress(" not in x.source[:9]]
        for cell, answers, way in closed(self.notebook.cells):
            if cell.cell_type == "code":
                cell.fold, cell.answer = FOLDED.get(way), answers
                cell.asks = way == "predict"  # its code is the question once more
                cell.outputs = [self._output(cell, x, folder) for x in cell.outputs if _is_shown(x)]
                exercise = checked_in(cell)
                cell.puzzle = as_puzzle(exercise) if exercise else ""
            else:
                text = cell.source.partition("### Your progress\n")[0].replace(".ipynb)", ".html)")
                text = text.replace("## Exercises\n", f"## Exercises\n\n{WITHOUT}\n")
                lines = text.split("\n")
                text = "\n".join(x for x in lines if not x.startswith("Run a cell with"))
                cell.html = MarkdownWithMath(markdown).render(text)
        return markdown.headings

    def _output(self, cell, output, folder):
        """Return an output as the page shows it: pictures in files, a live view recorded."""
        data = output.get("data", {})
        if "image/png" in data:
            picture = self._picture(cell, output, folder)
            data["text/html"] = f'<figure class="wide" data-box="Picture">{picture}</figure>'
        elif VERDICT in data:  # a page announces nothing by itself
            data["text/html"] = data["text/html"].replace(' role="alert"', "")
        elif SAVED in output.get("metadata", {}):
            asked = html.escape(json.dumps(output.metadata[SAVED]))
            data["text/html"] = f'<div class="asked" data-asked="{asked}">{data["text/html"]}</div>'
        recorded = data.pop(MIME, None)
        if recorded is not None:
            text = json.dumps(in_columns(recorded), separators=(",", ":"))
            packed = zlib.compress(text.encode(), 9)
            data["text/html"] = (
                f'<div class="live"><div class="saved">{data["text/html"]}</div>'
                f'<script type="text/plain">{base64.b64encode(packed).decode()}</script></div>'
            )
        return output

    def _picture(self, cell, output, folder):
        """Write a picture, and return its element, with its caption."""
        png = base64.b64decode(output.data.pop("image/png"))
        file = f"pictures/{cell.id}-{zlib.crc32(png):08x}.png"
        write(folder / file, png)
        about = output.metadata["image/png"]
        alt, wide = html.escape(about["alt"]), about["width"]
        high = int.from_bytes(png[20:24], "big") // 2  # see Still.png
        self.picture = self.picture or (file, alt, wide, high)
        said = html.escape(about.get("caption", "")).replace("\n", "<br>")
        caption = f"<figcaption>{said}</figcaption>" if said else ""
        return f'<img alt="{alt}" width="{wide}" src="{file}">{caption}'


def _is_shown(output):
    """Return whether an output is more than a widget, which needs a kernel, and is not a verdict
    on a stub, which only says that nothing is written yet."""
    data = output.get("data", {"text": 0})
    return set(data) - {WIDGET} and data.get(VERDICT, {}).get("passed", True) is not None


class Markdown(IPythonRenderer):
    """Renders texts as nbconvert does, with tables in boxes that scroll.

    headings: (level, id, text) of each heading below the title, for the contents of a page.
    """

    def __init__(self):
        super().__init__(escape=False, exclude_anchor_links=True)
        self.headings = []

    def heading(self, text, level, **_):
        if level == 1:
            return f"<h1>{text}</h1>\n"
        plain = html2text(f"<p>{text}</p>")
        name = re.sub(r"\W+", "-", plain).strip("-").lower()
        self.headings.append((level, name, plain))
        return f'<h{level} id="{name}">{text}</h{level}>\n'

    def table(self, text):
        return f'<div class="wide" data-box="Table"><table>\n{text}</table></div>\n'


def checked_in(cell):
    """Return the exercise that is checked in this cell, or None."""
    found = cell.cell_type == "code" and CHECK.search(cell.source)
    return found[1] if found else None


def texts_of(notebook):
    """Return the texts that a lesson's text boxes can take, as well as the one at their start."""
    tags = (tag for cell in notebook.cells for tag in cell.metadata.get("tags", ()))
    return [tag.removeprefix(RECORD) for tag in tags if tag.startswith(RECORD)]


def _exporter():
    """Return what fills the files in templates/; nbconvert's HTMLExporter would read each page
    again, which takes longer than to write it."""
    return TemplateExporter(
        template_name="templates",
        extra_template_basedirs=[str(HERE)],
        file_extension=".html",
        filters={"highlight_code": Highlight2HTML(pygments_lexer="python")},
    )


def write_common(folder):
    """Write what all pages share: the style, and the script of views, recordings and questions."""
    ours = "".join((HERE / name).read_text(encoding="utf-8") for name in ("reading.js", "pages.js"))
    view = Explore._esm.replace("export default", "const widget =") + page_text("predict.js")
    write(folder / "course.js", f"(() => {{\n{view}\n{ours}\n}})();\n")
    style = (HERE / "pages.css").read_text(encoding="utf-8") + Explore._css
    style += page_text("predict.css")
    write(folder / "course.css", style)


def index(folder, lessons):
    """Write the front page: the course, one view to try, the lessons, the notebooks."""
    packed = course_zip()
    write(folder / "course.zip", packed)
    cells = [cell for lesson in lessons for cell in lesson.notebook.cells if cell.id == COVER]
    cover = cells[0].outputs[-1].data["text/html"] if cells else ""
    size = f"{len(packed) / 1e6:.0f}"
    page = _exporter().environment.get_template("course.html.j2")
    body = page.render(title=TITLE, lessons=lessons, cover=cover, size=size, path=steps())
    write(folder / "index.html", body)


def course_zip():
    """Return the bytes of course.zip: the course's own files, and its notebooks as handed out."""
    packed, lessons = io.BytesIO(), notebooks()
    with ZipFile(packed, "w") as course:
        for path in (ROOT / name for name in listed()["files"]):
            if path in lessons:
                content = nbformat.writes(handed_out(path)[0]).encode()
            elif path.exists():
                content = path.read_bytes()
            else:
                continue
            name = f"attention/{path.relative_to(ROOT).as_posix()}"
            file = ZipInfo(name, time.localtime()[:6])
            file.external_attr = 0o644 << 16  # all may read it
            course.writestr(file, content, ZIP_DEFLATED)
    return packed.getvalue()
