"""GROUP BY: keys, aggregates of every kind, HAVING, GROUPING SETS, ROLLUP and CUBE.

Promises: an aggregate whose answer depends on an order has one (`string_agg(x, ',' ORDER BY x)`); its arguments read the columns of its
own query alone, because an aggregate over columns of the query around belongs to that query.
"""

from __future__ import annotations

from .conditions import condition
from .kinds import INTEGERS, NUMBERS, Kind
from .scalars import scalar
from .scope import Leaf, Scope, is_column


def aggregate_of(place: Scope, kind: Kind) -> str:
    """An aggregate whose value has a kind."""
    own = place.plain()
    if kind in INTEGERS:
        return _whole(own, kind)
    if kind is Kind.DOUBLE:
        return _real(own)
    if kind is Kind.DECIMAL:
        return _decimal(own)
    if kind is Kind.BOOLEAN:
        return f"{own.choose.one(('bool_and', 'bool_or'))}({scalar(own, kind)}){having_rows(own)}"
    if kind is Kind.VARCHAR and own.choose.chance(30):
        text = scalar(own, kind)
        return f"string_agg({text}, ',' ORDER BY {text} NULLS FIRST){having_rows(own)}"
    return f"{own.choose.one(('min', 'max'))}({scalar(own, kind)}){having_rows(own)}"


def once(own: Scope) -> str:
    """DISTINCT, now and then."""
    return "DISTINCT " if own.choose.chance(15) else ""


def having_rows(own: Scope) -> str:
    """FILTER, now and then."""
    return f" FILTER (WHERE {condition(own.deeper())})" if own.choose.chance(15) else ""


def aggregates(place: Scope) -> list[Leaf]:
    """A few aggregates over the columns of a place."""
    kinds = [place.choose.one(list(Kind)) for _ in range(place.choose.between(1, 3))]
    return [Leaf(aggregate_of(place, kind), kind) for kind in kinds]


def group_by(place: Scope) -> tuple[str, list[Leaf]]:
    """The clause, and what may be read behind it; no clause at all is one group."""
    if not place.leaves or place.choose.chance(15):
        return "", []
    if place.choose.chance(15):
        return _sets(place)
    keys = [_key(place) for _ in range(place.choose.between(1, 2))]
    keys = list({key.text: key for key in keys}.values())
    return f" GROUP BY {', '.join(key.text for key in keys)}", keys


def _key(place: Scope) -> Leaf:
    """Mostly a column; an expression must read one, since a constant in GROUP BY is a position."""
    column = place.choose.one(place.leaves)
    if not place.choose.chance(30):
        return column
    text = scalar(place.plain(), column.kind)
    reads = any(leaf.text in text for leaf in place.leaves if not leaf.bare)
    return Leaf(text, column.kind) if reads else column


def _sets(place: Scope) -> tuple[str, list[Leaf]]:
    columns = place.choose.some([leaf for leaf in place.leaves if is_column(leaf)], 1, 3)
    names = [column.text for column in columns]
    keys = ", ".join(names)
    form = place.choose.one((f"ROLLUP ({keys})", f"CUBE ({keys})", "GROUPING SETS"))
    if form == "GROUPING SETS":
        chosen = [place.choose.some(names, 0, len(names)) for _ in range(place.choose.between(1, 3))]
        sets = [names, *(one for one in chosen if sorted(one) != sorted(names))]
        form += " (" + ", ".join(f"({', '.join(one)})" for one in sets) + ")"
    marks = [Leaf(f"grouping({name})", Kind.INTEGER) for name in place.choose.some(names, 0, 1)]
    return f" GROUP BY {form}", [*columns, *marks]


def _whole(own: Scope, kind: Kind) -> str:
    form = own.choose.one(("count(*)", "count", "sum", "min", "max"))
    if form == "count(*)":
        return form + having_rows(own)
    argument = own.choose.one(list(Kind)) if form == "count" else kind
    distinct = once(own) if form in ("count", "sum") else ""
    return f"{form}({distinct}{scalar(own, argument)}){having_rows(own)}"


def _decimal(own: Scope) -> str:
    """A sum has 38 digits, behind which DuckDB cuts off places where it meets decimals of more; so it is given fewer."""
    form = own.choose.one(("min", "max", "sum"))
    if form == "sum":
        return f"CAST(sum({once(own)}{scalar(own, Kind.DECIMAL)}){having_rows(own)} AS DECIMAL(28, 8))"
    return f"{form}({scalar(own, Kind.DECIMAL)}){having_rows(own)}"


def _real(own: Scope) -> str:
    form = own.choose.one(("sum", "avg", "min", "max", "var_pop", "stddev_samp"))
    if form in ("var_pop", "stddev_samp"):
        return f"round({form}({scalar(own, Kind.DOUBLE)}){having_rows(own)}, 6)"
    argument = own.choose.one(NUMBERS) if form == "avg" else Kind.DOUBLE
    value = scalar(own, argument)
    # The average of decimals is a decimal here and a double there.
    value = f"CAST({value} AS DOUBLE)" if argument is Kind.DECIMAL else value
    return f"{form}({once(own)}{value}){having_rows(own)}"
