"""Points in time, cut to a calendar unit."""

from __future__ import annotations

from datetime import date
from typing import Literal, TypeAlias, TypeVar, get_args

from .._tailrace import Expr
from ..errors import TracingError, TypeMismatchError
from ..symbols import as_symbol, plain
from ..symbols.base import call, make

TimeUnit: TypeAlias = Literal["second", "minute", "hour", "day", "week", "month", "quarter", "year"]

D = TypeVar("D", bound=date)


def date_trunc(unit: TimeUnit, value: D) -> D:
    """The start of the hour, day, month ... that a date or datetime lies in.

    >>> class Busy(tr.Row):
    ...     hour: datetime = tr.key()
    ...     visits: int
    >>> busy = visits.group_by(lambda v: tr.date_trunc("hour", v.at)).aggregate(
    ...     lambda hour, g: Busy(hour=hour, visits=g.count()))
    """
    symbol = as_symbol(value)
    if unit not in get_args(TimeUnit):
        raise TracingError(
            f"{unit!r} is not a unit of time. Existing units: {', '.join(get_args(TimeUnit))}."
        )
    if symbol.type.kind not in ("date", "datetime"):
        raise TypeMismatchError(f"tr.date_trunc takes a date or datetime, not {symbol.type}: {symbol!r}.")
    found = call("date_trunc", symbol.type, unit, symbol)
    return plain(make(Expr.cast(found.expr, symbol.type.native), symbol.type, symbol.scope))
