"""The command line: ``python -m colwriter`` and ``colwriter``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; without its packages, say what to install and exit with status 2."""
    try:
        from colwriter.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print('colwriter: the command line needs more packages: pip install "colwriter[cli]"', file=sys.stderr)
        raise SystemExit(2) from None
    app(prog_name="colwriter")


if __name__ == "__main__":
    main()
