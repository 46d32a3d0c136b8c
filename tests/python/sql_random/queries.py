"""Whole queries: plain, grouped and windowed SELECT, DISTINCT, set operations, WITH, ORDER BY with LIMIT.

Promises: a query's columns have the names and kinds that it says; LIMIT stands over an order in which only equal rows tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .conditions import condition
from .grouping import aggregates, group_by
from .kinds import Kind
from .scalars import scalar
from .schema import Column
from .scope import Leaf, Relation, Scope
from .sources import direction, joined, ordered_by_all
from .windows import windows

Wanted = tuple[Column, ...] | None
SET_OPERATIONS = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")


@dataclass(frozen=True)
class Query:
    """A text and the columns of its answer."""

    text: str
    columns: tuple[Column, ...]


def query(scope: Scope, wanted: Wanted = None) -> Query:
    """Any query; its columns have the kinds of `wanted` if that is given."""
    if scope.queries > 0 and scope.choose.chance(10):
        return with_queries(scope, wanted)
    return body(scope, wanted)


def body(scope: Scope, wanted: Wanted = None) -> Query:
    """Any query without WITH in front."""
    form = scope.choose.below(18)
    if form >= 16:
        return limited(scope, select(scope, wanted))
    if form >= 12 and scope.queries > 0:
        return set_operation(scope, wanted)
    if form == 11 and scope.outermost:
        return first_of_each(scope, wanted)
    return select(scope, wanted)


def select(scope: Scope, wanted: Wanted = None) -> Query:
    """One SELECT."""
    text, leaves = joined(scope)
    place = scope.over(leaves)
    where = f" WHERE {condition(place)}" if scope.choose.chance(50) else ""
    form = scope.choose.below(10)
    if form >= 7:
        return grouped(place, f"{text}{where}", wanted)
    if form >= 5:
        return windowed(place, f" FROM {text}{where}", wanted)
    distinct = "DISTINCT " if scope.choose.chance(20) else ""
    return listed(place, f"SELECT {distinct}", f" FROM {text}{where}", wanted)


def plain_select(scope: Scope, most: int) -> Query:
    """One SELECT without groups and windows, of few sources."""
    text, leaves = joined(scope, most)
    place = scope.over(leaves)
    where = f" WHERE {condition(place)}" if scope.choose.chance(80) else ""
    return listed(place, "SELECT ", f" FROM {text}{where}", None)


def listed(place: Scope, head: str, tail: str, wanted: Wanted) -> Query:
    """A SELECT list over the leaves of a place."""
    columns = wanted or some_columns(place)
    items = ", ".join(f"{scalar(place, column.kind)} AS {column.name}" for column in columns)
    return Query(f"{head}{items}{tail}", columns)


def some_columns(place: Scope) -> tuple[Column, ...]:
    """Names and kinds of an answer; kinds that the place has come first."""
    kinds = [leaf.kind for leaf in place.leaves] + [Kind.INTEGER, Kind.VARCHAR]
    return tuple(
        Column(f"c{number}", place.choose.one(kinds)) for number in range(place.choose.between(1, 4))
    )


def grouped(place: Scope, source: str, wanted: Wanted) -> Query:
    """GROUP BY with aggregates; windows over the groups, now and then."""
    clause, keys = group_by(place)
    behind = place.over([*keys, *aggregates(place)])
    having = f" HAVING {condition(behind)}" if place.choose.chance(30) else ""
    tail = f" FROM {source}{clause}{having}"
    if place.choose.chance(12):
        return windowed(behind, tail, wanted)
    return listed(behind, "SELECT ", tail, wanted)


def windowed(place: Scope, tail: str, wanted: Wanted) -> Query:
    """Window functions beside what the place offers; QUALIFY, now and then."""
    if not place.leaves:
        return listed(place, "SELECT ", tail, wanted)
    made = windows(place)
    columns = wanted or (
        *some_columns(place),
        *(Column(f"w{number}", leaf.kind) for number, leaf in enumerate(made)),
    )
    beside = replace(place.over([*place.leaves, *made]), subqueries=False, depth=1)
    items = [f"{one_of(beside, made, column)} AS {column.name}" for column in columns]
    # QUALIFY belongs to queries that have a window function.
    has_window = any(" OVER (" in item for item in items)
    qualify = f" QUALIFY {condition(beside)}" if has_window and place.choose.chance(15) else ""
    return Query(f"SELECT {', '.join(items)}{tail}{qualify}", columns)


def one_of(place: Scope, made: Sequence[Leaf], column: Column) -> str:
    """The window function itself where one of the kind is there, else an expression."""
    fitting = [leaf for leaf in made if leaf.kind is column.kind]
    if fitting and not place.choose.chance(25):
        return place.choose.one(fitting).text
    return scalar(place, column.kind)


def limited(scope: Scope, made: Query) -> Query:
    """ORDER BY all columns, by name or by place, with LIMIT and OFFSET."""
    by_place = scope.choose.chance(30)
    names = [str(i + 1) if by_place else column.name for i, column in enumerate(made.columns)]
    order = ", ".join(name + direction(scope) for name in scope.choose.some(names, len(names), len(names)))
    offset = f" OFFSET {scope.choose.between(1, 2)}" if scope.choose.chance(30) else ""
    limit = f" LIMIT {scope.choose.between(1, 4)}" if not offset or scope.choose.chance(70) else ""
    return Query(f"{made.text} ORDER BY {order}{limit}{offset}", made.columns)


def first_of_each(scope: Scope, wanted: Wanted) -> Query:
    """DISTINCT ON with the order that says which row is the first."""
    text, leaves = joined(scope, 2)
    if any(leaf.bare for leaf in leaves):
        return select(scope, wanted)
    place = scope.over(leaves)
    keys = scope.choose.some(leaves, 1, 2)
    rest = [leaf for leaf in leaves if leaf not in keys]
    order = [ordered_by_all(place, part) for part in (keys, rest) if part]
    # Behind the order by all that is read, which row comes first is no longer a question.
    head = f"SELECT DISTINCT ON ({', '.join(key.text for key in keys)}) "
    return listed(place.plain(), head, f" FROM {text} ORDER BY {', '.join(order)}", wanted)


def set_operation(scope: Scope, wanted: Wanted) -> Query:
    """Two or three queries of the same kinds of columns, with and without parentheses."""
    left = select(replace(scope, queries=scope.queries - 1), wanted)
    text = left.text
    for _ in range(scope.choose.between(1, 2)):
        right = part(scope, left.columns)
        text = f"{text} {scope.choose.one(SET_OPERATIONS)} {right}"
    made = Query(text, left.columns)
    return limited(scope, made) if scope.choose.chance(12) else made


def part(scope: Scope, columns: tuple[Column, ...]) -> str:
    """One side of a set operation; a nested one stands in parentheses."""
    below = replace(scope, queries=scope.queries - 1, outermost=False)
    if scope.choose.chance(30):
        return f"({query(below, columns).text})"
    return select(below, columns).text


def with_queries(scope: Scope, wanted: Wanted) -> Query:
    """WITH: one or two named queries, the second may read the first."""
    relations, parts = scope.relations, []
    for _ in range(scope.choose.between(1, 2)):
        made = query(replace(scope, relations=relations, queries=scope.queries - 1, outermost=False))
        name = scope.choose.name("w")
        parts.append(f"{name} AS ({made.text})")
        relations = (Relation(name, made.columns), *relations)
    main = body(replace(scope, relations=relations, queries=scope.queries - 1), wanted)
    return Query(f"WITH {', '.join(parts)} {main.text}", main.columns)
