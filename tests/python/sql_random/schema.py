"""Random tables: two to four of them, with and without key, some of whose columns have the same names."""

from __future__ import annotations

from dataclasses import dataclass

from .choices import Choices
from .kinds import Kind

# A name tells its kind, so that columns of one name can be joined by USING.
NAMES: dict[str, Kind] = {
    "i": Kind.INTEGER,
    "s": Kind.VARCHAR,
    "j": Kind.INTEGER,
    "n": Kind.BIGINT,
    "x": Kind.DECIMAL,
    "f": Kind.DOUBLE,
    "t": Kind.VARCHAR,
    "d": Kind.DATE,
    "m": Kind.TIMESTAMP,
    "p": Kind.BOOLEAN,
}
KEY_KINDS = (Kind.INTEGER, Kind.BIGINT, Kind.VARCHAR, Kind.DATE)


@dataclass(frozen=True)
class Column:
    """A column of a table or of a query's answer."""

    name: str
    kind: Kind
    nullable: bool = True


@dataclass(frozen=True)
class Table:
    """A table; `key` names the columns of its primary key, none if it is a bag."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """The statement that makes it."""
        parts = [
            f"{column.name} {column.kind.value}" + ("" if column.nullable else " NOT NULL")
            for column in self.columns
        ]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def tables(choose: Choices) -> list[Table]:
    """The tables of one case."""
    return [table(choose, f"r{number}") for number in range(choose.between(2, 4))]


def table(choose: Choices, name: str) -> Table:
    """One table; the key is of one or two columns, or absent."""
    names = choose.some(list(NAMES), 2, 5)
    keyable = [column for column in names if NAMES[column] in KEY_KINDS]
    key = tuple(choose.some(keyable, 1, 2)) if keyable and choose.chance(60) else ()
    columns = tuple(
        Column(column, NAMES[column], nullable=column not in key and not choose.chance(20))
        for column in names
    )
    return Table(name, columns, key)
