"""Dates, times and durations: the attributes and methods of `datetime`, with Python's meaning.

Durations are computed as whole microseconds, which is what both sides store, so nothing is rounded. A
`datetime` without zone is taken as it stands, never as local time.
"""

from __future__ import annotations

from .._tailrace import Expr
from ..datatype import DATE, DATETIME, FLOAT, INT, STR, TIME, TIMEDELTA, DataType
from ..errors import TypeMismatchError
from .base import Symbol, binary, call, cast, int_call, make, operation

_SECOND, _DAY = 1_000_000, 86_400_000_000


class _Dated(Symbol):
    __slots__ = ()

    @property
    def year(self) -> Symbol:
        """The year."""
        return _part("year", self)

    @property
    def month(self) -> Symbol:
        """The month, from 1."""
        return _part("month", self)

    @property
    def day(self) -> Symbol:
        """The day of the month, from 1."""
        return _part("day", self)

    def weekday(self) -> Symbol:
        """The day of the week: Monday is 0."""
        return (_part("dow", self) + 6) % 7

    def isoweekday(self) -> Symbol:
        """The day of the week: Monday is 1."""
        return self.weekday() + 1

    def strftime(self, format: str) -> Symbol:
        """As text in a format such as `"%Y-%m"`."""
        return call("to_char", STR, self, format)


class _Clock(Symbol):
    __slots__ = ()

    @property
    def hour(self) -> Symbol:
        """The hour, from 0."""
        return _part("hour", self)

    @property
    def minute(self) -> Symbol:
        """The minute, from 0."""
        return _part("minute", self)

    @property
    def second(self) -> Symbol:
        """The whole second, from 0."""
        return _part("second", self)

    @property
    def microsecond(self) -> Symbol:
        """The microsecond within the second."""
        return _part("microsecond", self) % _SECOND


class DateSymbol(_Dated, kinds=("date",)):
    """A date."""

    __slots__ = ()

    def isoformat(self) -> Symbol:
        """As text, such as 2026-01-31."""
        return self.strftime("%Y-%m-%d")


class DatetimeSymbol(_Dated, _Clock, kinds=("datetime",)):
    """A datetime."""

    __slots__ = ()

    def date(self) -> Symbol:
        """The day it is on."""
        return cast(self, DATE)

    def time(self) -> Symbol:
        """The time of its day."""
        return cast(self, TIME)

    def timestamp(self) -> Symbol:
        """Seconds since 1970; a datetime without zone counts as UTC."""
        return microseconds(self) / float(_SECOND)


class TimeSymbol(_Clock, kinds=("time",)):
    """A time of day."""

    __slots__ = ()


class TimedeltaSymbol(Symbol, kinds=("timedelta",)):
    """A duration."""

    __slots__ = ()

    @property
    def days(self) -> Symbol:
        """Whole days, rounded down."""
        return microseconds(self) // _DAY

    @property
    def seconds(self) -> Symbol:
        """Whole seconds within the day."""
        return microseconds(self) % _DAY // _SECOND

    @property
    def microseconds(self) -> Symbol:
        """Microseconds within the second."""
        return microseconds(self) % _SECOND

    def total_seconds(self) -> Symbol:
        """The whole duration in seconds."""
        return microseconds(self) / float(_SECOND)

    def __neg__(self) -> Symbol:
        return duration(0 - microseconds(self))

    def __abs__(self) -> Symbol:
        return duration(call("abs", INT, microseconds(self)))


def microseconds(symbol: Symbol) -> Symbol:
    """A duration or a point in time as an int."""
    return make(Expr.cast(symbol.expr, INT.native), INT, symbol.scope)


def duration(count: Symbol) -> Symbol:
    """An int of microseconds as a duration."""
    return cast(count, TIMEDELTA)


@operation("-", ("datetime", "datetime"))
def _between(left: Symbol, right: Symbol) -> Symbol:
    if (left.type.tz is None) != (right.type.tz is None):
        raise TypeMismatchError(
            f"Cannot subtract {right.type} from {left.type}: one has a zone and one has none."
        )
    return duration(microseconds(left) - microseconds(right))


@operation("-", ("date", "date"))
def _days_between(left: Symbol, right: Symbol) -> Symbol:
    return duration(_midnight(left) - _midnight(right))


@operation("+", ("datetime", "timedelta"))
def _later(left: Symbol, right: Symbol) -> Symbol:
    return _at(microseconds(left) + microseconds(right), left.type)


@operation("+", ("timedelta", "datetime"))
def _later_reflected(left: Symbol, right: Symbol) -> Symbol:
    return _later(right, left)


@operation("-", ("datetime", "timedelta"))
def _earlier(left: Symbol, right: Symbol) -> Symbol:
    return _at(microseconds(left) - microseconds(right), left.type)


@operation("+", ("date", "timedelta"))
def _days_later(left: Symbol, right: Symbol) -> Symbol:
    return _day(_midnight(left) + _whole_days(right))


@operation("+", ("timedelta", "date"))
def _days_later_reflected(left: Symbol, right: Symbol) -> Symbol:
    return _days_later(right, left)


@operation("-", ("date", "timedelta"))
def _days_earlier(left: Symbol, right: Symbol) -> Symbol:
    return _day(_midnight(left) - _whole_days(right))


@operation("+", ("timedelta", "timedelta"))
def _longer(left: Symbol, right: Symbol) -> Symbol:
    return duration(microseconds(left) + microseconds(right))


@operation("-", ("timedelta", "timedelta"))
def _shorter(left: Symbol, right: Symbol) -> Symbol:
    return duration(microseconds(left) - microseconds(right))


@operation("*", ("timedelta", "int"))
def _times(left: Symbol, right: Symbol) -> Symbol:
    return duration(microseconds(left) * right)


@operation("*", ("int", "timedelta"))
def _times_reflected(left: Symbol, right: Symbol) -> Symbol:
    return _times(right, left)


@operation("//", ("timedelta", "int"))
def _part_of(left: Symbol, right: Symbol) -> Symbol:
    return duration(microseconds(left) // right)


@operation("/", ("timedelta", "timedelta"))
def _ratio(left: Symbol, right: Symbol) -> Symbol:
    return binary("/", cast(microseconds(left), FLOAT), cast(microseconds(right), FLOAT), FLOAT)


@operation("//", ("timedelta", "timedelta"))
def _whole_ratio(left: Symbol, right: Symbol) -> Symbol:
    return microseconds(left) // microseconds(right)


@operation("%", ("timedelta", "timedelta"))
def _rest(left: Symbol, right: Symbol) -> Symbol:
    return duration(microseconds(left) % microseconds(right))


def _part(name: str, symbol: Symbol) -> Symbol:
    return int_call("date_part", name, symbol)


def _midnight(symbol: Symbol) -> Symbol:
    return microseconds(cast(symbol, DATETIME))


def _whole_days(symbol: Symbol) -> Symbol:
    """Python adds to a date the whole days of a duration, rounded down, and forgets the rest."""
    return microseconds(symbol) // _DAY * _DAY


def _at(count: Symbol, type: DataType) -> Symbol:
    return cast(count, type)


def _day(count: Symbol) -> Symbol:
    return cast(_at(count, DATETIME), DATE)
