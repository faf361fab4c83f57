"""JupyterHub for a class on one machine with Linux; README.md beside this file says how to use it:

ADMINS=anna COURSE=https://github.com/OWNER/REPOSITORY jupyterhub -f jupyterhub_config.py
"""

import os
from urllib.parse import urlencode

c = get_config()  # noqa: F821

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # for the web server of the machine, with HTTPS
c.JupyterHub.cleanup_servers = False  # whoever works goes on while the hub is started anew
# Of the machine's accounts the administrators may log in, and the group.
c.Authenticator.admin_users = c.Authenticator.allowed_users = {
    *os.environ.get("ADMINS", "").split()
}
c.LocalAuthenticator.allowed_groups = {"students"}
c.Authenticator.allow_existing_users = False  # not who has left the group

# The course, put there by nbgitpuller and updated whenever a student comes back; the folder and
# its lessons keep what the student wrote.
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
# A kernel asked for 0.55 GB at most in a lesson, a server for less. An answer that asks for more
# than 1.5 GB gets an error that says so, and nothing else happens.
c.Spawner.cmd = ["prlimit", f"--data={3 * 2**29}", "jupyterhub-singleuser"]
c.Spawner.environment = {
    # One thread for each kernel: thirty with one for each core would wait for each other.
    "OMP_NUM_THREADS": "1",
    # Else git takes a new lesson that resembles one that was deleted for the same lesson with
    # another name, and nbgitpuller stops at a student's file of that name.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.renames",
    "GIT_CONFIG_VALUE_0": "false",
}
c.Spawner.args = [
    # A kernel that has done nothing for 20 minutes ends, also under an open page: by then its
    # notebook was saved. Half an hour after the last kernel and the last request the server ends.
    "--MappingKernelManager.cull_idle_timeout=1200",
    "--MappingKernelManager.cull_interval=60",
    "--MappingKernelManager.cull_connected=True",
    "--ServerApp.shutdown_no_activity_timeout=1800",
    # No window that asks whether news may be fetched, and no question for updates.
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    # Not by ports, where every account of the machine could read what a kernel prints.
    "--KernelManager.transport=ipc",
]
