"""Row classes: plain frozen values to their user, a schema to the engine."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

import tailrace as tr
from tailrace.datatype import data_type


class Point(tr.Row):
    x: int = tr.key()
    y: int | None
    name: str = tr.field(default="origin")

    @property
    def far(self) -> bool:
        return self.x > 10


class Inner(tr.Row):
    city: str
    zip: int | None


class Everything(tr.Row):
    id: int = tr.key()
    flag: bool
    number: float
    text: str
    raw: bytes
    money: Decimal = tr.field(type=tr.decimal(12, 2))
    day: date
    clock: time
    at: datetime
    zoned: datetime = tr.field(type=tr.timestamp("UTC"))
    span: timedelta
    uid: UUID
    small: int = tr.field(type=tr.sized("int16"))
    tags: list[str]
    inner: Inner
    maybe: Inner | None
    scores: dict[str, int]


def test_rows_are_values() -> None:
    one, two = Point(x=1, y=None), Point(x=1, y=None, name="origin")
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one) == "Point(x=1, y=None, name='origin')"
    assert one != Point(x=1, y=2)
    assert not one.far
    assert pickle.loads(pickle.dumps(one)) == one


def test_rows_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Point(x=1, y=2).x = 3  # type: ignore[misc]


def test_replace_changes_some_columns() -> None:
    assert tr.replace(Point(x=1, y=2), y=3) == Point(x=1, y=3)
    with pytest.raises(tr.ColumnError, match="'z' is not found in Point"):
        tr.replace(Point(x=1, y=2), z=3)


def test_an_unknown_column_lists_the_columns() -> None:
    with pytest.raises(
        tr.ColumnError,
        match=r"'nam' is not found in Point\. Did you mean 'name'\? Existing columns: x, y, name",
    ):
        Point(x=1, y=2, nam="a")  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="'z' is not found in Point"):
        Point(x=1, y=2).z  # type: ignore[attr-defined]
    assert not hasattr(Point(x=1, y=2), "z")


def test_a_missing_column_is_named() -> None:
    with pytest.raises(TypeError, match="'y'"):
        Point(x=1)  # type: ignore[call-arg]


def test_the_layout_knows_columns_key_and_table() -> None:
    layout = Point.__tailrace__
    assert layout.names == ["x", "y", "name"]
    assert layout.key == ["x"]
    assert layout.table == "point"
    assert [column.type.nullable for column in layout.columns] == [False, True, False]


def test_a_class_in_a_function_may_name_another() -> None:
    class Part(tr.Row):
        n: int

    class Whole(tr.Row):
        part: Part

    assert Whole.__tailrace__.columns[0].type.row is Part


def test_table_names() -> None:
    class LineItem(tr.Row):
        id: int = tr.key()

    class Other(tr.Row, table="others"):
        id: int = tr.key()

    assert LineItem.__tailrace__.table == "line_item"
    assert Other.__tailrace__.table == "others"


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (complex, "complex is not a column type"),
        (int | str, "mixes types"),
        (list, "list is not a column type"),
    ],
)
def test_an_annotation_that_is_no_column_is_refused(annotation: object, message: str) -> None:
    with pytest.raises(tr.SchemaError, match=message):
        data_type(annotation, None, "Row.column")


def test_a_type_that_contradicts_its_annotation_is_refused(db: tr.Database) -> None:
    class Wrong(tr.Row):
        price: float = tr.field(type=tr.decimal(12, 2))

    with pytest.raises(
        tr.SchemaError, match=r"Wrong\.price: the type given is for Decimal, the annotation says float"
    ):
        db.table(Wrong)


def test_a_row_class_without_columns_is_refused(db: tr.Database) -> None:
    class Empty(tr.Row):
        pass

    with pytest.raises(tr.SchemaError, match="Empty has no columns"):
        db.table(Empty)


def everything(id: int, maybe: Inner | None) -> Everything:
    return Everything(
        id=id,
        flag=True,
        number=2.5,
        text="é",
        raw=b"\x00\xff",
        money=Decimal("12.34"),
        day=date(2026, 1, 2),
        clock=time(3, 4, 5, 6),
        at=datetime(2026, 1, 2, 3, 4, 5, 6),
        zoned=datetime.fromisoformat("2026-01-02T03:04:05+00:00"),
        span=timedelta(days=1, microseconds=7),
        uid=UUID(int=0x1234567890ABCDEF1234567890ABCDEF),
        small=-3,
        tags=["a", "b"],
        inner=Inner(city="Oslo", zip=None),
        maybe=maybe,
        scores={"x": 1, "y": 2},
    )


def test_every_type_goes_in_and_comes_out(db: tr.Database) -> None:
    table = db.table(Everything)
    view = db.create_view("copy", table)
    given = [everything(1, None), everything(2, Inner(city="Bergen", zip=5003))]
    changes = db.insert(table, given)
    assert sorted(view.rows(), key=lambda row: row.id) == given
    assert sorted((row for row, _ in changes[view].rows), key=lambda row: row.id) == given
    assert table.rows() == view.rows()
    db.delete(table, [1])
    assert view.rows() == given[1:]


def test_the_weight_is_no_column() -> None:
    with pytest.raises(tr.SchemaError, match=r"Weighty cannot have a column '_weight'"):

        class Weighty(tr.Row):
            _weight: int
