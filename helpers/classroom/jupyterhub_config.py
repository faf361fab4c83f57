"""x"""
import sys, os
from pathlib import Path
c = get_config()  # noqa: F821
HERE = Path(__file__).parent if "__file__" in globals() else None
WARM = str(HERE / "warm.py")
SOCKET = os.path.abspath("warm.sock")
c.JupyterHub.services = [dict(name="warm", command=[sys.executable, WARM, "serve", SOCKET], environment={"OMP_NUM_THREADS": "1"})]
c.Spawner.environment = {"OMP_NUM_THREADS": "1", "ATTENTION_WARM": SOCKET, "JUPYTER_PATH": str(HERE)}
c.Spawner.cmd = [sys.executable, "-IS", WARM, "jupyterhub.singleuser"]
