"""python -m helpers.tools.classroom: see __init__.py."""

import argparse
import sys

from ...errors import InputError
from . import grade, release, watching
from .folder import clean


def main(arguments=None):
    """Return the exit code: 0, or 2 if something cannot be read or was not done."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.classroom")
    parts = parser.add_subparsers(required=True)
    for name, module in (("watch", watching), ("release", release), ("grade", grade)):
        about = module.__doc__.partition("\n\n")[0]
        part = parts.add_parser(name, help=about, description=module.__doc__)
        module.add_options(part)
        part.add_argument(
            "--lessons", nargs="+", metavar="LESSON", help="for instance 01 02; by default all"
        )
        part.set_defaults(main=module.main)
    options = parser.parse_args(arguments)
    # A name that cannot be encoded must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return options.main(options)
    except (InputError, OSError) as error:
        print(clean(error), file=sys.stderr)
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
