"""Start a JupyterHub for test_hub.py, and use its interfaces as a student who works in it."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
from lab import ROOT, free_port

CONFIG = "helpers/classroom/jupyterhub_config.py"
PATIENCE = 120  # seconds, on a busy machine

# What a test needs instead of accounts and a login; the rest is the configuration under test.
FOR_TESTS = """
load_subconfig({config!r})
c.JupyterHub.update(
    authenticator_class="dummy", spawner_class="simple", bind_url="http://127.0.0.1:{port}",
    hub_port={hub_port}, services=[dict(name="class", api_token={token!r})],
    load_roles=[
        dict(name="class", services=["class"], scopes=["admin:users", "servers", "tokens"])
    ],
)
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.Authenticator.allow_all = True
# idle kernels and servers: after seconds, not minutes
c.Spawner.args = [a.replace("=1200", "=4").replace("=60", "=1") for a in c.Spawner.args]
c.Spawner.args.append("--allow-root")
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
"""


def git(folder, *arguments):
    """Run git in a folder as a user with a name; return what it prints."""
    who = ("-c", "user.name=Teacher", "-c", "user.email=teacher@example.org")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class Hub:
    """A hub that keeps its files in folder.  course: address of the repository it hands out."""

    def __init__(self, folder, course):
        self.folder, self.course, self.homes = folder, course, folder / "home"
        self.homes.mkdir()
        self.token, port = secrets.token_hex(16), free_port()
        self.address, self.log = f"http://127.0.0.1:{port}", folder / "hub.log"
        (folder / "config.py").write_text(
            FOR_TESTS.format(
                config=str(ROOT / CONFIG), port=port, hub_port=free_port(), api_port=free_port(),
                token=self.token, homes=str(self.homes),
            )
        )  # fmt: skip

    async def start(self):
        """Start the hub and wait until it answers. Raises TimeoutError with its log otherwise."""
        leave_out = ("JUPYTER", "OMP_", "PYTEST")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(leave_out)}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment |= {"TMPDIR": str(self.folder), "COURSE": self.course, "ADMINS": "tess"}
        command = [sys.executable, "-m", "jupyterhub", "-f", "config.py"]
        with self.log.open("w") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        for _ in range(10 * PATIENCE):
            with suppress(OSError, RuntimeError):
                return await self.ask("GET", "/hub/api/users")
            assert process.poll() is None, self.log.read_text()
            await asyncio.sleep(0.1)
        raise TimeoutError(self.log.read_text())

    def processes(self):
        """Return all processes that it started, and students' servers, which it leaves running."""
        everything = psutil.process_iter(["environ", "cmdline"])
        return [
            process
            for process in everything
            for found in [process.info["environ"] or {}]
            if str(self.folder) in f"{found.get('TMPDIR')} {found.get('HOME')}"
        ]

    async def ask(self, method, path, token=None, **more):
        """Return what the hub or a student's server answers, as JSON; an error is raised."""
        import aiohttp  # comes with JupyterHub

        headers = {"Authorization": f"token {token or self.token}"}
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session,
            session.request(method, self.address + path, headers=headers, **more) as answer,
        ):
            text = await answer.text()
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]}")
            return json.loads(text) if text.startswith(("{", "[")) else text
