"""JupyterHub for a class on one machine with Linux; README.md beside this file says how to use it:

    COURSE=https://github.com/OWNER/REPOSITORY jupyterhub -f helpers/classroom/jupyterhub_config.py

Whom it lets in is JupyterHub's rule: the machine's accounts, of those only the group `students`.
"""

import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

c = get_config()  # noqa: F821
HERE = Path(__file__).parent

c.LocalAuthenticator.allowed_groups = {"students"}
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # seconds: a class may start at once

# The course, put there by nbgitpuller and updated whenever a student comes back; the folder and
# its lessons keep what the student wrote.
FOLDER = "attention"
c.Spawner.default_url = "/git-pull?" + urlencode(
    {
        "repo": os.environ.get("COURSE", "https://github.com/OWNER/REPOSITORY"),
        "branch": os.environ.get("BRANCH", "main"),
        "targetpath": FOLDER,
        "urlpath": f"lab/tree/{FOLDER}/notebooks/01_dot_products.ipynb",
    }
)

# A kernel asked for 0.55 GB at most in a lesson, a server for less. prlimit gives each process its
# limit: an answer that asks for more gets an error that says so, and nothing else happens. The
# other two are of all that a student runs, and hold where the spawner can enforce them, as
# SystemdSpawner and DockerSpawner can; JupyterHub's own cannot.
MEMORY = 3 * 2**29
c.Spawner.mem_limit = "2G"
c.Spawner.cpu_limit = 1

# Servers and kernels are copies of one process: see warm.py.
WARM = [sys.executable, "-IS", str(HERE / "warm.py")]
socket = tempfile.mkdtemp(prefix="attention-") + "/warm"
os.chmod(os.path.dirname(socket), 0o755)
# One thread for each kernel: thirty with one for each core would wait for each other.
THREADS = {"OMP_NUM_THREADS": "1"}
c.JupyterHub.services = [
    {
        "name": "warm",
        "command": [sys.executable, str(HERE / "warm.py"), "serve", socket],
        "environment": THREADS,
    }
]
# Else git takes a new lesson that resembles one that was deleted for the same lesson with another
# name, and nbgitpuller stops at a student's file of that name.
NO_RENAMES = {"COUNT": "1", "KEY_0": "diff.renames", "VALUE_0": "false"}
c.Spawner.environment = {
    **THREADS,
    **{f"GIT_CONFIG_{name}": value for name, value in NO_RENAMES.items()},
    "ATTENTION_WARM": socket,
    "JUPYTER_PATH": str(HERE),
}
c.Spawner.cmd = ["prlimit", f"--data={MEMORY}", *WARM, "jupyterhub.singleuser"]

# A kernel that has done nothing for 20 minutes ends, also under an open page. Its notebook was
# saved by then: JupyterLab does so every two minutes, and a page that is open goes on doing so
# without a kernel. Half an hour after the last kernel and the last request the server ends.
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1200",
    "--MappingKernelManager.cull_interval=60",
    "--MappingKernelManager.cull_connected=True",
    # Not by ports: every account of the machine could read there what a kernel prints, and two
    # kernels that start at once can choose the same one, for ever.
    "--KernelManager.transport=ipc",
    "--ServerApp.shutdown_no_activity_timeout=1800",
]
