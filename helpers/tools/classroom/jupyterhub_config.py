"""Configure JupyterHub for a class on one Linux machine; README.md in this folder explains how:

ADMINS=anna COURSE=https://github.com/OWNER/REPOSITORY jupyterhub -f jupyterhub_config.py
"""

import os
from urllib.parse import urlencode

c = get_config()  # noqa: F821

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # for the web server of the machine, with HTTPS
c.JupyterHub.cleanup_servers = False  # students keep working while the hub restarts
# Of the machine's accounts, only the administrators and the group may log in.
c.Authenticator.admin_users = c.Authenticator.allowed_users = {
    *os.environ.get("ADMINS", "").split()
}
c.LocalAuthenticator.allowed_groups = {"students"}
c.Authenticator.allow_existing_users = False  # not people who have left the group

# nbgitpuller copies the course and updates it whenever a student comes back; the folder and its
# lessons keep what the student wrote.
FOLDER = "attention"
c.Spawner.default_url = "/git-pull?" + urlencode(
    {
        "repo": os.environ.get("COURSE", "https://github.com/OWNER/REPOSITORY"),
        "branch": "main",
        "targetpath": FOLDER,
        "urlpath": f"lab/tree/{FOLDER}/notebooks/01_dot_products.ipynb",
    }
)
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # seconds: a class may start at once
# In the lessons a kernel asked for at most 0.55 GB, a server for less. An answer that asks for
# more than 1.5 GB gets an error that says so, and nothing else happens.
c.Spawner.cmd = ["prlimit", f"--data={3 * 2**29}", "jupyterhub-singleuser"]
c.Spawner.environment = {
    # One thread per kernel: thirty kernels with one thread per core would block each other.
    "OMP_NUM_THREADS": "1",
    # Otherwise git takes a new lesson that resembles a deleted one for the same lesson under a
    # new name, and nbgitpuller stops if a student has a file of that name.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.renames",
    "GIT_CONFIG_VALUE_0": "false",
}
c.Spawner.args = [
    # A kernel that has been idle for 20 minutes ends, even under an open page: by then its
    # notebook was saved. The server ends half an hour after the last kernel and the last request.
    "--MappingKernelManager.cull_idle_timeout=1200",
    "--MappingKernelManager.cull_interval=60",
    "--MappingKernelManager.cull_connected=True",
    "--ServerApp.shutdown_no_activity_timeout=1800",
    # No pop-up that asks about fetching news, and no check for updates.
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    # Not over ports, where every account on the machine could read what a kernel prints.
    "--KernelManager.transport=ipc",
]
