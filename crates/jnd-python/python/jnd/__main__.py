"""The ``jnd`` command: ``python -m jnd`` and the console script run the same program as the stand-alone binary."""

import sys

from . import _jnd


def main() -> int:
    """Run the command with this process's arguments and return its exit code."""
    sys.stdout.flush()
    return _jnd.cli(["jnd", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
