"""A JupyterHub with students who work in it by its own interfaces, as JupyterLab does: for
test_hub.py and bench_hub.py."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

import nbformat
import psutil
from lab import free_port

CONFIG = "helpers/classroom/jupyterhub_config.py"
FOLDER = "attention"  # in each student's home
WIDGET = "application/vnd.jupyter.widget-view+json"
PATIENCE = 300  # seconds: thirty students on two cores

# What a test needs in place of accounts and a login; the rest is the configuration that is tried.
FOR_TESTS = """
load_subconfig({config!r})
c.JupyterHub.update(
    authenticator_class="dummy", spawner_class="simple", cleanup_servers=True,
    bind_url="http://127.0.0.1:{port}", hub_port={hub_port}, db_url="sqlite:///hub.sqlite",
    services=[*c.JupyterHub.get("services", []), dict(name="class", api_token={token!r})],
    load_roles=[
        dict(name="class", services=["class"], scopes=["admin:users", "servers", "tokens"])
    ],
)
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.auth_token = {token!r}
c.Authenticator.allow_all = True
c.Spawner.update(start_timeout={patience}, http_timeout={patience})
c.Spawner.args.append("--allow-root")
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
"""


def git(folder, *arguments):
    """The output of git in a folder, as somebody with a name."""
    who = ("-c", "user.name=Teacher", "-c", "user.email=teacher@example.org")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def publish(checkout, folder):
    """The last commit of a checkout as a repository of its own, on the branch main. Returns its
    address."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "pull", "--quiet", str(checkout), "HEAD")
    return folder.as_uri()


class Hub:
    """address, process, homes (the folder with the students' homes)."""

    def __init__(self, address, token, process, homes):
        self.address, self.process, self.homes = address, process, homes
        self._token = token

    async def ask(self, method, path, token=None, **more):
        """What the hub or a student's server answers, as JSON; an error of HTTP is raised."""
        headers = {"Authorization": f"token {token or self._token}"}
        async with self.session.request(
            method, self.address + path, headers=headers, **more
        ) as answer:
            text = await answer.text()
            if answer.status >= 400:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:500]}")
            return json.loads(text) if text.startswith(("{", "[")) else text


@asynccontextmanager
async def hub(folder, config, course="", more=""):
    """A hub whose files lie in folder.  config: path of its configuration; None for JupyterHub's
    own.  course: address of the repository that it hands out.  more: lines of configuration."""
    import aiohttp  # comes with JupyterHub

    token, port, homes = secrets.token_hex(16), free_port(), folder / "home"
    homes.mkdir()
    settings = folder / "jupyterhub_config.py"
    settings.write_text(
        FOR_TESTS.format(
            config=str(config), port=port, hub_port=free_port(), api_port=free_port(),
            token=token, homes=str(homes), patience=PATIENCE,
        )
        + more
    )  # fmt: skip
    here = str(Path(sys.executable).parent)
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "OMP_", "PYTEST"))},
        "PATH": os.environ["PATH"] + os.pathsep + here,
        "TMPDIR": str(folder),
        "COURSE": course,
    }
    log = folder / "hub.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(settings)],
            cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
    running = Hub(f"http://127.0.0.1:{port}", token, process, homes)
    try:
        patient = aiohttp.ClientTimeout(total=PATIENCE)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=patient, connector=connector) as running.session:
            for _ in range(600):
                with suppress(aiohttp.ClientError, RuntimeError):
                    await running.ask("GET", "/hub/api/users")
                    if config is None or [*folder.glob("attention-*/warm")]:
                        break
                if process.poll() is not None:
                    raise RuntimeError(log.read_text())
                await asyncio.sleep(0.1)
            else:
                raise TimeoutError(log.read_text())
            yield running
    except BaseException:
        print(log.read_text()[-20_000:])
        raise
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:  # on a busy machine: nothing may stay behind
            for one in [*psutil.Process(process.pid).children(recursive=True), process]:
                with suppress(psutil.Error):
                    one.kill()


class Student:
    """Somebody who does with a browser what the names of the methods say."""

    def __init__(self, hub, name):
        self.hub, self.name = hub, name
        self.home = hub.homes / name

    async def ask(self, method, path, **more):
        return await self.hub.ask(method, f"/user/{self.name}{path}", self.token, **more)

    async def log_in(self):
        """Until the student's own server answers."""
        user = f"/hub/api/users/{self.name}"
        await self.hub.ask("POST", user)
        self.token = (await self.hub.ask("POST", f"{user}/tokens"))["token"]
        await self.start_server()

    async def start_server(self):
        user = f"/hub/api/users/{self.name}"
        await self.hub.ask("POST", f"{user}/server")
        while not (await self.hub.ask("GET", user))["servers"].get("", {}).get("ready"):
            await asyncio.sleep(0.5)

    async def pull(self, repository, branch="main"):
        """What a link of nbgitpuller does. Raises RuntimeError with what it said if it failed."""
        ask = {"repo": repository, "branch": branch, "targetpath": FOLDER}
        said = await self.ask("GET", "/git-pull/api", params=ask)
        if '"finished"' not in said:
            raise RuntimeError(said)

    async def open(self, lesson):
        """Read a notebook and start its kernel."""
        self.path = f"{FOLDER}/notebooks/{lesson}"
        content = (await self.ask("GET", f"/api/contents/{self.path}"))["content"]
        self.notebook = nbformat.from_dict(content)
        new = {"path": self.path, "type": "notebook", "name": "", "kernel": {"name": "python3"}}
        self.kernel = (await self.ask("POST", "/api/sessions", json=new))["kernel"]["id"]
        self._waiting, self._comms, self._id = {}, asyncio.Queue(), uuid4().hex
        address = f"/user/{self.name}/api/kernels/{self.kernel}/channels?session_id={self._id}"
        self._socket = await self.hub.session.ws_connect(
            self.hub.address.replace("http", "ws") + address,
            headers={"Authorization": f"token {self.token}"}, max_msg_size=0,
        )  # fmt: skip
        self._listener = asyncio.create_task(self._listen())
        await self.message("kernel_info_request")
        # JupyterLab's messages of widgets go to a thread of their own
        reply = await self.message("create_subshell_request", channel="control")
        self._subshell = reply["subshell_id"]

    async def _listen(self):
        async for frame in self._socket:
            message = json.loads(frame.data) | {"came": time.monotonic()}
            if message["msg_type"] == "comm_msg":  # whatever it is said to answer, as in a page
                self._comms.put_nowait(message)
            queue = self._waiting.get(message["parent_header"].get("msg_id"))
            if queue:
                queue.put_nowait(message)
        for queue in (self._comms, *self._waiting.values()):
            queue.put_nowait(None)  # the connection was closed

    async def _send(self, kind, content, number, channel="shell", subshell=None, **more):
        header = {"msg_id": number, "msg_type": kind, "username": "", "session": self._id}
        header |= {"version": "5.3", "date": ""} | ({"subshell_id": subshell} if subshell else {})
        message = {"header": header, "parent_header": {}, "channel": channel, "buffers": []}
        await self._socket.send_json(message | {"content": content, "metadata": {}} | more)

    async def message(self, kind, content=None, channel="shell", hear=None, **more):
        """Send it to the kernel. Returns the content of its reply, after all that came of it.

        hear(message) is called with each message that came of it; True ends the waiting.
        """
        number, reply, idle = uuid4().hex, None, channel != "shell"
        queue = self._waiting[number] = asyncio.Queue()
        try:
            await self._send(kind, content or {}, number, channel, **more)
            while reply is None or not idle:
                message = await asyncio.wait_for(queue.get(), PATIENCE)
                if message is None:
                    raise RuntimeError("the connection to the kernel was closed")
                if message["channel"] == channel and message["msg_type"].endswith("_reply"):
                    reply = message["content"]
                idle |= message["content"].get("execution_state") == "idle"
                if hear and hear(message):
                    break
            return reply
        finally:
            del self._waiting[number]

    async def run(self, cell):
        """Run a code cell of the notebook and keep what it shows. Returns when the first of that
        came, by time.monotonic(), or None. Raises RuntimeError with an error of the cell."""
        cell.outputs, first = [], None

        def hear(message):
            nonlocal first
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                first = first or message["came"]
                cell.outputs.append(nbformat.v4.output_from_msg(message))

        reply = await self.message(
            "execute_request",
            {"code": cell.source, "silent": False, "store_history": True, "allow_stdin": False},
            metadata={"cellId": cell.id},
            hear=hear,
        )
        cell.execution_count = reply.get("execution_count")
        if reply["status"] != "ok":
            raise RuntimeError(f"{self.name}: {reply}")
        return first

    async def run_all(self):
        """Run all code cells. Returns when the first output came."""
        return min(filter(None, [await self.run(cell) for cell in self.code()]))

    def code(self):
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    def cell(self, text):
        """The code cell that contains a text."""
        return next(cell for cell in self.code() if text in cell.source)

    async def drag(self, cell, name, values, pause=0.1):
        """Move a control of the live view of a cell.  values: of the control, one after the other.

        Returns the seconds that each picture took; there is a pause from one question to the
        next, and never a second one under way. Raises RuntimeError if a picture is an error.
        """
        (view,) = (o.data[WIDGET]["model_id"] for o in cell.outputs if WIDGET in o.get("data", {}))
        took, thread = [], {"subshell": self._subshell}

        def comm(content):
            return {"comm_id": view, "data": {"method": "custom", "content": content}}

        for turn, value in enumerate(values):
            number, asked, patch = uuid4().hex, time.monotonic(), {}
            states = self._waiting[number] = asyncio.Queue()
            changes = {"changes": {name: value}, "turn": str(turn)}
            await self._send("comm_msg", comm(changes), number, **thread)
            await states.get()  # busy: soon the page sends an empty message, see hurry()
            await self._send("comm_msg", comm({}), uuid4().hex, **thread)
            while patch.get("turn") != str(turn):
                message = await asyncio.wait_for(self._comms.get(), PATIENCE)
                patch = message["content"]["data"].get("content", {}).get("patch", {})
            took.append(message["came"] - asked)
            del self._waiting[number]
            if patch.get("error"):
                raise RuntimeError(patch["error"])
            await asyncio.sleep(max(0, asked + pause - time.monotonic()))
        return took

    async def value(self, expression):
        """Of an expression in the kernel, as text."""
        ask = {"code": "", "user_expressions": {"value": expression}}
        answer = await self.message("execute_request", ask)
        return answer["user_expressions"]["value"]["data"]["text/plain"]

    async def save(self):
        """As JupyterLab does, which does so every two minutes."""
        model = {"type": "notebook", "format": "json", "content": self.notebook}
        await self.ask("PUT", f"/api/contents/{self.path}", json=model)

    async def close(self):
        """Close the page; the kernel goes on."""
        await self._socket.close()
        await self._listener
