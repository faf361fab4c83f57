"""The server for a class: a real JupyterHub with the configuration that is kept with the teacher's
command."""

import asyncio
import importlib.util
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
import yaml
from execute import CI
from hub import CONFIG, Hub, git
from lab import ROOT
from traitlets.config import PyFileConfigLoader

LESSON = "01_dot_products.ipynb"
missing = [name for name in ("jupyterhub", "nbgitpuller") if not importlib.util.find_spec(name)]
needs_hub = pytest.mark.skipif(
    sys.platform != "linux" or (bool(missing) and not CI),
    reason=f"for Linux; missing is {missing or 'nothing'}: helpers/classroom/jupyterhub.txt",
)


def config(monkeypatch, **settings):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return PyFileConfigLoader(CONFIG, str(ROOT)).load_config()


def test_the_configuration_is_that_of_a_standard_hub(monkeypatch):
    c = config(monkeypatch, ADMINS="tess tom", COURSE="https://example.org/course")
    assert c.JupyterHub.bind_url == "http://127.0.0.1:8000"
    assert c.JupyterHub.cleanup_servers is False and "services" not in c.JupyterHub
    assert c.Authenticator.admin_users == c.Authenticator.allowed_users == {"tess", "tom"}
    assert c.Spawner.cmd[-1] == "jupyterhub-singleuser"
    assert quote("https://example.org/course", "") in c.Spawner.default_url
    assert {"--LabApp.news_url=None", "--MappingKernelManager.cull_idle_timeout=1200"} <= {
        *c.Spawner.args
    }
    assert config(monkeypatch, ADMINS="").Authenticator.admin_users == set()


def test_on_kubernetes_it_is_the_same(monkeypatch):
    """Only our own values are compared: the chart's schema checks the rest at installation."""
    monkeypatch.delenv("COURSE", raising=False)
    on_one = config(monkeypatch).Spawner
    values = yaml.safe_load((ROOT / CONFIG).with_name("kubernetes.yaml").read_text())
    pod, spawner = values["singleuser"], values["hub"]["config"]["KubeSpawner"]
    assert pod["defaultUrl"] == on_one.default_url and pod["extraEnv"] == on_one.environment
    assert spawner["args"] == on_one.args and spawner["http_timeout"] == on_one.http_timeout
    assert pod["startTimeout"] == on_one.start_timeout


@needs_hub
def test_a_lesson_on_a_real_hub():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        git(folder, "clone", "--quiet", f"file://{ROOT}", "course")
        git(folder / "course", "checkout", "--quiet", "-B", "main")
        hub = Hub(folder, (folder / "course").as_uri())
        try:
            asyncio.run(lesson(hub))
        except BaseException:
            print(hub.log.read_text()[-10_000:])
            raise
        finally:
            for process in hub.processes():
                with suppress(psutil.Error):
                    process.kill()


async def lesson(hub):
    await hub.start()
    # README.md tells teachers to run these commands, to start a server before class.
    await hub.ask("POST", "/hub/api/users/anna")
    await hub.ask("POST", "/hub/api/users/anna/server")
    async with asyncio.timeout(120):
        while not (await hub.ask("GET", "/hub/api/users/anna"))["servers"][""]["ready"]:
            await asyncio.sleep(0.2)
    token = (await hub.ask("POST", "/hub/api/users/anna/tokens"))["token"]

    async def ask(method, path, **more):
        return await hub.ask(method, f"/user/anna{path}", token, **more)

    page = await ask("GET", "/")  # leads to nbgitpuller's page, whose script then pulls
    assert all(quote(x, safe="") in page or x in page for x in (hub.course, LESSON)), page
    asked = {"repo": hub.course, "branch": "main", "targetpath": "attention"}
    assert '"finished"' in await ask("GET", "/git-pull/api", params=asked)
    assert '"news": {"disabled": true}' in await ask("GET", "/lab")
    new = {"path": f"attention/notebooks/{LESSON}", "type": "notebook", "name": ""}
    session = await ask("POST", "/api/sessions", json=new | {"kernel": {"name": "python3"}})
    assert session["path"] == new["path"]
    kernels = [p for p in hub.processes() if "ipykernel_launcher" in p.info["cmdline"]]
    assert [p.rlimit(psutil.RLIMIT_DATA)[0] for p in kernels] == [3 * 2**29]
    async with asyncio.timeout(60):  # until the idle kernel is ended
        while await ask("GET", "/api/kernels"):
            await asyncio.sleep(0.2)
