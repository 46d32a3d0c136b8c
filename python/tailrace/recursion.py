"""Recursion: relations defined by themselves, kept at their least fixed point.

A placeholder stands for each relation while its body is traced. Relations are sets, so every round adds
rows or ends; a limit on rounds turns a body that invents ever new rows into an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._tailrace import Plan
from .errors import PlanError
from .row import Row
from .tracing import same_rows

if TYPE_CHECKING:
    from .stream import Stream

A = TypeVar("A", bound=Row)
B = TypeVar("B", bound=Row)
C = TypeVar("C", bound=Row)
D = TypeVar("D", bound=Row)


@overload
def recursive(
    rows: tuple[type[A]], body: Callable[[Stream[A]], tuple[Stream[A]]], *, limit: int = 10_000
) -> tuple[Stream[A]]: ...
@overload
def recursive(
    rows: tuple[type[A], type[B]],
    body: Callable[[Stream[A], Stream[B]], tuple[Stream[A], Stream[B]]],
    *,
    limit: int = 10_000,
) -> tuple[Stream[A], Stream[B]]: ...
@overload
def recursive(
    rows: tuple[type[A], type[B], type[C]],
    body: Callable[[Stream[A], Stream[B], Stream[C]], tuple[Stream[A], Stream[B], Stream[C]]],
    *,
    limit: int = 10_000,
) -> tuple[Stream[A], Stream[B], Stream[C]]: ...
@overload
def recursive(
    rows: tuple[type[A], type[B], type[C], type[D]],
    body: Callable[
        [Stream[A], Stream[B], Stream[C], Stream[D]], tuple[Stream[A], Stream[B], Stream[C], Stream[D]]
    ],
    *,
    limit: int = 10_000,
) -> tuple[Stream[A], Stream[B], Stream[C], Stream[D]]: ...
def recursive(rows: Any, body: Callable[..., Any], *, limit: int = 10_000) -> Any:
    """Several relations that are defined by one another: the smallest sets that satisfy all bodies.

    >>> class Even(tr.Row):
    ...     n: int
    >>> class Odd(tr.Row):
    ...     n: int
    >>> zero = db.table(Even)
    >>> even, odd = tr.recursive((Even, Odd), lambda e, o: (
    ...     zero + o.filter(lambda x: x.n < 9).map(lambda x: Even(n=x.n + 1)),
    ...     e.map(lambda x: Odd(n=x.n + 1))))
    """
    return tuple(fixpoint(list(rows), body, limit))


def fixpoint(rows: Sequence[type[Row]], body: Callable[..., Any], limit: int) -> list[Stream[Any]]:
    """Trace the bodies over placeholders and close them into one fixed point."""
    from .stream import Stream  # noqa: PLC0415 (a stream offers recursion, and recursion makes streams)

    steps = [Stream(Plan.relation(_fields(row)), row) for row in rows]
    bodies = body(*steps)
    _check(rows, bodies)
    name = "the recursion of " + ", ".join(row.__name__ for row in rows)
    pairs = [(step.plan, found.plan) for step, found in zip(steps, bodies, strict=True)]
    return [Stream(plan, row) for plan, row in zip(Plan.fixpoint(name, pairs, limit), rows, strict=True)]


def _fields(row: type[Row]) -> list[tuple[str, Any, bool]]:
    """All nullable: `tr.some` lets a NULL into a column that does not declare it, and recursion must not lose it."""
    return [(name, native, True) for name, native, _ in row.__tailrace__.native_fields]


def _check(rows: Sequence[type[Row]], bodies: Any) -> None:
    from .stream import Stream  # noqa: PLC0415

    if not isinstance(bodies, tuple) or len(bodies) != len(rows):
        raise PlanError(
            f"The body of a recursion over {len(rows)} relations must give a tuple of {len(rows)} streams."
        )
    for row, found in zip(rows, bodies, strict=True):
        if not isinstance(found, Stream):
            raise PlanError(f"The body of a recursion must give streams, and gives {type(found).__name__}.")
        same_rows(row, found.row, "a recursion")
