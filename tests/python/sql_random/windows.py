"""Window functions whose answers are unique.

What depends on the order of ties (row_number, lag, ROWS frames) has an order by all that the row offers, so that only equal rows tie;
ranks, and aggregates over RANGE and GROUPS frames, give ties the same answer, so that any order does.
"""

from __future__ import annotations

from .conditions import condition
from .kinds import INTEGERS, NUMBERS, Kind
from .scalars import scalar
from .scope import Leaf, Scope, is_column
from .sources import direction, ordered_by_all

BOUNDS = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING",
          "UNBOUNDED FOLLOWING")  # fmt: skip


def windows(place: Scope) -> list[Leaf]:
    """One or two window functions over the leaves of a place.

    At most one of them tells equal rows apart: of two with different orders, which answers fall on the same one of two equal rows
    would be a matter of chance.
    """
    own = place.plain().deeper()
    first = own.choose.one((_numbered, _ranked, _neighbour, _picked, _framed_by_rows, _framed))(own)
    second = [own.choose.one((_ranked, _framed))(own)] if own.choose.chance(50) else []
    return [first, *second]


def _numbered(own: Scope) -> Leaf:
    function = own.choose.one(("row_number()", "ntile(2)", "ntile(3)"))
    return Leaf(f"{function} OVER ({partition(own)}ORDER BY {total(own)})", Kind.BIGINT)


def _ranked(own: Scope) -> Leaf:
    function, kind = own.choose.one(
        (("rank()", Kind.BIGINT), ("dense_rank()", Kind.BIGINT), ("percent_rank()", Kind.DOUBLE),
         ("cume_dist()", Kind.DOUBLE))
    )  # fmt: skip
    return Leaf(f"{function} OVER ({partition(own)}ORDER BY {loose(own)})", kind)


def _neighbour(own: Scope) -> Leaf:
    value = own.choose.one(own.leaves)
    function = own.choose.one(("lag", "lead"))
    offset = own.choose.one(("", ", 1", ", 2", ", 0"))
    nulls = " IGNORE NULLS" if is_column(value) and own.choose.chance(15) else ""
    return Leaf(
        f"{function}({value.text}{offset}{nulls}) OVER ({partition(own)}ORDER BY {total(own)})", value.kind
    )


def _picked(own: Scope) -> Leaf:
    value = own.choose.one(own.leaves)
    nulls = " IGNORE NULLS" if is_column(value) and own.choose.chance(15) else ""
    call = own.choose.one(("first_value({}{})", "last_value({}{})", "nth_value({}, 2{})")).format(
        value.text, nulls
    )
    return Leaf(f"{call} OVER ({partition(own)}ORDER BY {total(own)} {rows_frame(own)})", value.kind)


def _framed_by_rows(own: Scope) -> Leaf:
    return _over(own, f"{partition(own)}ORDER BY {total(own)} {rows_frame(own)}")


def _framed(own: Scope) -> Leaf:
    """An aggregate over a whole partition, or over a frame that ties share."""
    form = own.choose.one(("partition", "running", "RANGE", "GROUPS"))
    if form == "partition":
        return _over(own, partition(own))
    if form == "running":
        return _over(own, f"{partition(own)}ORDER BY {loose(own)}")
    if form == "GROUPS":
        return _over(own, f"{partition(own)}ORDER BY {loose(own)} GROUPS {bounds(own)}")
    return _over(own, ranged(own))


def _over(own: Scope, window: str) -> Leaf:
    kind = own.choose.one(NUMBERS)
    text = f"{_aggregate(own, kind)} OVER ({window.strip()})"
    # As in `grouping`: a sum of 38 digits loses places in DuckDB beside decimals that have more of them.
    return Leaf(f"CAST({text} AS DECIMAL(28, 8))" if kind is Kind.DECIMAL else text, kind)


def _aggregate(own: Scope, kind: Kind) -> str:
    function = own.choose.one(
        ("sum", "min", "max", "count", "avg") if kind is Kind.DOUBLE else ("sum", "min", "max")
    )
    rows = f" FILTER (WHERE {condition(own.deeper())})" if own.choose.chance(12) else ""
    return f"{function}({scalar(own, kind)}){rows}"


def partition(own: Scope) -> str:
    """PARTITION BY, mostly."""
    columns = own.choose.some(own.leaves, 0, 2)
    return f"PARTITION BY {', '.join(leaf.text for leaf in columns)} " if columns else ""


def total(own: Scope) -> str:
    """An order in which only equal rows tie."""
    return ordered_by_all(own, own.leaves)


def loose(own: Scope) -> str:
    """An order with ties."""
    return ", ".join(leaf.text + direction(own) for leaf in own.choose.some(own.leaves, 1, 2))


def rows_frame(own: Scope) -> str:
    """ROWS between two bounds."""
    return f"ROWS {bounds(own)}"


def bounds(own: Scope) -> str:
    """Two bounds, the first not after the second."""
    first = own.choose.below(len(BOUNDS) - 1)
    last = own.choose.between(max(first, 1), len(BOUNDS) - 1)
    return f"BETWEEN {BOUNDS[first]} AND {BOUNDS[last]}"


def ranged(own: Scope) -> str:
    """A RANGE frame with offsets over one number, date or timestamp."""
    keys = own.of(*INTEGERS, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP)
    if not keys:
        return partition(own)
    key = own.choose.one(keys)
    step = "INTERVAL '1' DAY" if key.kind in (Kind.DATE, Kind.TIMESTAMP) else "1"
    first = own.choose.one((f"{step} PRECEDING", "UNBOUNDED PRECEDING", "CURRENT ROW"))
    last = own.choose.one((f"{step} FOLLOWING", "CURRENT ROW", "UNBOUNDED FOLLOWING"))
    return f"{partition(own)}ORDER BY {key.text}{direction(own)} RANGE BETWEEN {first} AND {last}"
