"""python -m helpers.classroom: see __init__.py."""

import argparse
import sys

from . import release


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m helpers.classroom")
    parts = parser.add_subparsers(required=True)
    for module in (release,):
        part = parts.add_parser(module.__name__.rpartition(".")[2])
        module.arguments(part)
        part.set_defaults(main=module.main)
    options = parser.parse_args(arguments)
    return options.main(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
