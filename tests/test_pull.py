"""nbgitpuller on what students do to their copy of the course: nothing of theirs is lost, and the
update arrives."""

import os
import shutil
import sys
from unittest.mock import patch

import nbformat
import pytest
from hub import CONFIG, git
from lab import ROOT
from nbformat.v4 import new_code_cell
from nbgitpuller.pull import GitPuller
from traitlets.config import PyFileConfigLoader

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="nbgitpuller serves copies on servers, which run Linux"
)
FIRST, SECOND = "notebooks/01_dot_products.ipynb", "notebooks/02_softmax.ipynb"
NEW, OLD, HELPER = "notebooks/14_new.ipynb", "notebooks/13_old.ipynb", "helpers/attention/data.py"
MINE, THEIRS = "what the student wrote", "what the teacher changed"


@pytest.fixture(autouse=True, scope="module")
def as_on_the_server():
    """Give git the settings that the configuration of the server has."""
    settings = PyFileConfigLoader(CONFIG, str(ROOT)).load_config().Spawner.environment
    with patch.dict(os.environ, {k: v for k, v in settings.items() if k.startswith("GIT_")}):
        yield


def edit(path, change):
    notebook = nbformat.read(path, as_version=4)
    change(notebook.cells)
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the course from before the course's last update."""
    course = tmp_path_factory.mktemp("course")
    for name in (FIRST, SECOND, HELPER):
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, course / name)
    shutil.copy(ROOT / SECOND, course / OLD)
    git(course, "init", "--quiet", "--initial-branch=main")
    git(course, "add", ".")
    git(course, "commit", "--quiet", "--message=course")
    copy = tmp_path_factory.mktemp("home") / "attention"
    pull(copy, course)

    def teach(cells):
        code = [cell for cell in cells if cell.cell_type == "code"]
        code[3].source += f"\n# {THEIRS}"
        cells[-1].source += f"\n\n{THEIRS}"
        cells.append(new_code_cell(f"# {THEIRS}"))

    for name in (FIRST, SECOND):
        edit(course / name, teach)
    (course / HELPER).write_text((course / HELPER).read_text() + f"\n# {THEIRS}\n")
    shutil.copy(course / SECOND, course / NEW)
    (course / OLD).unlink()
    git(course, "add", ".")
    git(course, "commit", "--quiet", "--message=update")
    return copy


def pull(folder, course=None):
    course = course or git(folder, "remote", "get-url", "origin")
    return "".join(GitPuller(str(course), str(folder), branch="main").pull())


def code(cells):
    return [cell for cell in cells if cell.cell_type == "code"]


def answered(cells):
    (cell,) = (cell for cell in code(cells) if 'check("scores"' in cell.source)
    cell.source = cell.source.replace("...", f'return "{MINE}"')


def same_cell(cells):
    code(cells)[3].source += f"\n# {MINE}"


def lesson_edited(folder):
    """Answer, change a cell that the teacher changed too, and delete cells."""
    edit(folder / FIRST, answered)
    edit(folder / FIRST, same_cell)
    for place in (3, -1):
        edit(folder / FIRST, lambda cells, place=place: cells.pop(place))


def own_commit(folder):
    edit(folder / FIRST, answered)
    git(folder, "commit", "--quiet", "--all", "--message=mine")


def files_moved(folder):
    """Rename a lesson, edit one that the teacher deleted, and take the name of the new one."""
    edit(folder / FIRST, answered)
    shutil.copy(folder / FIRST, folder / NEW)
    edit(folder / OLD, same_cell)
    (folder / FIRST).rename(folder / "notebooks/mine.ipynb")


def helper_edited(folder):
    (folder / HELPER).write_text((folder / HELPER).read_text() + f"\n# {MINE}\n")


EDITS = (lesson_edited, own_commit, files_moved, helper_edited)


@pytest.mark.parametrize("student_does", EDITS)
def test_an_update_keeps_what_a_student_did(student_does, copy, tmp_path):
    mine = tmp_path / "attention"
    shutil.copytree(copy, mine)
    student_does(mine)
    before = sum(path.read_bytes().count(MINE.encode()) for path in files(mine))
    pull(mine)
    pull(mine)  # a second click does no harm
    texts = {path.relative_to(mine): path.read_text() for path in files(mine)}
    assert sum(text.count(MINE) for text in texts.values()) == before > 0
    assert THEIRS in texts[(mine / SECOND).relative_to(mine)]
    assert (mine / NEW).exists()
    for path in texts:
        if path.suffix == ".ipynb":
            nbformat.validate(nbformat.read(mine / path, as_version=4))


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
