"""One case: tables, views that the query may read, and the query."""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices
from .queries import Query, query
from .schema import Table, tables
from .scope import Relation, Scope


@dataclass(frozen=True)
class Case:
    """What one example of Hypothesis is about."""

    tables: list[Table]
    views: list[tuple[str, Query]]
    query: Query

    @property
    def text(self) -> str:
        """The whole case as a script, to be shown and tried by hand."""
        parts = [table.definition for table in self.tables]
        parts += [f"CREATE VIEW {name} AS {made.text}" for name, made in self.views]
        return ";\n".join([*parts, self.query.text]) + ";"


def case(choose: Choices) -> Case:
    """Tables, up to two views over them or over each other, and a query over all of these."""
    made = tables(choose)
    relations = [Relation(table.name, table.columns) for table in made]
    views: list[tuple[str, Query]] = []
    for _ in range(choose.one((0, 0, 0, 1, 2))):
        view = query(Scope(choose, tuple(relations), queries=1, outermost=False))
        views.append((f"seen{len(views)}", view))
        relations.insert(0, Relation(views[-1][0], view.columns))
    return Case(made, views, query(Scope(choose, tuple(relations))))
