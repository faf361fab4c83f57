"""A class on a real JupyterHub with the configuration that lives with the teacher's command, and
nbgitpuller on what students do to their copies."""

import asyncio
import importlib.util
import os
import re
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen, run
from urllib.parse import quote

import nbformat
import psutil
import pytest
import yaml
from lab import ROOT
from traitlets.config import PyFileConfigLoader

from helpers.checks.verdict import MIME
from helpers.classroom.watching import Class

missing = [name for name in ("jupyterhub", "nbgitpuller") if not importlib.util.find_spec(name)]
if sys.platform != "linux":
    pytest.skip("the server for a class is for Linux", allow_module_level=True)
if missing:
    reason = f"{' and '.join(missing)} not installed; optional: helpers/classroom/jupyterhub.txt"
    if os.environ.get("CI"):
        raise ImportError(f"CI must run these tests: {reason}")
    pytest.skip(reason, allow_module_level=True)

from hub import CONFIG, FOLDER, Student, git, hub, publish  # noqa: E402

LESSON = "01_dot_products.ipynb"
STUB = "...  # your code here"
# carla's kernel ends when she has done nothing for 4 seconds
IMPATIENT = """
def impatient(spawner):
    if spawner.user.name == "carla":
        spawner.args = [a.replace("=1200", "=4").replace("=60", "=1") for a in spawner.args]
c.Spawner.pre_spawn_hook = impatient
"""


def test_a_class_on_a_real_hub():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        asyncio.run(lesson(Path(name)))


ANSWERS = {  # name: (answer, verdict)
    "anna": ("return inputs @ inputs[i]", True),
    "ben": ("return inputs * inputs[i]", False),
    "carla": (STUB, None),
}


SHOWN = ["ok", "x", ".."]


async def lesson(folder):
    course = folder / "course"
    repository = publish(ROOT, course)
    async with hub(folder, ROOT / CONFIG, repository, IMPATIENT) as running:
        anna, _, carla = students = [Student(running, name) for name in ANSWERS]
        await asyncio.gather(*(work(student, repository) for student in students))
        for student in students:
            assert_nothing_is_lost(student)
        shown = "\n".join(Class(running.homes).look())  # what the teacher sees
        assert [re.search(rf"(?m)^{name} +>? ?(\S+)", shown)[1] for name in ANSWERS] == SHOWN, shown
        await come_to_no_harm(anna)
        async with asyncio.timeout(60):
            while await carla.ask("GET", "/api/kernels"):
                await asyncio.sleep(0.2)
        await carla.open(LESSON)
        await carla.run(carla.code()[0])

        change(course / "notebooks" / LESSON, "journey", "Something new about journey")
        (course / "notebooks/14_new.ipynb").write_text("{}")
        git(course, "add", ".")
        git(course, "commit", "--quiet", "--message=update")
        for student in students:
            await student.pull(repository)
            assert_nothing_is_lost(student)
            assert "Something new" in path_of(student).read_text()
            assert path_of(student).with_name("14_new.ipynb").exists()


async def work(student, repository):
    await student.log_in()
    page = await student.ask("GET", "/")  # leads to nbgitpuller's, whose script then pulls
    assert all(quote(x, safe="") in page or x in page for x in (repository, LESSON)), page
    await student.pull(repository)
    await student.open(LESSON)
    await student.run_all()
    took = await student.drag(student.cell("def move_one"), "x1", [k / 10 for k in range(20)])
    assert len(took) == 20
    cell = student.cell('check("scores"')
    cell.source = cell.source.replace(STUB, ANSWERS[student.name][0])
    await student.run(cell)
    await student.save()


def path_of(student):
    return student.home / FOLDER / "notebooks" / LESSON


def assert_nothing_is_lost(student):
    answer, verdict = ANSWERS[student.name]
    notebook = nbformat.read(path_of(student), as_version=4)
    (cell,) = (c for c in notebook.cells if c.get("outputs") and 'check("scores"' in c.source)
    assert answer in cell.source
    facts = [o.data[MIME] for o in cell.outputs if MIME in o.get("data", {})]
    assert [(f["exercise"], f["passed"]) for f in facts] == [("scores", verdict)]


async def come_to_no_harm(student):
    """An endless loop, an answer that wants all memory, a kernel that dies."""
    copied = "'jupyterhub' in __import__('sys').modules"
    assert await student.value(copied) == "True"
    endless = asyncio.create_task(student.message("execute_request", {"code": "while True: pass"}))
    await asyncio.sleep(0.5)
    await student.ask("POST", f"/api/kernels/{student.kernel}/interrupt")
    assert (await endless)["ename"] == "KeyboardInterrupt"
    greedy = await student.message("execute_request", {"code": "torch.zeros(2**30)"})
    assert "memory" in greedy["evalue"]
    pid = "__import__('os').getpid()"
    old = await student.value(pid)
    os.kill(int(old), signal.SIGKILL)
    for _ in range(100):
        with suppress(TimeoutError):
            new = await asyncio.wait_for(student.value(pid), 1)
            if new != old:
                break
    assert await student.value(copied) == "True"
    await student.run(student.code()[0])


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_on_kubernetes_it_is_the_same():
    """The chart's own schema judges the rest when it is installed."""
    on_one = PyFileConfigLoader(CONFIG, str(ROOT)).load_config().Spawner
    values = yaml.safe_load((ROOT / CONFIG).with_name("kubernetes.yaml").read_text())
    pod, spawner = values["singleuser"], values["hub"]["config"]["KubeSpawner"]
    assert pod["defaultUrl"] == on_one.default_url
    assert spawner["args"] == on_one.args and spawner["http_timeout"] == on_one.http_timeout
    assert pod["startTimeout"] == on_one.start_timeout
    assert (pod["memory"]["limit"], pod["cpu"]["limit"]) == (on_one.mem_limit, on_one.cpu_limit)
    of_the_copies = {"ATTENTION_WARM", "JUPYTER_PATH"}
    assert pod["extraEnv"].items() == {
        (name, value) for name, value in on_one.environment.items() if name not in of_the_copies
    }


# --- the parent of all servers and kernels, here of code in place of a module ---

WARM = ROOT / "helpers/classroom/warm.py"
SERVE = """
import os, random, resource, time, numpy, warm
warm.NEEDED = ["numpy.random"]
code, _ = warm.serve("warm")
exec(code)
"""
ASK = "import os, resource, sys, warm; exec(sys.argv[2]); assert warm.ask(sys.argv[1], [])"


@pytest.fixture
def copy():
    """copy(code, before) starts a process that does what `before` says, and then has a copy run
    the code."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        socket = Path(name, "warm")
        settings = {**os.environ, "PYTHONPATH": str(WARM.parent), "ATTENTION_WARM": str(socket)}
        settings["OMP_NUM_THREADS"] = "1"
        with Popen([sys.executable, "-c", SERVE], cwd=name, env=settings) as parent:
            until(socket.exists)

            def start(code, before=""):
                command = [sys.executable, "-c", ASK, code, before]
                return Popen(command, env=settings, cwd="/", stdin=PIPE, stdout=PIPE, text=True)

            yield start
            parent.kill()


def until(holds):
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise TimeoutError


def test_a_copy_ends_with_the_process_it_stands_for_and_is_as_limited(copy):
    limit = "resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))"
    show = "print(os.getpid(), *resource.getrlimit(resource.RLIMIT_DATA), flush=True)"
    with copy(f"{show}; time.sleep(60)", limit) as process:
        pid, *limits = map(int, process.stdout.readline().split())
        assert pid != process.pid and limits == [2**31, 2**31]
        process.kill()
    until(lambda: not psutil.pid_exists(pid))
    with copy("os._exit(0)") as process:
        process.wait(10)


def test_copies_do_not_draw_the_same_numbers(copy):
    draw = "print(random.random(), numpy.random.rand())"
    one, other = ({*copy(draw).communicate()[0].split()} for _ in range(2))
    assert len(one | other) == 4


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be asked by somebody else")
def test_a_copy_has_the_rights_of_who_asks_for_it(copy):
    import pwd

    user, group = pwd.getpwnam("nobody")[2:4]
    nobody = f"os.setgroups([]); os.setgid({group}); os.setuid({user})"
    show = "print(os.getresuid(), os.getresgid(), os.getgroups())"
    said, _ = copy(show, nobody).communicate()
    assert said.strip() == f"{(user,) * 3} {(group,) * 3} {[group]}"


def test_without_a_parent_it_runs_all_the_same():
    settings = {**os.environ, "ATTENTION_WARM": "/nowhere"}
    done = run([sys.executable, "-IS", WARM, "json.tool"], input="42", env=settings,
               capture_output=True, text=True)  # fmt: skip
    assert done.stdout.strip() == "42"
