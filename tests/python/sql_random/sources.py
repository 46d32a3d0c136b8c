"""FROM: tables, views and WITH queries, derived tables, VALUES, and joins of all kinds over them.

Promises: every source has an alias that no other part of the query has, so that every column is named without doubt; the columns that
USING merges stand bare and are not read from subqueries.
"""

from __future__ import annotations

from collections.abc import Sequence

from .conditions import COMPARISONS, condition
from .kinds import VALUES, Kind, literal
from .schema import Column
from .scope import Leaf, Relation, Scope, column_leaf

Joined = tuple[str, list[Leaf]]
USING_JOINS = ("JOIN", "LEFT JOIN")


def joined(scope: Scope, most: int = 3) -> Joined:
    """One to `most` sources, joined; the text after FROM and what it offers."""
    if not scope.outer and scope.choose.chance(12):
        merged = by_using(scope)
        if merged:
            return merged
    text, leaves = source(scope)
    for _ in range(scope.choose.below(most)):
        text, leaves = with_another(scope, text, leaves)
    return text, leaves


def source(scope: Scope) -> Joined:
    """One source under a new alias."""
    alias = scope.choose.name("t")
    if scope.queries > 0 and scope.choose.chance(18):
        return derived(scope, alias)
    if scope.choose.chance(6):
        return values(scope, alias)
    relation = scope.choose.one(scope.relations)
    return f"{relation.name} AS {alias}", [column_leaf(alias, column) for column in relation.columns]


def derived(scope: Scope, alias: str) -> Joined:
    """A query in FROM."""
    from .queries import query

    made = query(scope.apart())
    return f"({made.text}) AS {alias}", [column_leaf(alias, column) for column in made.columns]


def values(scope: Scope, alias: str) -> Joined:
    """Constant rows; the first has no NULL, so that every engine knows the types."""
    kinds = [scope.choose.one(list(Kind)) for _ in range(scope.choose.between(1, 3))]
    columns = [Column(f"v{number}", kind) for number, kind in enumerate(kinds)]
    rows = [", ".join(literal(kind, scope.choose.one(VALUES[kind])) for kind in kinds)]
    for _ in range(scope.choose.below(3)):
        cells = [
            "NULL" if scope.choose.chance(20) else literal(kind, scope.choose.one(VALUES[kind]))
            for kind in kinds
        ]
        rows.append(", ".join(cells))
    text = ", ".join(f"({row})" for row in rows)
    names = ", ".join(column.name for column in columns)
    return f"(VALUES {text}) AS {alias}({names})", [column_leaf(alias, column) for column in columns]


def with_another(scope: Scope, text: str, leaves: list[Leaf]) -> Joined:
    """One more source at the right of a join."""
    if scope.queries > 0 and scope.choose.chance(8):
        return with_lateral(scope, text, leaves)
    right, more = source(scope)
    both = [*leaves, *more]
    kind = scope.choose.one(
        ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "JOIN", "LEFT JOIN")
    )
    if kind == "CROSS JOIN":
        return f"{text} CROSS JOIN {right}", both
    return f"{text} {kind} {right} ON {matching(scope, leaves, more)}", both


def with_lateral(scope: Scope, text: str, leaves: list[Leaf]) -> Joined:
    """A query that reads the columns at its left, for each row of them."""
    from .queries import plain_select

    alias = scope.choose.name("t")
    made = plain_select(scope.over(leaves).inside(), 1)
    kind, on = scope.choose.one((("CROSS JOIN", ""), ("LEFT JOIN", " ON TRUE"), ("JOIN", " ON TRUE")))
    more = [column_leaf(alias, column) for column in made.columns]
    return f"{text} {kind} LATERAL ({made.text}) AS {alias}{on}", [*leaves, *more]


def matching(scope: Scope, left: Sequence[Leaf], right: Sequence[Leaf]) -> str:
    """ON: an equality, more of them, a rest, or no equality at all."""
    place = scope.over([*left, *right]).plain()
    pairs = [(a, b) for a in left for b in right if a.kind is b.kind]
    if not pairs or scope.choose.chance(10):
        return condition(place)
    parts = [equality(scope, pairs)]
    if scope.choose.chance(15):
        parts.append(equality(scope, pairs))
    if scope.choose.chance(25):
        parts.append(condition(place.deeper()))
    if scope.choose.chance(15):
        a, b = scope.choose.one(pairs)
        parts[0] = f"{a.text} {scope.choose.one(COMPARISONS)} {b.text}"
    return " AND ".join(parts)


def equality(scope: Scope, pairs: list[tuple[Leaf, Leaf]]) -> str:
    """Two columns that must be equal; now and then also where both are NULL."""
    a, b = scope.choose.one(pairs)
    if scope.choose.chance(6):
        return f"({a.text} IS NOT DISTINCT FROM {b.text})"
    return f"{a.text} = {b.text}"


def by_using(scope: Scope) -> Joined | None:
    """Two relations joined by the columns that have the same name in both."""
    left, right = scope.choose.one(scope.relations), scope.choose.one(scope.relations)
    shared = [column for column in left.columns if column in columns_like(right, column)]
    if not shared:
        return None
    merged = scope.choose.some(shared, 1, 2)
    kind = scope.choose.one(USING_JOINS)
    aliases = scope.choose.name("t"), scope.choose.name("t")
    names = [column.name for column in merged]
    leaves = [Leaf(column.name, column.kind, bare=True) for column in merged]
    for alias, relation in zip(aliases, (left, right), strict=True):
        leaves += [column_leaf(alias, column) for column in relation.columns if column.name not in names]
    text = f"{left.name} AS {aliases[0]} {kind} {right.name} AS {aliases[1]} USING ({', '.join(names)})"
    return text, leaves


def columns_like(relation: Relation, column: Column) -> list[Column]:
    """The column itself if the relation has one of its name and kind."""
    return [column for other in relation.columns if other.name == column.name and other.kind is column.kind]


def ordered_by_all(scope: Scope, leaves: Sequence[Leaf]) -> str:
    """An order in which only equal rows tie: all columns, some of them downwards."""
    return ", ".join(
        leaf.text + direction(scope) for leaf in scope.choose.some(leaves, len(leaves), len(leaves))
    )


def direction(scope: Scope) -> str:
    """Always with the place of NULL: engines differ in what they take for granted."""
    return scope.choose.one((" NULLS FIRST", " NULLS LAST", " DESC NULLS LAST", " DESC NULLS FIRST"))
