"""What an expression may name, and what the grammar carries along.

A *leaf* is a text that may stand in an expression with its kind: a column, a grouped expression, an aggregate, a window function. So
that the same expressions are made of columns in WHERE, of aggregates in HAVING and of both in a grouped SELECT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .choices import Choices
from .kinds import Kind
from .schema import Column


@dataclass(frozen=True)
class Leaf:
    """A text with its kind; one that is `bare` has no table in front and means something else inside a subquery."""

    text: str
    kind: Kind
    bare: bool = False


@dataclass(frozen=True)
class Relation:
    """Something with a name that FROM may read: a table, a view, a WITH query."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Scope:
    """The place of an expression."""

    choose: Choices
    relations: tuple[Relation, ...]
    leaves: tuple[Leaf, ...] = ()
    outer: tuple[Leaf, ...] = ()
    depth: int = 2
    """How deep expressions may still nest."""
    queries: int = 2
    """How deep subqueries may still nest."""
    subqueries: bool = True
    """Whether an expression may hold a subquery here."""
    outermost: bool = True
    """Whether no query is around this place."""

    def over(self, leaves: Sequence[Leaf]) -> Scope:
        """The same place with other leaves."""
        return replace(self, leaves=tuple(leaves))

    def plain(self) -> Scope:
        """The same place without subqueries and outer columns."""
        return replace(self, outer=(), subqueries=False)

    def deeper(self) -> Scope:
        """Within an operand."""
        return replace(self, depth=self.depth - 1)

    def inside(self) -> Scope:
        """Within a subquery that may read this place's columns, and those around it."""
        seen = [leaf for leaf in self.leaves if not leaf.bare and is_column(leaf)]
        return replace(
            self,
            leaves=(),
            outer=(*self.outer, *seen),
            queries=self.queries - 1,
            depth=1,
            subqueries=True,
            outermost=False,
        )

    def apart(self) -> Scope:
        """Within a query that sees nothing of this place but the relations."""
        return replace(
            self, leaves=(), outer=(), queries=self.queries - 1, depth=2, subqueries=True, outermost=False
        )

    def of(self, *kinds: Kind) -> list[Leaf]:
        """The leaves of some kinds."""
        return [leaf for leaf in self.leaves if leaf.kind in kinds]

    def outer_of(self, *kinds: Kind) -> list[Leaf]:
        """The columns of queries around that have one of these kinds."""
        return [leaf for leaf in self.outer if leaf.kind in kinds]


def is_column(leaf: Leaf) -> bool:
    """Whether a leaf is a column: an aggregate of a query around is nothing that a subquery may read."""
    return all(letter.isalnum() or letter in "._" for letter in leaf.text)


def column_leaf(alias: str, column: Column) -> Leaf:
    """A column of something in FROM."""
    return Leaf(f"{alias}.{column.name}", column.kind)
