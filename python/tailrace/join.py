"""Joins: keys of both sides, an output row, and what is asked about the side that may be absent.

Keys are checked pair by pair when the stream is made: the checker cannot see that both lambdas must give
one type. Rows match by SQL equality, so that a NULL key has no partner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ._tailrace import Expr, Plan
from .datatype import BOOL, comparable
from .errors import PlanError, TypeMismatchError
from .row import Row
from .symbols import MaybeRow, Scope, Symbol, column, symbolic_row
from .symbols.base import aligned, make
from .tracing import conformed, output_columns, output_row, predicate, shape

_PRESENT = "_present"
_OPTIONAL = {"left": ("right",), "right": ("left",), "full": ("left", "right")}


class Side(Protocol):
    """What a join needs of a stream."""

    @property
    def plan(self) -> Plan:
        """How it is computed."""

    @property
    def row(self) -> type[Row]:
        """Its row class."""


@dataclass(frozen=True)
class Join:
    """Two sides with their keys."""

    kind: str
    left: Any
    right: Any
    left_keys: Sequence[Expr]
    right_keys: Sequence[Expr]


class _AskedRow(MaybeRow):
    """An absent row that notes whether its presence was asked for, which costs a column."""

    def __init__(self, row: Row, present: Symbol) -> None:
        super().__init__(row, present)
        self.asked = False

    @property
    def present(self) -> Symbol:
        self.asked = True
        return self._present

    @present.setter
    def present(self, symbol: Symbol) -> None:
        self._present = symbol


def keyed(
    kind: str, left: Side, right: Side, left_on: Callable[[Any], Any], right_on: Callable[[Any], Any]
) -> Join:
    """A join whose keys are named by lambdas."""
    left_keys, right_keys = _key(left, left_on, kind), _key(right, right_on, kind)
    if len(left_keys) != len(right_keys):
        raise PlanError(
            f"The left key of the {kind} join has {len(left_keys)} values, the right one {len(right_keys)}."
        )
    pairs = [_matched(kind, i, *pair) for i, pair in enumerate(zip(left_keys, right_keys, strict=True))]
    return Join(kind, left, right, [pair[0].expr for pair in pairs], [pair[1].expr for pair in pairs])


def joined(
    join: Join, output: Callable[[Any, Any], object], where: Callable[[Any, Any], bool] | None
) -> tuple[Plan, type[Row]]:
    """The plan of a join that builds rows out of both sides."""
    scope = Scope(f"{join.kind} join")
    sides = {name: _seen(join, name, scope) for name in ("left", "right")}
    built = scope.call(output, sides["left"], sides["right"])
    columns, row = output_columns(built, scope), type(output_row(built, scope))
    left, right = (_marked(getattr(join, name).plan, sides[name]) for name in ("left", "right"))
    plan = left.join(right, join.kind, join.left_keys, join.right_keys, _residual(join, where), columns)
    return conformed(plan, row), row


def kept(join: Join, where: Callable[[Any, Any], bool] | None) -> Plan:
    """The plan of a join that keeps or drops rows of the left side."""
    columns = [(name, Expr.column(name, "left")) for name in join.left.row.__tailrace__.names]
    plan: Plan = join.left.plan
    return plan.join(
        join.right.plan, join.kind, join.left_keys, join.right_keys, _residual(join, where), columns
    )


def _key(side: Side, key: Callable[[Any], Any], kind: str) -> list[Symbol]:
    scope = Scope(f"the key of a {kind} join")
    return shape(key, scope, symbolic_row(side.row, scope)).symbols


def _matched(kind: str, position: int, left: Symbol, right: Symbol) -> tuple[Symbol, Symbol]:
    if not comparable(left.type, right.type):
        raise TypeMismatchError(
            f"Key {position + 1} of the {kind} join is {left.type} on the left and {right.type} on the right: "
            f"{left!r}, {right!r}. Convert one with `tr.cast(x, ...)`."
        )
    return aligned(left, right)


def _seen(join: Join, name: str, scope: Scope) -> Row | _AskedRow:
    row: Row = symbolic_row(getattr(join, name).row, scope, name)
    if name not in _OPTIONAL.get(join.kind, ()):
        return row
    mark = column(_PRESENT, BOOL, scope, name)
    return _AskedRow(row, make(Expr.unary("is not null", mark.expr), BOOL, scope))


def _marked(plan: Plan, seen: Row | _AskedRow) -> Plan:
    if isinstance(seen, Row) or not seen.asked:
        return plan
    columns = [(name, Expr.column(name)) for name, _, _ in plan.schema]
    return plan.project([*columns, (_PRESENT, Expr.literal(True))])


def _residual(join: Join, where: Callable[[Any, Any], bool] | None) -> Expr | None:
    if where is None:
        return None
    scope = Scope(f"`where` of a {join.kind} join")
    rows = (symbolic_row(join.left.row, scope, "left"), symbolic_row(join.right.row, scope, "right"))
    return predicate(where, scope, *rows)
