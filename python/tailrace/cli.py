"""The command line: `tailrace demo` and `tailrace --version`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; without one, say which there are."""
    parser = _parser()
    found = parser.parse_args(arguments)
    if found.command is None:
        parser.print_help()
        return 2
    from .demo import run  # noqa: PLC0415 (`--help` needs no engine)

    run(orders=found.orders)
    return 0


def _parser() -> argparse.ArgumentParser:
    from ._tailrace import __version__  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        prog="tailrace", description="Views that stay up to date while their tables change."
    )
    parser.add_argument("--version", action="version", version=f"tailrace {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands")
    demo = commands.add_parser(
        "demo", help="a small shop: load it, change it, and see what each change costs"
    )
    demo.add_argument(
        "--orders", type=_positive, default=100_000, help="how many orders to load (default: %(default)s)"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number
