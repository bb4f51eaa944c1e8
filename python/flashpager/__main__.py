"""``flashpager``, and ``python -m flashpager``."""

import sys
from contextlib import suppress

from flashpager._engine import version
from flashpager.base.interrupts import ending_at_once


def main() -> None:
    """Run the command line. The version is printed without importing it, which is slow."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        # The command line reports a failure to print.
        with suppress(OSError):
            print(f"flashpager {version()}", flush=True)
            return
    with ending_at_once():
        from flashpager.cli import main as run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()
