"""Make a lesson into a page: run its notebook, which records its views, and let nbconvert write."""

import base64
import html
import json
import re
import zlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import nbformat
from matplotlib.figure import Figure
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from nbconvert.filters import strip_ansi
from nbformat import v4
from PIL import Image

from ..checks.verdict import MIME as VERDICT
from ..pictures.explore import Explore
from .closed import ASIDE, closed
from .exercises import as_puzzle
from .record import MIME, in_columns

HERE = Path(__file__).parent
TITLE = "Attention, one step at a time"
ABOUT = (
    "From one dot product to a model that writes: predict, move a picture, and watch every number "
    "change."
)
COVER = "l01-60"  # the cell whose view is on the front page, with the question about it
QUESTION = (
    "A small model writes stories. The arcs show where it looks before it writes the word after "
    "<em>she</em>. Give Anna a different thing, or make all weights even: what does it write now?"
)
COURSE = "*.md", ".github/*.*", "notebooks/*.*", "helpers/**/*", "data/**/*"  # in course.zip
COURSE += "requirements.txt", "environment.yml", ".venv/etc/jupyter/labconfig/*"
SECONDS = 600  # that a cell may take, even on a busy machine
WIDGET = "application/vnd.jupyter.widget-view+json"
RECORD = "record: "  # a cell's tag: one more text for its text box
SET_UP = """
import sys
sys.path.insert(0, "..")
from helpers.pages.record import start
start({texts!r})
"""
# The label on folded code, by the reason why it is folded.
FOLDED = {
    "loads": "What this lesson loads",
    "explore": "The Python behind this picture",
    "Still": "The Python that draws this picture",
    ASIDE: "Python that you can skip",
}
WITHOUT = (
    "*On this page, think or write on paper, then open the solution. Below each exercise, find "
    "the mistake in someone's answer. To write code and have it checked, use "
    "[the notebooks](index.html#notebooks).*"
)
BOX = '<div class="wide" data-box="Table">'
QUIET = re.compile(' role="alert"')  # a page announces nothing by itself
CHECK = re.compile(r'^check\("(\w+)"', re.M)
PICTURE = re.compile(r'<img alt="([^"]*)"([^>]*?) src="data:image/png;base64,([^"]*)">')


class CannotMake(Exception):
    """Why a page cannot be made, and what to do."""


class Lesson:
    """One notebook that becomes a page."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.notebook = nbformat.read(path, as_version=4)

    @property
    def title(self):
        found = re.search(r"^# (.*)", self.notebook.cells[0].source, re.M)
        return found[1] if found else self.name

    @property
    def aims(self):
        """What readers will be able to do afterwards, a list in Markdown."""
        sources = (cell.source for cell in self.notebook.cells)
        aims = next((text for text in sources if text.startswith("**After this lesson you ")), "")
        return "\n".join(re.findall(r"^(- .*?)[,.]?$", aims, re.M))

    @property
    def about(self):
        """The same in a sentence of plain text."""
        aims = re.sub(r"[*`]", "", self.aims.replace("- ", "")).split("\n")
        return f"After this lesson you will be able to: {'; '.join(aims)}."

    @property
    def minutes(self):
        """The minutes of the lesson, including its exercises."""
        text = "\n".join(cell.source for cell in self.notebook.cells)
        found = re.search(r"(?m)^\*(\d+) minutes(?:, and (\d+) for the exercises?)?\.", text)
        return sum(int(part or 0) for part in found.groups()) if found else 0

    def run(self):
        """Run all cells; views store their recordings in their outputs."""
        texts = {cell.source.rstrip("\n"): _texts(cell) for cell in self.notebook.cells}
        self.notebook.cells.insert(0, v4.new_code_cell(SET_UP.format(texts=texts)))
        kernel = dict(kernel_name="python3", timeout=SECONDS, coalesce_streams=True)
        where = {"metadata": {"path": str(self.path.parent)}}
        try:
            NotebookClient(self.notebook, resources=where, **kernel).execute()
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
        _for_readers(self.notebook)
        for cell in self.notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [self._output(cell, x, folder) for x in cell.outputs]
        body, _ = _exporter().from_notebook_node(
            self.notebook, resources={"lesson": self, "before": before, "after": after}
        )
        self.picture = next(iter(re.findall("<img .*?>", body)), "")  # the first picture
        body = _with_contents(re.sub(r"<table.*?</table>", rf"{BOX}\g<0></div>", body, flags=re.S))
        (folder / f"{self.name}.html").write_text(body, encoding="utf-8")

    def _output(self, cell, output, folder):
        """Return an output as the page shows it: pictures in files, a live view recorded."""
        data = output.get("data", {})
        if "text/html" in data:
            text = re.sub(r"<style>.*?</style>", "", data["text/html"], flags=re.S)
            text = QUIET.sub("", text)
            data["text/html"] = PICTURE.sub(lambda x: self._picture(cell, x, folder), text)
            data.pop("image/png", None)
        recorded = data.pop(MIME, None)
        if recorded is not None:
            text = json.dumps(in_columns(recorded), separators=(",", ":"))
            packed = zlib.compress(text.encode(), 9)
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
        image = f'<img alt="{alt}"{more} src="pictures/{name}">'
        return f'<figure><div class="wide" data-box="Picture">{image}</div></figure>'


def _for_readers(notebook):
    """Adapt a notebook for readers who run no code: remove what is solved and how to run a cell,
    fold what is closed in a notebook, and put a puzzle below each check."""
    notebook.cells = [x for x in notebook.cells if not x.source.startswith("progress(")]
    for cell, answers, way in closed(notebook.cells):
        if cell.cell_type == "code":
            cell.fold, cell.answer = FOLDED.get(way), answers
            cell.outputs = [x for x in cell.outputs if _is_shown(x)]
            exercise = checked_in(cell)
            cell.puzzle = as_puzzle(exercise) if exercise else ""
        else:
            cell.source = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.html)", cell.source)
            cell.source = re.sub(r"### Your progress\n.*?(?=\n#|\Z)", "", cell.source, flags=re.S)
            cell.source = cell.source.replace("## Exercises\n", f"## Exercises\n\n{WITHOUT}\n")
            cell.source = re.sub(r"^Run a cell with .*\n?", "", cell.source, flags=re.M)


def _is_shown(output):
    """Return whether an output is more than a widget, which needs a kernel, and is not a verdict
    on a stub, which only says that nothing is written yet."""
    data = output.get("data", {"text": 0})
    return set(data) - {WIDGET} and data.get(VERDICT, {}).get("passed", True) is not None


def checked_in(cell):
    """Return the exercise that is checked in this cell, or None."""
    found = cell.cell_type == "code" and CHECK.search(cell.source)
    return found[1] if found else None


def _with_contents(page):
    """Give headings ids, and list them with links before the lesson."""
    lines = []

    def place(found):
        level, text = found.groups()
        plain = re.sub("<.*?>", "", text)
        name = re.sub(r"\W+", "-", html.unescape(plain)).strip("-").lower()
        part = ' class="part"' if level == "3" else ""
        lines.append(f'<li{part}><a href="#{name}">{plain}</a></li>')
        return f'<h{level} id="{name}">{text}</h{level}>'

    page = re.sub(r"<h([23])>(.*?)</h\1>", place, page)
    return page.replace("<!-- contents -->", "<ol>\n" + "\n".join(lines) + "\n</ol>")


def _texts(cell):
    tags = cell.metadata.get("tags", ())
    return [tag.removeprefix(RECORD) for tag in tags if tag.startswith(RECORD)]


def _exporter():
    return HTMLExporter(
        template_name="page", extra_template_basedirs=[str(HERE)], exclude_anchor_links=True
    )


def write_common(folder):
    """Write what all pages share: the style, and the script of the views and their recordings."""
    names = ("reading.js", "pages.js", "present.js")
    ours = "".join((HERE / name).read_text(encoding="utf-8") for name in names)
    view = Explore._esm.replace("export default", "const widget =")
    (folder / "course.js").write_text(f"(() => {{\n{view}\n{ours}\n}})();\n", encoding="utf-8")
    style = (HERE / "pages.css").read_text(encoding="utf-8")
    style += Explore._css
    style += (HERE / "present.css").read_text(encoding="utf-8")  # last, since it enlarges the rest
    (folder / "course.css").write_text(style, encoding="utf-8")


def index(folder, lessons):
    """Write the front page: the course, one view to try, the lessons, the notebooks."""
    root, course = HERE.parent.parent, folder / "course.zip"
    with ZipFile(course, "w", ZIP_DEFLATED) as packed:
        for path in sorted(path for pattern in COURSE for path in root.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, Path("attention", path.relative_to(root)))
    cells = [cell for lesson in lessons for cell in lesson.notebook.cells if cell.id == COVER]
    cover = cells[0].outputs[-1].data["text/html"] if cells else ""
    preview(folder, cover or lessons[0].picture)
    size = f"{course.stat().st_size / 1e6:.0f}"
    body = _exporter().environment.get_template("course.html.j2")
    words = {"title": TITLE, "about": ABOUT, "question": QUESTION}
    body = body.render(lessons=lessons, cover=cover, size=size, **words)
    (folder / "index.html").write_text(body, encoding="utf-8")


def preview(folder, picture):
    """Write preview.png, shown with a link to a page: the title above a picture of the pages."""
    figure = Figure(figsize=(12, 6.3), dpi=100)  # 1200 by 630, the usual size of link previews
    figure.text(0.5, 0.86, TITLE, size=40, weight="bold", ha="center")
    if found := re.search(r'src="(pictures/.*?)"', picture):
        axes = figure.add_axes((0.04, 0.05, 0.92, 0.75))
        axes.axis("off")
        axes.imshow(Image.open(folder / found[1]).convert("RGB"))
    figure.savefig(folder / "preview.png")
