"""Several rows out of one: a list of rows written in the lambda, or the elements of a list value.

Rows that the lambda lists are each a projection of the same input, and their union is linear: no list is
ever built. A list value is put into a column and unnested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._tailrace import Plan
from .errors import TypeMismatchError
from .row import Row
from .symbols import Scope, Symbol, as_symbol, symbolic_row, symbolic_value
from .symbols.base import column
from .tracing import owned, project, same_rows

_ITEM = "_item"


def flat_map_rows(plan: Plan, row: type[Row], items: Callable[[Any], Any]) -> tuple[Plan, type[Row]]:
    """The plan for a lambda that lists rows, or names a column that does."""
    scope = Scope("flat_map")
    found = scope.call(items, symbolic_row(row, scope))
    if isinstance(found, (list, tuple)) and found and all(isinstance(item, Row) for item in found):
        return _listed(plan, list(found), scope)
    if isinstance(found, Symbol) and found.type.item is not None and found.type.item.kind == "struct":
        return flat_map_values(plan, row, items, lambda _, item: item)
    raise TypeMismatchError(
        "flat_map with one lambda takes a list of rows; for a list of other values add a second lambda that builds a "
        "row: `flat_map(lambda r: r.items, lambda r, item: Out(...))`."
    )


def flat_map_values(
    plan: Plan, row: type[Row], items: Callable[[Any], Any], output: Callable[[Any, Any], object]
) -> tuple[Plan, type[Row]]:
    """The plan for a lambda that gives a list, and one that builds a row of each element."""
    scope = Scope("the items of flat_map")
    source = symbolic_row(row, scope)
    found = owned(as_symbol(scope.call(items, source)), scope)
    if found.type.kind != "list" or found.type.item is None:
        raise TypeMismatchError(
            f"The first lambda of flat_map must give a list, and gives {found.type}: {found!r}."
        )
    columns = [(name, as_symbol(getattr(source, name)).expr) for name in row.__tailrace__.names]
    unnested = plan.project([*columns, (_ITEM, found.expr)]).unnest(_ITEM, _ITEM)
    out_scope = Scope("flat_map")
    element = symbolic_value(column(_ITEM, found.type.item, out_scope))
    built = out_scope.call(output, symbolic_row(row, out_scope), element)
    return project(unnested, built, out_scope), type(built)  # type: ignore[return-value]


def _listed(plan: Plan, rows: list[Row], scope: Scope) -> tuple[Plan, type[Row]]:
    for row in rows[1:]:
        same_rows(type(rows[0]), type(row), "flat_map")
    first, *others = [project(plan, row, scope) for row in rows]
    return (first.union_all(others) if others else first), type(rows[0])
