"""Scalar expressions of every kind, over the leaves of a place.

Promises: an expression never fails on a row (a divisor is never zero, nothing is cast that may not fit) and means the same in every
engine: no rounding, no text of a float, no default that engines choose for themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from .kinds import INTEGERS, VALUES, Kind, literal
from .scope import Scope


def scalar(scope: Scope, kind: Kind) -> str:
    """An expression of a kind."""
    if scope.depth <= 0 or not scope.choose.chance(60):
        return operand(scope, kind)
    below = scope.deeper()
    return scope.choose.one((*MAKERS[kind], *_ANY_KIND))(below, kind)


def operand(scope: Scope, kind: Kind) -> str:
    """A column if there is one, else a constant; in a subquery now and then a column of the query around."""
    near, far = scope.of(*alike(kind)), scope.outer_of(*alike(kind))
    if near and not (far and scope.choose.chance(30)) and not scope.choose.chance(12):
        return scope.choose.one(near).text
    if far and not scope.choose.chance(20):
        return scope.choose.one(far).text
    return constant(scope, kind)


def constant(scope: Scope, kind: Kind) -> str:
    """A constant of a kind, rarely NULL."""
    if scope.choose.chance(6):
        return f"CAST(NULL AS {kind.value})"
    return literal(kind, scope.choose.one(VALUES[kind]))


def alike(kind: Kind) -> tuple[Kind, ...]:
    """The kinds whose columns may stand where this kind is wanted."""
    return INTEGERS if kind in INTEGERS else (kind,)


def _arithmetic(scope: Scope, kind: Kind) -> str:
    operator = scope.choose.one(("+", "-", "*"))
    # Integers are multiplied by small constants alone: products of products leave 64 bits.
    small = operator == "*" and kind in INTEGERS
    right = constant(scope, Kind.INTEGER) if small else scalar(scope, kind)
    return f"({scalar(scope, kind)} {operator} {right})"


def _signed(scope: Scope, kind: Kind) -> str:
    sign = scope.choose.one(("- ", "+ ", "- - "))
    return f"({sign}{scalar(scope, kind)})"


def _absolute(scope: Scope, kind: Kind) -> str:
    return f"abs({scalar(scope, kind)})"


def _divided(scope: Scope, kind: Kind) -> str:
    operator = scope.choose.one(("/", "%"))
    return f"({scalar(scope, kind)} {operator} NULLIF({scalar(scope, kind)}, 0))"


def _length(scope: Scope, kind: Kind) -> str:
    return f"length({scalar(scope, Kind.VARCHAR)})"


def _part_of_time(scope: Scope, kind: Kind) -> str:
    part = scope.choose.one(("day", "month", "year"))
    return f"extract({part} FROM {scalar(scope, scope.choose.one((Kind.DATE, Kind.TIMESTAMP)))})"


def _counted_truth(scope: Scope, kind: Kind) -> str:
    return f"CAST({scalar(scope, Kind.BOOLEAN)} AS INTEGER)"


def _cast_number(scope: Scope, kind: Kind) -> str:
    return (
        f"CAST({scalar(scope, Kind.INTEGER)} AS {'DECIMAL(18, 2)' if kind is Kind.DECIMAL else kind.value})"
    )


def _floor(scope: Scope, kind: Kind) -> str:
    return f"{scope.choose.one(('floor', 'ceil'))}({scalar(scope, kind)})"


def _from_decimal(scope: Scope, kind: Kind) -> str:
    return f"CAST({scalar(scope, Kind.DECIMAL)} AS DOUBLE)"


def _text_function(scope: Scope, kind: Kind) -> str:
    pattern = scope.choose.one(
        ("upper({})", "lower({})", "trim({})", "substr({}, 1, 1)", "substr({}, 2)", "replace({}, 'a', 'bb')",
         "reverse({})", "left({}, 1)", "right({}, 1)")
    )  # fmt: skip
    return pattern.format(scalar(scope, kind))


def _concatenated(scope: Scope, kind: Kind) -> str:
    if scope.choose.chance(30):
        return f"concat({scalar(scope, kind)}, {scalar(scope, kind)})"
    return f"({scalar(scope, kind)} || {scalar(scope, kind)})"


def _printed(scope: Scope, kind: Kind) -> str:
    shown = scope.choose.one((Kind.INTEGER, Kind.BIGINT, Kind.DATE, Kind.BOOLEAN))
    return f"CAST({scalar(scope, shown)} AS VARCHAR)"


def _moved_date(scope: Scope, kind: Kind) -> str:
    sign = scope.choose.one("+-")
    return f"CAST(({scalar(scope, kind)} {sign} INTERVAL '1' DAY) AS {kind.value})"


def _moved_moment(scope: Scope, kind: Kind) -> str:
    sign = scope.choose.one("+-")
    return f"({scalar(scope, kind)} {sign} INTERVAL '6' HOUR)"


def _truncated(scope: Scope, kind: Kind) -> str:
    part = scope.choose.one(("month", "day", "year"))
    return f"CAST(date_trunc('{part}', {scalar(scope, kind)}) AS {kind.value})"


def _other_time(scope: Scope, kind: Kind) -> str:
    source = Kind.DATE if kind is Kind.TIMESTAMP else Kind.TIMESTAMP
    return f"CAST({scalar(scope, source)} AS {kind.value})"


def _condition(scope: Scope, kind: Kind) -> str:
    from .conditions import condition

    return f"({condition(scope)})"


def _case(scope: Scope, kind: Kind) -> str:
    from .conditions import condition

    if scope.choose.chance(30):
        tested = scope.choose.one((Kind.INTEGER, Kind.VARCHAR))
        branch = f"WHEN {scalar(scope, tested)} THEN {scalar(scope, kind)}"
        return f"CASE {scalar(scope, tested)} {branch} ELSE {scalar(scope, kind)} END"
    branches = " ".join(
        f"WHEN {condition(scope)} THEN {scalar(scope, kind)}" for _ in range(scope.choose.between(1, 2))
    )
    otherwise = f" ELSE {scalar(scope, kind)}" if scope.choose.chance(70) else ""
    return f"CASE {branches}{otherwise} END"


def _coalesced(scope: Scope, kind: Kind) -> str:
    return f"COALESCE({scalar(scope, kind)}, {scalar(scope, kind)})"


def _nullified(scope: Scope, kind: Kind) -> str:
    return f"NULLIF({scalar(scope, kind)}, {scalar(scope, kind)})"


def _extreme(scope: Scope, kind: Kind) -> str:
    if kind is Kind.BOOLEAN:
        return _coalesced(scope, kind)
    return f"{scope.choose.one(('greatest', 'least'))}({scalar(scope, kind)}, {scalar(scope, kind)})"


def _subquery(scope: Scope, kind: Kind) -> str:
    from .subqueries import scalar_subquery

    if not scope.subqueries or scope.queries <= 0:
        return scalar(scope, kind)
    return scalar_subquery(scope, kind)


_ANY_KIND = (_case, _coalesced, _nullified, _extreme, _subquery)
_NUMBER = (_arithmetic, _arithmetic, _signed, _absolute)
_WHOLE = (*_NUMBER, _divided, _length, _part_of_time, _counted_truth)
MAKERS: dict[Kind, tuple[Callable[[Scope, Kind], str], ...]] = {
    Kind.INTEGER: _WHOLE,
    Kind.BIGINT: (*_WHOLE, _cast_number),
    Kind.DECIMAL: (*_NUMBER, _cast_number),
    Kind.DOUBLE: (*_NUMBER, _cast_number, _floor, _from_decimal),
    Kind.VARCHAR: (_text_function, _text_function, _concatenated, _printed),
    Kind.DATE: (_moved_date, _truncated, _other_time),
    Kind.TIMESTAMP: (_moved_moment, _truncated, _other_time),
    Kind.BOOLEAN: (_condition, _condition, _condition),
}
