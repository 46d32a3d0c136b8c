"""Random programs: an operator at the root, and others below it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from hypothesis import strategies as st

from . import operators
from .aggregates import aggregations
from .operators import Children

OPERATORS: dict[str, Callable[[Children], Children]] = {
    "filter": operators.filters,
    "map": operators.maps,
    "flat_map": operators.flat_maps,
    "map_rows": operators.map_rows,
    "join": operators.joins,
    "half_join": operators.half_joins,
    "cross_join": operators.cross_joins,
    "aggregate": aggregations,
    "distinct": operators.distincts,
    "set_operation": operators.set_operations,
    "top_k": operators.top_ks,
    "window": operators.windows,
    "recursion": operators.recursions,
    "mutual_recursion": operators.mutual_recursions,
}
# Below the root: what keeps a random program small. Joins multiply rows, so that two levels of them are enough.
_BELOW = ("filter", "map", "join", "half_join", "aggregate", "distinct", "set_operation", "top_k", "window")


@cache
def programs(depth: int) -> Children:
    """Programs of that many operators one above the other, at most."""
    if depth == 0:
        return operators.sources()
    below = programs(depth - 1)
    return st.one_of(operators.sources(), *(OPERATORS[name](below) for name in _BELOW))
