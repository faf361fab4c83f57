"""python -m helpers.classroom: see __init__.py."""

import argparse
import sys

from . import grade, release, watching


def main(arguments=None):
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom")
    parts = parser.add_subparsers(required=True)
    for name, module in (("watch", watching), ("release", release), ("grade", grade)):
        about = module.__doc__.partition("\n\n")[0]
        part = parts.add_parser(name, help=about, description=module.__doc__)
        module.arguments(part)
        part.set_defaults(main=module.main)
    options = parser.parse_args(arguments)
    return options.main(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
