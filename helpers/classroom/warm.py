"""Starts the servers and kernels of a class as copies of one process that has imported what they
need: on one machine, without a second and 200 MB for each of them.

    python warm.py serve SOCKET     the parent: a service of jupyterhub_config.py
    python warm.py MODULE ...       in place of python -m MODULE ...

The second is what JupyterHub and Jupyter start, stop, interrupt and limit. It hands its
arguments, environment, folder, open files and limits to the parent, whose copy goes on with them
as the user who asked, and passes on the signals that it gets; where it ends, the copy ends, and
the other way round. Without the parent ($ATTENTION_WARM names its socket) it runs the module
itself. Only Linux. A copy is in the cgroup of the parent: with a spawner that limits cgroups, such
as SystemdSpawner, leave the parent out.
"""

import gc
import json
import os
import signal
import socket
import struct
import sys
import threading
from contextlib import suppress
from importlib import import_module

SOCKET = "ATTENTION_WARM"
# Nothing here starts a thread: a copy would be without it.
NEEDED = (
    "jupyterhub.singleuser",
    "jupyterlab.labapp",
    "notebook.app",
    "jupyter_lsp",
    "jupyter_server_terminals",
    "nbgitpuller",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "numpy.random",
    "torch",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "anywidget",
)
MOST = 2**17  # bytes of arguments and environment


def serve(path):
    """Wait for those who ask. Returns, in each copy, what it is to run: (module, arguments)."""
    for name in NEEDED:
        import_module(name)
    assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
    gc.collect()
    gc.freeze()  # else the first collection of a copy writes to all that is shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a copy that has ended is forgotten
    with suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(128)
    while True:
        asking, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return become(asking)
        asking.close()


def become(asking):
    """Take the place of the process at the other end."""
    import resource

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, user, group = struct.unpack("3i", credentials)
    if user != os.getuid():
        import pwd

        os.initgroups(pwd.getpwuid(user).pw_name, group)
        os.setgid(group)
        os.setuid(user)
    # from here on with the rights of the one who asks
    for kind in {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}:
        resource.setrlimit(kind, resource.prlimit(pid, kind))
    message, files, _, _ = socket.recv_fds(asking, MOST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    asked = json.loads(message)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.umask(asked["umask"])
    os.chdir(asked["folder"])
    import numpy.random

    numpy.random.seed()  # Python's own generator does so itself, torch's begins the same anyway
    asking.send(b"%d" % os.getpid())
    threading.Thread(target=end_with, args=[asking], daemon=True).start()
    return asked["module"], asked["arguments"]


def end_with(asking):
    asking.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


def ask(module, arguments):
    """Have it run by a copy, and wait for its end; False if there is nobody to ask."""
    parent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    umask = os.umask(0)
    os.umask(umask)
    message = {"module": module, "arguments": arguments, "environment": dict(os.environ)}
    message |= {"folder": os.getcwd(), "umask": umask}
    message["environment"].pop("JPY_PARENT_PID", None)  # a copy has another parent
    try:
        parent.connect(os.environ[SOCKET])
        socket.send_fds(parent, [json.dumps(message).encode()], [0, 1, 2])
        copy = int(parent.recv(20))
    except (KeyError, OSError, ValueError):
        return False
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(copy, number))
    starter = os.getppid()
    parent.settimeout(1)
    while os.getppid() == starter:
        with suppress(TimeoutError):
            if not parent.recv(1):
                break
    return True


def main(module, *arguments):
    if module == "serve":
        import runpy

        with suppress(KeyboardInterrupt):  # how the hub ends a service
            module, arguments = serve(*arguments)
            sys.argv = [module, *arguments]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif not ask(module, arguments):
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


if __name__ == "__main__":
    del sys.path[0]  # not to import what lies beside this file
    main(*sys.argv[1:])
