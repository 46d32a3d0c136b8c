"""The command line: `python -m harness --only churn,q4 --events 1000000 --best-of 3`, from `benches/`.

First the engines' answers are compared on a small input, then everything is measured, then the table and the targets are
printed and the figures written to `benches/results/`. The exit code is 1 if engines disagree or one of them failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from . import report
from .agreement import disagreements
from .contract import TPCH, Settings
from .engines import BENCHES, ENGINES
from .process import Workers
from .runner import run

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, measure, report."""
    options = _parser().parse_args(arguments)
    settings = _settings(options)
    workers = Workers(settings, dict(options.interpreter), options.timeout)
    engines = _present(workers, options.engines)
    wrong = [] if options.no_check else _check(workers, engines, options)
    results = run(workers, options.only, engines, options.best_of, _say)
    troubles = [*wrong, *results.troubles]
    print(report.text(results.found))
    print(f"written to {report.write(results.found, troubles, settings, RESULTS)}")
    for trouble in troubles:
        print(f"trouble: {trouble}")
    return 1 if troubles else 0


def _present(workers: Workers, wanted: list[str]) -> list[str]:
    """An engine that is not installed is left out, with a word; the others can still be compared."""
    absent = [engine for engine in wanted if not workers.have(engine)]
    for engine in absent:
        _say(f"{engine} is not installed and is left out")
    return [engine for engine in wanted if engine not in absent]


def _check(workers: Workers, engines: list[str], options: argparse.Namespace) -> list[str]:
    small = replace(workers.settings, events=options.check_events, batches=5, chains=2, depth=100)
    with tempfile.TemporaryDirectory() as directory:
        found = disagreements(replace(workers, settings=small), engines, options.only, Path(directory))
        wrong = list(found)
    _say("; ".join(wrong) if wrong else "all answers agree")
    return wrong


def _settings(options: argparse.Namespace) -> Settings:
    data = RESULTS / "data"
    data.mkdir(parents=True, exist_ok=True)
    return Settings(
        data=data,
        events=options.events,
        batches=options.batches,
        chains=options.chains,
        depth=options.depth,
        scale=options.scale,
        tpch=tuple(options.tpch),
        seed=options.seed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m harness", description="Tailrace and its peers in one run."
    )
    parser.add_argument(
        "--only", type=_names(BENCHES), default=list(BENCHES), help=f"of {', '.join(BENCHES)}"
    )
    parser.add_argument(
        "--engines", type=_names(ENGINES), default=list(ENGINES), help=f"of {', '.join(ENGINES)}"
    )
    parser.add_argument(
        "--events", type=int, default=Settings.events, help="Nexmark events; rows of the others"
    )
    parser.add_argument(
        "--batches", type=int, default=Settings.batches, help="changes that are timed one by one"
    )
    parser.add_argument("--chains", type=int, default=Settings.chains, help="chains of the graph")
    parser.add_argument("--depth", type=int, default=Settings.depth, help="length of a chain")
    parser.add_argument("--scale", type=float, default=Settings.scale, help="scale factor of TPC-H")
    parser.add_argument(
        "--tpch", type=_names(TPCH), default=list(TPCH), help="queries of TPC-H, such as q01,q22"
    )
    parser.add_argument("--seed", type=int, default=Settings.seed, help="of all generated data")
    parser.add_argument("--best-of", type=int, default=3, help="rounds; each engine's best one counts")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds that one process may take")
    parser.add_argument("--no-check", action="store_true", help="do not compare answers first")
    parser.add_argument("--check-events", type=int, default=50_000, help="size of the input for that")
    parser.add_argument(
        "--interpreter",
        type=_interpreter,
        action="append",
        default=[],
        metavar="ENGINE=PYTHON",
        help="run an engine in another environment, e.g. where its pins conflict",
    )
    return parser


class _names:  # noqa: N801
    """Reads a list of names, and lists the choices if one is wrong."""

    def __init__(self, choices: Iterable[str]) -> None:
        self._choices = list(choices)

    def __call__(self, text: str) -> list[str]:
        names = text.split(",")
        wrong = [name for name in names if name not in self._choices]
        if wrong:
            raise argparse.ArgumentTypeError(f"{', '.join(wrong)}; choose from {', '.join(self._choices)}")
        return names


def _interpreter(text: str) -> tuple[str, str]:
    engine, separator, path = text.partition("=")
    if engine not in ENGINES or not separator:
        raise argparse.ArgumentTypeError(
            f"{text}: write ENGINE=PYTHON with an engine of {', '.join(ENGINES)}"
        )
    return engine, path


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
