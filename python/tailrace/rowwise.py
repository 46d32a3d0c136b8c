"""Where Python itself runs: functions over real rows, and callbacks with the changes of a step.

The engine hands over whole batches, so that Python is entered once per batch and not once per row. A
function over rows must be deterministic: when a row is deleted the engine calls it again to learn what to
take back.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ._tailrace import Plan
from .arrow import read_table
from .errors import PlanError, UdfError
from .row import Row
from .symbols import is_symbolic

if TYPE_CHECKING:
    from .data import ArrowStream


def mapped(
    plan: Plan, row: type[Row], function: Callable[[Any], Any], output: type[Row] | None, *, flat: bool
) -> tuple[Plan, type[Row]]:
    """The plan that calls a function with each row."""
    found = output or _annotated(function)
    call = _flat_caller(row, found, function) if flat else _caller(row, found, function)
    return plan.map_rows(call, found.__tailrace__.native_fields, flat), found


def arrow_callback(function: Callable[[Any], object]) -> Callable[[object], None]:
    """A callback that gets its changes as a pyarrow table."""

    def call(changes: object) -> None:
        function(read_table(cast("ArrowStream", changes)))

    return call


def _caller(row: type[Row], output: type[Row], function: Callable[[Any], Any]) -> Callable[..., object]:
    read = row.__tailrace__.read

    def call(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [_values(function(read(values)), output) for values in batch]

    return call


def _flat_caller(
    row: type[Row], output: type[Row], function: Callable[[Any], Iterable[Any]]
) -> Callable[..., object]:
    read = row.__tailrace__.read

    def call(batch: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        return [[_values(made, output) for made in function(read(values))] for values in batch]

    return call


def _values(made: object, output: type[Row]) -> dict[str, Any]:
    if not isinstance(made, output) or is_symbolic(made):
        raise UdfError(
            f"The function of map_rows must give {output.__name__}, and gave {type(made).__name__}: {made!r}."
        )
    return made.__dict__


def _annotated(function: Callable[..., object]) -> type[Row]:
    try:
        found = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):
        found = None
    if not (isinstance(found, type) and issubclass(found, Row)):
        name = getattr(function, "__name__", "the function")
        raise PlanError(
            f"map_rows must know the row class that {name} gives: annotate its return, or pass `output=...`."
        )
    return found
