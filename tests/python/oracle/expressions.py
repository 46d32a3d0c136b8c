"""Random scalar expressions, each as a traced Python expression and as the SQL that means the same.

Numbers stay small and floats are multiples of an eighth, so that DuckDB's arithmetic is exact too and no overflow hides
a difference. Division and remainder are written in SQL with Python's meaning: rounding down, sign of the divisor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

import tailrace as tr

from .relations import COLUMNS, KINDS

TEXTS = ("", "a", "B", "ab", "Ba é", "aab")


@dataclass(frozen=True)
class Expression:
    """`trace` takes the symbolic rows by their SQL alias."""

    trace: Callable[[dict[str, Any]], Any]
    sql: str

    def __repr__(self) -> str:
        return self.sql


@cache
def expression(kind: str, aliases: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[Expression]:
    """An expression of a kind over the columns of the rows with these aliases."""
    leaves = st.one_of(_columns(kind, aliases), _literals(kind)) if kind != "bool" else _tests(aliases, 0)
    if depth == 0:
        return leaves
    return st.one_of(leaves, _COMPOSED[kind](aliases, depth - 1))


def columns(kind: str, aliases: tuple[str, ...]) -> list[Expression]:
    """The columns of a kind, as they are."""
    return [_column(alias, name) for alias in aliases for name in COLUMNS if KINDS[name] == kind]


def _columns(kind: str, aliases: tuple[str, ...]) -> st.SearchStrategy[Expression]:
    return st.sampled_from(columns(kind, aliases))


def _column(alias: str, name: str) -> Expression:
    return Expression(lambda rows: tr.some(getattr(rows[alias], name)), f"{alias}.{name}")


def _literals(kind: str) -> st.SearchStrategy[Expression]:
    if kind == "int":
        return st.integers(-3, 6).map(lambda n: Expression(lambda _: n, f"CAST({n} AS BIGINT)"))
    if kind == "float":
        return st.integers(-12, 24).map(lambda n: Expression(lambda _: n / 8, f"CAST({n / 8} AS DOUBLE)"))
    return st.sampled_from(TEXTS).map(lambda text: Expression(lambda _: text, f"'{text}'"))


def _unary(kind: str, trace: Callable[[Any], Any], sql: str) -> Callable[[tuple[str, ...], int], Any]:
    """Expressions over one of a kind; `{}` in the SQL is the operand."""

    def build(aliases: tuple[str, ...], depth: int) -> st.SearchStrategy[Expression]:
        operand = expression(kind, aliases, depth)
        return operand.map(lambda x: Expression(lambda rows: trace(_symbol(x, rows)), sql.format(x.sql)))

    return build


def _binary(
    left: str, right: str, trace: Callable[[Any, Any], Any], sql: str
) -> Callable[[tuple[str, ...], int], Any]:
    def build(aliases: tuple[str, ...], depth: int) -> st.SearchStrategy[Expression]:
        pair = st.tuples(expression(left, aliases, depth), expression(right, aliases, depth))
        return pair.map(
            lambda p: Expression(
                lambda rows: trace(_symbol(p[0], rows), _symbol(p[1], rows)), sql.format(p[0].sql, p[1].sql)
            )
        )

    return build


def _choice(kind: str) -> Callable[[tuple[str, ...], int], Any]:
    def build(aliases: tuple[str, ...], depth: int) -> st.SearchStrategy[Expression]:
        parts = st.tuples(
            expression("bool", aliases, 0), expression(kind, aliases, depth), expression(kind, aliases, depth)
        )
        return parts.map(
            lambda p: Expression(
                lambda rows: tr.when(p[0].trace(rows)).then(p[1].trace(rows)).otherwise(p[2].trace(rows)),
                f"CASE WHEN {p[0].sql} THEN {p[1].sql} ELSE {p[2].sql} END",
            )
        )

    return build


def _symbol(operand: Expression, rows: dict[str, Any]) -> Any:
    """A constant as a symbol too, so that methods of symbols meet constants."""
    return tr.least(operand.trace(rows))


def _any_of(*builders: Callable[[tuple[str, ...], int], Any]) -> Callable[[tuple[str, ...], int], Any]:
    return lambda aliases, depth: st.one_of(*(build(aliases, depth) for build in builders))


_INTS = _any_of(
    _binary("int", "int", lambda x, y: x + y, "({} + {})"),
    _binary("int", "int", lambda x, y: x - y, "({} - {})"),
    _binary("int", "int", lambda x, y: (x * y) % 97, "(((({} * {}) % 97) + 97) % 97)"),
    _unary("int", lambda x: x // 3, "CAST(floor({} / 3.0::DOUBLE) AS BIGINT)"),
    _unary("int", lambda x: x // -2, "CAST(floor({} / -2.0::DOUBLE) AS BIGINT)"),
    _unary("int", lambda x: x % 4, "((({} % 4) + 4) % 4)"),
    _unary("int", lambda x: x % -3, "((({} % -3) - 3) % -3)"),
    _unary("int", lambda x: -x, "(- {})"),
    _unary("int", abs, "abs({})"),
    _unary("int", lambda x: tr.coalesce(x, 7), "coalesce({}, 7)"),
    _unary("int", lambda x: tr.some(tr.nullif(x, 2)), "nullif({}, 2)"),
    _unary("int", lambda x: x & 3, "({} & 3)"),
    _binary("int", "int", tr.least, "least({}, {})"),
    _binary("int", "int", tr.greatest, "greatest({}, {})"),
    _unary("str", tr.length, "length({})"),
    _unary("str", lambda x: x.find("a"), "(instr({}, 'a') - 1)"),
    _unary("float", lambda x: tr.cast(x, int), "CAST(trunc({}) AS BIGINT)"),
    _unary("float", round, "CAST(round({}) AS BIGINT)"),
    _choice("int"),
)
_FLOATS = _any_of(
    _binary("float", "float", lambda x, y: x + y, "({} + {})"),
    _binary("float", "float", lambda x, y: x - y, "({} - {})"),
    _binary("float", "int", lambda x, y: x + y, "({} + {})"),
    _unary("float", lambda x: x * 0.5, "({} * 0.5::DOUBLE)"),
    _unary("int", lambda x: x / 4, "({} / 4.0::DOUBLE)"),
    _unary("float", abs, "abs({})"),
    _unary("float", lambda x: tr.coalesce(x, 0.25), "coalesce({}, 0.25::DOUBLE)"),
    _choice("float"),
)
_TEXTS = _any_of(
    _binary("str", "str", lambda x, y: x + y, "({} || {})"),
    _unary("str", lambda x: x.upper(), "upper({})"),
    _unary("str", lambda x: x.lower(), "lower({})"),
    _unary("str", lambda x: x[1:3], "substr({}, 2, 2)"),
    _unary("str", lambda x: x[:2], "left({}, 2)"),
    _unary("str", lambda x: x.replace("a", "bb"), "replace({}, 'a', 'bb')"),
    _unary("str", lambda x: x.strip("a"), "trim({}, 'a')"),
    _unary("str", lambda x: tr.coalesce(x, "none"), "coalesce({}, 'none')"),
    _unary("int", lambda x: tr.cast(x, str), "CAST({} AS VARCHAR)"),
    _choice("str"),
)


def _tests(aliases: tuple[str, ...], depth: int) -> st.SearchStrategy[Expression]:
    return st.one_of(*(build(aliases, depth) for build in _TESTS))


_TESTS = (
    _binary("int", "int", lambda x, y: x == y, "({} = {})"),
    _binary("int", "int", lambda x, y: x < y, "({} < {})"),
    _binary("int", "float", lambda x, y: x <= y, "({} <= {})"),
    _binary("float", "float", lambda x, y: x != y, "({} <> {})"),
    _binary("float", "float", lambda x, y: x > y, "({} > {})"),
    _binary("str", "str", lambda x, y: x >= y, "({} >= {})"),
    _unary("int", tr.is_null, "({} IS NULL)"),
    _unary("str", tr.is_not_null, "({} IS NOT NULL)"),
    _unary("int", lambda x: tr.isin(x, [0, 2, 5]), "({} IN (0, 2, 5))"),
    _unary("int", lambda x: tr.between(x, 0, 4), "({} BETWEEN 0 AND 4)"),
    _unary("str", lambda x: x.startswith("a"), "starts_with({}, 'a')"),
    _unary("str", lambda x: x.endswith("b"), "suffix({}, 'b')"),
    _unary("str", lambda x: tr.contains(x, "B"), "contains({}, 'B')"),
    _unary("str", lambda x: tr.like(x, "_a%"), "({} LIKE '_a%')"),
)


def _bools(aliases: tuple[str, ...], depth: int) -> st.SearchStrategy[Expression]:
    return st.one_of(
        _tests(aliases, depth),
        _binary("bool", "bool", lambda x, y: x & y, "({} AND {})")(aliases, depth),
        _binary("bool", "bool", lambda x, y: x | y, "({} OR {})")(aliases, depth),
        _binary("bool", "bool", lambda x, y: x ^ y, "({} <> {})")(aliases, depth),
        _unary("bool", tr.not_, "(NOT {})")(aliases, depth),
    )


_COMPOSED = {"int": _INTS, "float": _FLOATS, "str": _TEXTS, "bool": _bools}
