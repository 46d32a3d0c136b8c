"""Random aggregates: what is asked of a group, per column type, as a method of `Group` and as SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

import tailrace as tr

from .expressions import Expression, expression
from .operators import Children, Node, Stream, orders, sql_order, traced_order
from .relations import COLUMNS, KINDS, SQL_TYPES, Rel


@dataclass(frozen=True)
class Asked:
    """One value about a group; `trace` takes the key and the group."""

    trace: Callable[[Any, tr.Group[Rel]], Any]
    sql: str


@st.composite
def aggregations(draw: st.DrawFn, children: Children) -> Node:
    """Grouped by one or two keys, or over all rows."""
    child = draw(children)
    keys = draw(st.lists(expression("int", ("t",), 1) | expression("str", ("t",), 1), max_size=2))
    row = {name: draw(_asked(KINDS[name])) for name in COLUMNS}

    def built(key: Any, group: tr.Group[Rel]) -> Rel:
        return Rel(**{name: row[name].trace(key, group) for name in COLUMNS})

    def build(db: dict[str, tr.Table[Any]]) -> Stream:
        stream = child.build(db)
        if not keys:
            return stream.aggregate(lambda group: built(None, group))
        return stream.group_by(lambda r: tuple(key.trace({"t": r}) for key in keys)).aggregate(built)

    picked = ", ".join(f"CAST({row[name].sql} AS {SQL_TYPES[name]}) AS {name}" for name in COLUMNS)
    # GROUP BY takes a bare constant for the position of a column, so that keys are named first.
    inner = (
        f"SELECT t.*, {', '.join(f'{key.sql} AS k{i}' for i, key in enumerate(keys))} FROM ({child.sql}) t"
    )
    group = f"GROUP BY {', '.join(f't.k{i}' for i in range(len(keys)))}" if keys else ""
    return Node(build, f"SELECT {picked} FROM ({inner if keys else child.sql}) t {group}")


@cache
def _asked(kind: str) -> st.SearchStrategy[Asked]:
    return st.one_of(*(build() for build in _ASKED[kind]))


def _with_filter(
    operand: str, call: Callable[[Any, Any, Any], Any], sql: str
) -> Callable[[], st.SearchStrategy[Asked]]:
    """An aggregate of an expression, with or without a condition; `{}` in the SQL is the operand."""

    def build() -> st.SearchStrategy[Asked]:
        return st.builds(
            lambda value, where: _made(value, where, call, sql),
            expression(operand, ("t",), 1),
            st.none() | expression("bool", ("t",), 0),
        )

    return build


def _made(
    value: Expression, where: Expression | None, call: Callable[[Any, Any, Any], Any], sql: str
) -> Asked:
    def condition(row: Rel) -> Any:
        assert where is not None
        return where.trace({"t": row})

    def trace(_key: Any, group: tr.Group[Rel]) -> Any:
        return call(group, lambda r: value.trace({"t": r}), {"where": condition} if where else {})

    return Asked(trace, sql.format(value.sql) + (f" FILTER (WHERE {where.sql})" if where else ""))


def _count_all() -> st.SearchStrategy[Asked]:
    return st.just(Asked(lambda _, group: group.count(), "count(*)"))


def _computed() -> st.SearchStrategy[Asked]:
    return st.just(
        Asked(
            lambda _, g: g.sum(lambda r: tr.coalesce(r.a, 1)) - 2 * g.count(),
            "sum(coalesce(t.a, 1)) - 2 * count(*)",
        )
    )


def _extreme() -> st.SearchStrategy[Asked]:
    """The value is a function of what it is chosen by, so that ties do not matter."""
    return st.sampled_from(
        [
            Asked(
                lambda _, g: g.arg_min(lambda r: tr.some(r.a) * 2, by=lambda r: r.a), "arg_min(t.a * 2, t.a)"
            ),
            Asked(
                lambda _, g: g.arg_max(lambda r: tr.length(tr.some(r.s)), by=lambda r: r.s),
                "arg_max(length(t.s), t.s)",
            ),
        ]
    )


def _listed() -> st.SearchStrategy[Asked]:
    return st.sampled_from(
        [
            Asked(lambda _, g: tr.length(tr.some(g.array_agg(lambda r: r.b))), "len(list(t.b))"),
            Asked(
                lambda _, g: tr.some(g.array_agg(lambda r: r.b))[0],
                "list(t.b ORDER BY t.b ASC NULLS LAST)[1]",
            ),
        ]
    )


@st.composite
def _placed(draw: st.DrawFn) -> Asked:
    """The value of the first or last row of an order that leaves no ties."""
    name, order = draw(st.sampled_from(["first", "last"])), draw(orders())
    return Asked(
        lambda _, g: getattr(g, name)(lambda r: r.b, order_by=traced_order(order)),
        f"{name}(t.b ORDER BY {sql_order(order)})",
    )


_ASKED: dict[str, tuple[Callable[[], st.SearchStrategy[Asked]], ...]] = {
    "int": (
        _count_all,
        _computed,
        _extreme,
        _listed,
        _placed,
        _with_filter("int", lambda g, v, w: g.count(v, **w), "count({})"),
        _with_filter("str", lambda g, v, w: g.count_distinct(v, **w), "count(DISTINCT {})"),
        _with_filter("int", lambda g, v, w: g.sum(v, **w), "sum({})"),
        _with_filter("int", lambda g, v, w: g.sum(v, distinct=True, **w), "sum(DISTINCT {})"),
        _with_filter("int", lambda g, v, w: g.min(v, **w), "min({})"),
        _with_filter("int", lambda g, v, w: g.max(v, **w), "max({})"),
        _with_filter("int", lambda g, v, w: g.bit_and(v, **w), "bit_and({})"),
        _with_filter("int", lambda g, v, w: g.bit_or(v, **w), "bit_or({})"),
        _with_filter("int", lambda g, v, w: g.bit_xor(v, **w), "bit_xor({})"),
        _with_filter("bool", lambda g, v, w: tr.cast(g.bool_and(v, **w), int), "bool_and({})"),
        _with_filter("bool", lambda g, v, w: tr.cast(g.bool_or(v, **w), int), "bool_or({})"),
    ),
    "float": (
        _with_filter("float", lambda g, v, w: g.sum(v, **w), "sum({})"),
        _with_filter("float", lambda g, v, w: g.avg(v, **w), "avg({})"),
        _with_filter("int", lambda g, v, w: g.avg(v, **w), "avg({})"),
        _with_filter("float", lambda g, v, w: g.min(v, **w), "min({})"),
        _with_filter("float", lambda g, v, w: g.max(v, **w), "max({})"),
        _with_filter("float", lambda g, v, w: g.var(v, **w), "var_samp({})"),
        _with_filter("int", lambda g, v, w: g.stddev(v, population=True, **w), "stddev_pop({})"),
        _with_filter("float", lambda g, v, w: g.covar(v, lambda r: r.f, **w), "covar_samp({}, t.f)"),
    ),
    "str": (
        _with_filter("str", lambda g, v, w: g.min(v, **w), "min({})"),
        _with_filter("str", lambda g, v, w: g.max(v, **w), "max({})"),
        _with_filter("str", lambda g, v, w: g.string_agg(v, "|", **w), "string_agg({0}, '|' ORDER BY {0})"),
    ),
}
