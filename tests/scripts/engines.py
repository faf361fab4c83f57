"""Drive Firefox and WebKit as Debian packages them, each by the protocol it speaks itself.

Debian has no geckodriver, which Selenium needs, and Playwright drives only its own builds. Both
engines know the same commands (https://www.w3.org/TR/webdriver2/): WebKit's driver takes them over
HTTP, Firefox over Marionette, where a message is its length, a colon, and JSON.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lab import end, free_port, once_it_serves

WIDTH, HEIGHT = 1280, 900
# All but this machine is behind a proxy that does not exist, so nothing is fetched from elsewhere.
NOWHERE = {"proxyType": "manual", "noProxy": ["127.0.0.1"]}
NOWHERE |= dict.fromkeys(("httpProxy", "sslProxy"), "127.0.0.1:9")
# Don't wait for a page to load: JupyterLab's never counts as loaded.
SESSION = {"pageLoadStrategy": "none", "proxy": NOWHERE}
PATHS = {
    "SetTimeouts": "timeouts",
    "SetWindowRect": "window/rect",
    "Navigate": "url",
    "ExecuteAsyncScript": "execute/async",
    "PerformActions": "actions",
}
# The script is a value, or a function that gets the argument; its result may be a promise.
EVALUATE = """
const [argument, done] = arguments;
Promise.resolve()
    .then(() => {
        const it = (%s);
        return typeof it === "function" ? it(argument) : it;
    })
    .then((value) => done({ value: value ?? null }))
    .catch((error) => done({ error: `${error}\\n${error.stack}` }));
"""


class Page:
    """What the tests need of Playwright's Page; command(name, **parameters) asks the engine."""

    def __init__(self, command):
        self.command = command
        command("SetTimeouts", script=120_000)
        command("SetWindowRect", width=WIDTH, height=HEIGHT)

    def goto(self, url, **_):
        """Open url. The page before it is left at once, so nothing can take it for the new one."""
        self.command("Navigate", url="about:blank")
        self.wait_for_function("location.href === 'about:blank'")
        self.command("Navigate", url=url)
        self.wait_for_function(
            "location.href !== 'about:blank' && document.readyState !== 'loading'"
        )

    def evaluate(self, script, argument=None):
        answer = self.command("ExecuteAsyncScript", script=EVALUATE % script, args=[argument])
        if answer is None:
            raise RuntimeError("the page was left before it answered")
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def wait_for_function(self, script, timeout=600_000):
        end, error = time.monotonic() + timeout / 1000, None
        while time.monotonic() < end:
            try:
                if self.evaluate(script):
                    return
            except RuntimeError as late:  # asked while one page replaced another
                error = late
            time.sleep(0.02)
        raise TimeoutError(f"{script} did not become true: {error}")

    def wait_for_selector(self, selector):
        self.wait_for_function(f"document.querySelector({json.dumps(selector)}) !== null")

    def add_script(self, path):
        self.evaluate(f"() => {{ {path.read_text(encoding='utf-8')} }}")

    def press(self, key):
        """Press a key, given by its WebDriver code, such as "\\ue014" (the right arrow)."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.command("PerformActions", actions=[{"type": "key", "id": "keys", "actions": keys}])


@contextmanager
def started(command, folder, ask, **variables):
    """Run a command with folder as its home, and end it; yield ask(the file with what it prints),
    which raises OSError or ValueError until the command serves."""
    said = folder / f"{Path(command[0]).name}.txt"
    environment = {**os.environ, "HOME": str(folder), **variables}
    with said.open("w") as out, said.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=log)
        try:
            yield once_it_serves(process, lambda: ask(said), said.with_suffix(".log"))
        finally:
            end(process)


@contextmanager
def firefox(folder):
    """Yield a Page in Firefox, which needs no screen."""
    profile = folder / "profile"
    profile.mkdir()
    (profile / "user.js").write_text('user_pref("marionette.port", 0);\n')  # any free port
    program = [find_firefox(), "--headless", "--marionette", "--profile", str(profile)]
    with ExitStack() as stack:
        place = profile / "MarionetteActivePort"
        port = stack.enter_context(started(program, folder, lambda _: int(place.read_text())))
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 150))
        answers = stack.enter_context(connection.makefile("rb"))

        def receive():
            size = b"".join(iter(lambda: answers.read(1), b":"))
            return json.loads(answers.read(int(size)))

        def command(name, **parameters):
            message = json.dumps([0, 1, f"WebDriver:{name}", parameters]).encode()
            connection.sendall(b"%d:%s" % (len(message), message))
            _, _, error, answer = receive()
            if error:
                raise RuntimeError(f"{name}: {error['message']}")
            return answer.get("value")

        receive()  # it introduces itself
        command("NewSession", **SESSION)
        yield Page(command)


@contextmanager
def webkit(folder):
    """Yield a Page in the small browser that WebKitGTK brings, on a virtual screen."""
    screen = ["Xvfb", "-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"]
    with ExitStack() as stack:
        number = stack.enter_context(started(screen, folder, lambda said: int(said.read_text())))
        port = free_port()
        driver = ["WebKitWebDriver", f"--port={port}"]

        def serves(_):
            socket.create_connection(("127.0.0.1", port)).close()

        there = dict(DISPLAY=f":{number}", GDK_BACKEND="x11")
        stack.enter_context(started(driver, folder, serves, **there))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=150)
        session = "/session"

        def send(method, path, parameters=None):
            connection.request(method, path, parameters and json.dumps(parameters))
            answer = connection.getresponse()
            value = json.loads(answer.read())["value"]
            if answer.status != 200:
                raise RuntimeError(f"{path}: {value['message']}")
            return value

        def command(name, **parameters):
            return send("POST", f"{session}/{PATHS[name]}", parameters)

        session += (
            "/" + send("POST", session, {"capabilities": {"alwaysMatch": SESSION}})["sessionId"]
        )
        try:
            yield Page(command)
        finally:
            send("DELETE", session)


def find_firefox():
    return shutil.which("firefox-esr") or shutil.which("firefox")


ENGINES = {
    "Firefox": (firefox, lambda: bool(find_firefox())),
    "WebKit": (webkit, lambda: bool(shutil.which("WebKitWebDriver") and shutil.which("Xvfb"))),
}
