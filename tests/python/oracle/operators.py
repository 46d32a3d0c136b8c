"""Random operators: a strategy per operator, each giving a node with its stream and its SQL.

An order always ends with all columns, since rows that are equal in the order are otherwise told apart by rules that SQL
does not have. Ranks are the exception: they do not tell such rows apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

import tailrace as tr

from .expressions import Expression, columns, expression
from .relations import COLUMNS, KINDS, SQL_TYPES, Rel

Stream = tr.Stream[Rel]


@dataclass(frozen=True)
class Node:
    """A relation: how to build its stream over the tables, and its SQL over tables of the same names."""

    build: Callable[[dict[str, tr.Table[Any]]], Stream]
    sql: str

    def __repr__(self) -> str:
        return self.sql


Children = st.SearchStrategy[Node]


def sources() -> Children:
    """One of the tables."""
    return st.sampled_from([_source("keyed"), _source("bag")])


def filters(children: Children) -> Children:
    return st.builds(
        lambda child, test: Node(
            lambda db: child.build(db).filter(lambda r: test.trace({"t": r})),
            f"SELECT t.* FROM ({child.sql}) t WHERE {test.sql}",
        ),
        children,
        expression("bool", ("t",)),
    )


def maps(children: Children) -> Children:
    return st.builds(
        lambda child, row: Node(
            lambda db: child.build(db).map(lambda r: _rel(row, {"t": r})),
            f"SELECT {_list(row)} FROM ({child.sql}) t",
        ),
        children,
        _rows(("t",)),
    )


def flat_maps(children: Children) -> Children:
    return st.builds(
        lambda child, one, two: Node(
            lambda db: child.build(db).flat_map(lambda r: [_rel(one, {"t": r}), _rel(two, {"t": r})]),
            f"SELECT {_list(one)} FROM ({child.sql}) t UNION ALL SELECT {_list(two)} FROM ({child.sql}) t",
        ),
        children,
        _rows(("t",)),
        _rows(("t",)),
    )


def map_rows(children: Children) -> Children:
    def next_one(row: Rel) -> Rel:
        return Rel(a=None if row.a is None else row.a + 1, b=row.b, f=row.f, s=(row.s or "x") + "!")

    return children.map(
        lambda child: Node(
            lambda db: child.build(db).map_rows(next_one),
            f"SELECT a + 1 AS a, b, f, CASE WHEN coalesce(s, '') = '' THEN 'x' ELSE s END || '!' AS s FROM ({child.sql})",
        )
    )


@st.composite
def joins(draw: st.DrawFn, children: Children) -> Node:
    """Inner and outer joins over one or two keys, with and without a residual condition."""
    kind = draw(st.sampled_from(["inner", "left", "right", "full"]))
    left, right, keys = draw(children), draw(children), draw(_join_keys())
    row, where = draw(_rows(("l", "r"))), draw(st.none() | expression("bool", ("l", "r"), 1))
    mark = draw(st.booleans())

    def output(a: Any, b: Any) -> Rel:
        rows = {
            "l": tr.some(a) if kind in ("right", "full") else a,
            "r": tr.some(b) if kind in ("left", "full") else b,
        }
        built = _rel(row, rows)
        absent = b if kind in ("left", "full") else a if kind == "right" else None
        if absent is None or not mark:
            return built
        return tr.replace(built, b=tr.when(tr.is_null(absent)).then(-1).otherwise(1))

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        join = getattr(left.build(db), "join" if kind == "inner" else f"{kind}_join")
        found: Stream = join(
            right.build(db),
            lambda r: tuple(pair[0].trace({"l": r}) for pair in keys),
            lambda r: tuple(pair[1].trace({"r": r}) for pair in keys),
            output,
            where=(lambda a, b: where.trace({"l": a, "r": b})) if where else None,
        )
        return found

    side = "l" if kind == "right" else "r"
    marked = kind != "inner" and mark
    b = f"CASE WHEN {side}.m IS NULL THEN -1 ELSE 1 END AS b" if marked else f"{row['b'].sql} AS b"
    picked = f"{row['a'].sql} AS a, {b}, {row['f'].sql} AS f, {row['s'].sql} AS s"
    tables = f"(SELECT *, 1 AS m FROM ({left.sql})) l {kind} JOIN (SELECT *, 1 AS m FROM ({right.sql})) r"
    return Node(build, f"SELECT {picked} FROM {tables} ON {_on(keys, where)}")


@st.composite
def half_joins(draw: st.DrawFn, children: Children) -> Node:
    """Semi and anti joins."""
    kind, left, right = draw(st.sampled_from(["semi", "anti"])), draw(children), draw(children)
    keys, where = draw(_join_keys()), draw(st.none() | expression("bool", ("l", "r"), 1))

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        found: Stream = getattr(left.build(db), f"{kind}_join")(
            right.build(db),
            lambda r: tuple(pair[0].trace({"l": r}) for pair in keys),
            lambda r: tuple(pair[1].trace({"r": r}) for pair in keys),
            where=(lambda a, b: where.trace({"l": a, "r": b})) if where else None,
        )
        return found

    exists = f"EXISTS (SELECT 1 FROM ({right.sql}) r WHERE {_on(keys, where)})"
    return Node(build, f"SELECT l.* FROM ({left.sql}) l WHERE {'NOT ' if kind == 'anti' else ''}{exists}")


@st.composite
def cross_joins(draw: st.DrawFn, children: Children) -> Node:
    """All pairs, with a condition that is no equality."""
    left, right, row, where = (
        draw(children),
        draw(children),
        draw(_rows(("l", "r"))),
        draw(expression("bool", ("l", "r"))),
    )

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        return left.build(db).cross_join(
            right.build(db),
            lambda a, b: _rel(row, {"l": a, "r": b}),
            where=lambda a, b: where.trace({"l": a, "r": b}),
        )

    return Node(build, f"SELECT {_list(row)} FROM ({left.sql}) l JOIN ({right.sql}) r ON {where.sql}")


def distincts(children: Children) -> Children:
    return children.map(
        lambda child: Node(lambda db: child.build(db).distinct(), f"SELECT DISTINCT * FROM ({child.sql})")
    )


def set_operations(children: Children) -> Children:
    choices: list[tuple[Callable[[Stream, Stream], Stream], str]] = [
        (lambda a, b: a + b, "UNION ALL"),
        (lambda a, b: (a - b).positive(), "EXCEPT ALL"),
        (lambda a, b: a.intersect(b), "INTERSECT"),
        (lambda a, b: a.except_(b), "EXCEPT"),
    ]
    return st.builds(
        lambda left, right, choice: Node(
            lambda db: choice[0](left.build(db), right.build(db)),
            f"(SELECT * FROM ({left.sql})) {choice[1]} (SELECT * FROM ({right.sql}))",
        ),
        children,
        children,
        st.sampled_from(choices),
    )


@st.composite
def top_ks(draw: st.DrawFn, children: Children) -> Node:
    """The first rows of an order, of all rows or of each group."""
    child, order, k, offset = (
        draw(children),
        draw(orders()),
        draw(st.integers(0, 4)),
        draw(st.integers(0, 2)),
    )
    key = draw(st.none() | expression("int", ("t",), 1))

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        stream = child.build(db)
        by = traced_order(order)
        if key is None:
            return stream.bottom_k(k, by=by, offset=offset)
        return stream.group_by(lambda r: key.trace({"t": r})).bottom_k(k, by=by, offset=offset)

    over = f"OVER ({f'PARTITION BY {key.sql}' if key else ''} ORDER BY {sql_order(order)})"
    ranked = f"SELECT t.*, row_number() {over} AS n FROM ({child.sql}) t"
    return Node(build, f"SELECT a, b, f, s FROM ({ranked}) WHERE n > {offset} AND n <= {offset + k}")


@st.composite
def windows(draw: st.DrawFn, children: Children) -> Node:
    """Ranks and neighbours."""
    child, order, key = draw(children), draw(orders()), draw(st.none() | expression("int", ("t",), 1))
    function = draw(st.sampled_from(["row_number", "rank", "dense_rank"]))
    neighbour, offset = draw(st.sampled_from(["lag", "lead"])), draw(st.integers(0, 2))
    default = draw(st.none() | st.integers(8, 9))

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        over = child.build(db).over(
            partition_by=(lambda r: key.trace({"t": r})) if key else None, order_by=traced_order(order)
        )
        return over.map(
            lambda r, w: Rel(
                a=getattr(w, function)(),
                b=getattr(w, neighbour)(lambda t: t.b, offset, default),
                f=r.f,
                s=r.s,
            )
        )

    over = f"OVER ({f'PARTITION BY {key.sql}' if key else ''} ORDER BY {sql_order(order)})"
    value = f"{neighbour}(t.b, {offset}, {default if default is not None else 'NULL'}) {over}"
    return Node(build, f"SELECT {function}() {over} AS a, {value} AS b, t.f, t.s FROM ({child.sql}) t")


@st.composite
def recursions(draw: st.DrawFn, children: Children) -> Node:
    """The transitive closure of a small graph, linear or by doubling."""
    child, linear = draw(children), draw(st.booleans())
    edge_sql = _edge_sql(child)

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        edges = _edges(child, db)
        return edges.recursive(
            lambda reach: reach.join(
                edges if linear else reach,
                lambda x: x.b,
                lambda y: y.a,
                lambda x, y: Rel(a=x.a, b=y.b, f=None, s=None),
            )
        )

    recursive = f"SELECT x.a, y.b FROM reach x JOIN ({edge_sql}) y ON x.b = y.a"
    sql = f"WITH RECURSIVE reach(a, b) AS ({edge_sql} UNION {recursive})"
    return Node(build, f"{sql} SELECT a, b, CAST(NULL AS DOUBLE) AS f, CAST(NULL AS VARCHAR) AS s FROM reach")


@st.composite
def mutual_recursions(draw: st.DrawFn, children: Children) -> Node:
    """The pairs that a path of odd length joins, or one of even length: two relations defined by each other."""
    child, even = draw(children), draw(st.booleans())

    def longer(paths: Stream, edges: Stream) -> Stream:
        return paths.join(edges, lambda x: x.b, lambda y: y.a, lambda x, y: Rel(a=x.a, b=y.b, f=None, s=None))

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        edges = _edges(child, db)
        found = tr.recursive(
            (Rel, Rel),
            lambda odd_paths, even_paths: (edges + longer(even_paths, edges), longer(odd_paths, edges)),
        )
        return found[1 if even else 0]

    step = f"SELECT x.a, y.b, 1 - x.odd FROM paths x JOIN ({_edge_sql(child)}) y ON x.b = y.a"
    sql = f"WITH RECURSIVE paths(a, b, odd) AS (SELECT a, b, 1 FROM ({_edge_sql(child)}) UNION {step})"
    picked = "a, b, CAST(NULL AS DOUBLE) AS f, CAST(NULL AS VARCHAR) AS s"
    return Node(build, f"{sql} SELECT {picked} FROM paths WHERE odd = {0 if even else 1}")


def _edges(child: Node, db: dict[str, tr.Table[Any]]) -> Stream:
    """A small graph out of the integers of a relation."""
    whole = child.build(db).filter(lambda r: tr.is_not_null(r.a) & tr.is_not_null(r.b))
    return whole.map(lambda r: Rel(a=tr.some(r.a) % 6, b=tr.some(r.b) % 6, f=None, s=None))


def _edge_sql(child: Node) -> str:
    picked = "((t.a % 6) + 6) % 6 AS a, ((t.b % 6) + 6) % 6 AS b"
    return f"SELECT {picked} FROM ({child.sql}) t WHERE t.a IS NOT NULL AND t.b IS NOT NULL"


def _source(table: str) -> Node:
    return Node(
        lambda db: db[table].map(lambda r: Rel(a=r.a, b=r.b, f=r.f, s=r.s)), f"SELECT a, b, f, s FROM {table}"
    )


@cache
def _rows(aliases: tuple[str, ...]) -> st.SearchStrategy[dict[str, Expression]]:
    """An expression per column; as often as not the column itself."""
    return st.fixed_dictionaries(
        {
            name: st.sampled_from(columns(KINDS[name], aliases)) | expression(KINDS[name], aliases)
            for name in COLUMNS
        }
    )


def _rel(row: dict[str, Expression], rows: dict[str, Any]) -> Rel:
    return Rel(**{name: row[name].trace(rows) for name in COLUMNS})


def _list(row: dict[str, Expression]) -> str:
    return ", ".join(f"CAST({row[name].sql} AS {SQL_TYPES[name]}) AS {name}" for name in COLUMNS)


@cache
def _join_keys() -> st.SearchStrategy[list[tuple[Expression, Expression]]]:
    def pair(kind: str) -> st.SearchStrategy[tuple[Expression, Expression]]:
        return st.tuples(expression(kind, ("l",), 1), expression(kind, ("r",), 1))

    return st.lists(pair("int") | pair("str"), min_size=1, max_size=2)


def _on(keys: list[tuple[Expression, Expression]], where: Expression | None) -> str:
    tests = [f"({left.sql}) = ({right.sql})" for left, right in keys]
    return " AND ".join([*tests, where.sql] if where else tests)


Term = tuple[str, bool, bool]


@cache
def orders() -> st.SearchStrategy[list[Term]]:
    """All columns in some order, each with its direction and its place for NULLs."""
    names = st.permutations(COLUMNS)
    return st.tuples(names, st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=4)).map(
        lambda drawn: [(name, *flags) for name, flags in zip(*drawn, strict=True)]
    )


def traced_order(order: list[Term]) -> Callable[[Rel], tuple[tr.Order, ...]]:
    """The order as a lambda."""
    return lambda row: tuple(
        (tr.desc if down else tr.asc)(getattr(row, name), nulls_first=first) for name, down, first in order
    )


def sql_order(order: list[Term]) -> str:
    """The order as SQL."""
    terms = (
        f"t.{name} {'DESC' if d else 'ASC'} NULLS {'FIRST' if first else 'LAST'}" for name, d, first in order
    )
    return ", ".join(terms)
