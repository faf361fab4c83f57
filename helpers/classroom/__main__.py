"""python -m helpers.classroom FOLDER: see grade.py."""

import sys

from .grade import main

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit("Stopped.")
