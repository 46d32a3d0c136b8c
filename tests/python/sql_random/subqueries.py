"""Subqueries in expressions: scalar ones, EXISTS, IN and comparisons with ANY and ALL, correlated and not."""

from __future__ import annotations

from .conditions import COMPARISONS, condition, two_kinds
from .kinds import Kind
from .scalars import constant, scalar
from .schema import Column
from .scope import Scope
from .sources import joined, ordered_by_all


def scalar_subquery(scope: Scope, kind: Kind) -> str:
    """A query of one column and at most one row: an aggregate, or the first row of a total order."""
    from .grouping import aggregate_of

    inside = around(scope)
    text, leaves = joined(inside, 2)
    place = inside.over(leaves)
    where = filtered(place)
    if not scope.choose.chance(30):
        return f"(SELECT {aggregate_of(place, kind)} FROM {text}{where})"
    order = ordered_by_all(place, leaves)
    value = f"NULLIF({scalar(place.plain(), kind)}, {constant(place, kind)})"
    return f"(SELECT {value} FROM {text}{where} ORDER BY {order} LIMIT 1)"


def tested_subquery(scope: Scope) -> str:
    """A condition on the rows of a subquery."""
    return scope.choose.one((_exists, _in, _in, _not_in, _quantified))(scope)


def around(scope: Scope) -> Scope:
    """The place inside, correlated in most cases."""
    return scope.inside() if scope.choose.chance(70) else scope.apart()


def filtered(place: Scope) -> str:
    """WHERE, mostly."""
    return f" WHERE {condition(place)}" if place.choose.chance(75) else ""


def _exists(scope: Scope) -> str:
    inside = around(scope)
    text, leaves = joined(inside, 2)
    negation = scope.choose.one(("", "NOT "))
    return f"{negation}EXISTS (SELECT 1 FROM {text}{filtered(inside.over(leaves))})"


def _in(scope: Scope, negation: str = "") -> str:
    kind = two_kinds(scope)[0]
    return f"{scalar(scope, kind)} {negation}IN ({one_column(scope, kind)})"


def _not_in(scope: Scope) -> str:
    return _in(scope, "NOT ")


def _quantified(scope: Scope) -> str:
    kind = two_kinds(scope)[0]
    operator, word = scope.choose.one(COMPARISONS), scope.choose.one(("ANY", "ALL"))
    return f"{scalar(scope, kind)} {operator} {word} ({one_column(scope, kind)})"


def one_column(scope: Scope, kind: Kind) -> str:
    """A query of one column: plain, grouped, or any query that sees nothing of this one."""
    from .queries import query

    if scope.choose.chance(20):
        return query(scope.apart(), (Column("c", kind),)).text
    inside = around(scope)
    text, leaves = joined(inside, 2)
    place = inside.over(leaves)
    distinct = "DISTINCT " if scope.choose.chance(15) else ""
    return f"SELECT {distinct}{scalar(place.deeper(), kind)} FROM {text}{filtered(place)}"
