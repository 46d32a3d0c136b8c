"""Conditions: comparisons, LIKE, BETWEEN, IN, IS, logic of three values, and subqueries."""

from __future__ import annotations

from collections.abc import Callable

from .kinds import NUMBERS, PATTERNS, Kind, literal
from .scalars import constant, scalar
from .scope import Scope

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def condition(scope: Scope) -> str:
    """A condition, nested as deep as the place allows."""
    if scope.depth > 0 and scope.choose.chance(45):
        return scope.choose.one(_COMPOUND)(scope.deeper())
    return scope.choose.one(_SIMPLE)(scope)


def two_kinds(scope: Scope) -> tuple[Kind, Kind]:
    """Kinds of two values that can be compared; those of the columns at hand come first."""
    known = [leaf.kind for leaf in scope.leaves] or [Kind.INTEGER]
    first = scope.choose.one(known)
    return first, scope.choose.one(NUMBERS) if first in NUMBERS and scope.choose.chance(25) else first


def _compared(scope: Scope) -> str:
    left, right = two_kinds(scope)
    operator = scope.choose.one(COMPARISONS)
    return f"{scalar(scope, left)} {operator} {scalar(scope, right)}"


def _distinct(scope: Scope) -> str:
    left, right = two_kinds(scope)
    negation = scope.choose.one(("", "NOT "))
    return f"({scalar(scope, left)} IS {negation}DISTINCT FROM {scalar(scope, right)})"


def _null(scope: Scope) -> str:
    negation = scope.choose.one(("", "NOT "))
    return f"{scalar(scope, two_kinds(scope)[0])} IS {negation}NULL"


def _between(scope: Scope) -> str:
    left, right = two_kinds(scope)
    negation = scope.choose.one(("", "NOT "))
    return f"{scalar(scope, left)} {negation}BETWEEN {scalar(scope, right)} AND {scalar(scope, right)}"


def _listed(scope: Scope) -> str:
    kind = two_kinds(scope)[0]
    values = [constant(scope, kind) for _ in range(scope.choose.between(1, 3))]
    if scope.choose.chance(20):
        values.append(scalar(scope, kind))
    negation = scope.choose.one(("", "NOT "))
    return f"{scalar(scope, kind)} {negation}IN ({', '.join(values)})"


def _like(scope: Scope) -> str:
    operator = scope.choose.one(("LIKE", "NOT LIKE", "ILIKE"))
    return f"{scalar(scope, Kind.VARCHAR)} {operator} {literal(Kind.VARCHAR, scope.choose.one(PATTERNS))}"


def _truth(scope: Scope) -> str:
    flag = scope.of(Kind.BOOLEAN)
    if flag and scope.choose.chance(60):
        return scope.choose.one(flag).text
    return scope.choose.one(("TRUE", "FALSE", "NULL IS NULL"))


def _asserted(scope: Scope) -> str:
    claim = scope.choose.one(("TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "NULL"))
    return f"({condition(scope)}) IS {claim}"


def _negated(scope: Scope) -> str:
    return f"NOT ({condition(scope)})"


def _and(scope: Scope) -> str:
    return f"({condition(scope)} AND {condition(scope)})"


def _or(scope: Scope) -> str:
    return f"({condition(scope)} OR {condition(scope)})"


def _asked(scope: Scope) -> str:
    from .subqueries import tested_subquery

    return tested_subquery(scope) if scope.subqueries and scope.queries > 0 else _compared(scope)


_SIMPLE: tuple[Callable[[Scope], str], ...] = (
    _compared, _compared, _compared, _null, _between, _listed, _distinct, _like, _truth,
)  # fmt: skip
_COMPOUND: tuple[Callable[[Scope], str], ...] = (_and, _or, _negated, _asked, _asked, _asked, _asserted)
