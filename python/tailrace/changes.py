"""What a step changed, per view: as Arrow, as rows with weights, or as events by key.

Nothing is computed before it is asked for. `delta` is made of the engine's own buffers; `events` pairs, key
by key, the rows that went with those that came, so that an update is seen as one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

from ._tailrace import ArrowTable, Step
from ._tailrace import Database as NativeDatabase
from .arrow import read_table
from .errors import PlanError, UnknownViewError, did_you_mean, listed
from .identity import identity
from .patches import Patch, deleted, inserted, updated
from .row import Row
from .untyped import row_class

if TYPE_CHECKING:
    import pyarrow as pa

    from .view import View

T = TypeVar("T", bound=Row)


@dataclass(frozen=True)
class Created(Generic[T]):
    """A row came under a key that was not there."""

    row: T


@dataclass(frozen=True)
class Updated(Generic[T]):
    """The row under a key is another one now."""

    old: T
    new: T


@dataclass(frozen=True)
class Deleted(Generic[T]):
    """A row went, and its key with it."""

    row: T


Event: TypeAlias = "Created[T] | Updated[T] | Deleted[T]"


class Changes(Mapping["str | View[Any]", "ViewChange[Any]"]):
    """The views that one step changed, by name or by handle; a view that did not change has an empty change."""

    is_snapshot = False
    """Whether this is the content of all views, in place of what was known before."""

    def __init__(self, step: Step, classes: Mapping[int, type[Row]]) -> None:
        """`classes`: the row classes of views, by the view's number; one that SQL made gets its class when it is asked for."""
        self._step = step
        self._classes = classes

    @property
    def version(self) -> int:
        """The version of the database after the step."""
        return self._step.version

    @overload
    def __getitem__(self, view: str) -> ViewChange[Any]: ...
    @overload
    def __getitem__(self, view: View[T]) -> ViewChange[T]: ...
    def __getitem__(self, view: str | View[T]) -> ViewChange[Any]:
        name = view if isinstance(view, str) else view.name
        number = self._step.view_id(name)
        if number is None or (not isinstance(view, str) and view.number != number):
            known = self._step.all_views()
            raise UnknownViewError(
                f"View {name!r} is not found at version {self.version}. {did_you_mean(name, known)}Existing views: {listed(known)}."
            )
        if not isinstance(view, str):
            return view.change_in(self._step)
        row = self._classes.get(number)
        return ViewChange(name, self._step, row or _class_of(self._step, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._step.views)

    def __len__(self) -> int:
        return len(self._step.views)

    def __contains__(self, view: object) -> bool:
        name, number = getattr(view, "name", view), getattr(view, "number", None)
        if name not in self._step.views or number not in (None, self._step.view_id(str(name))):
            return False
        return not hasattr(view, "change_in") or len(view.change_in(self._step)) > 0

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {len(self._step.delta(name))} rows" for name in self._step.views)
        return f"Changes(version={self.version}, {parts or 'nothing changed'})"

    def _repr_html_(self) -> str:
        parts = (f"<h4>{name}</h4>{self[name]._repr_html_()}" for name in self._step.views)
        return "".join(parts) or "<p>nothing changed</p>"


class ViewChange(Generic[T]):
    """What one step changed in one view."""

    is_snapshot = False
    """Whether this is the whole content of the view, in place of what was known before."""

    def __init__(self, name: str, step: Step, row: type[T]) -> None:
        self.name = name
        self._step = step
        self._row = row

    @property
    def version(self) -> int:
        """The version of the database after the change."""
        return self._step.version

    @cached_property
    def delta(self) -> pa.Table:
        """The changes as an Arrow table: the view's columns, and `_weight`, how many of the row came or went."""
        return read_table(self._native)

    @cached_property
    def rows(self) -> list[tuple[T, int]]:
        """The changed rows with their weights."""
        read = self._row.__tailrace__.read
        return [(cast("T", read(values)), weight) for values, weight in self._step.rows(self.name)]

    @cached_property
    def events(self) -> list[Event[T]]:
        """The changes as events, one per key: a `tr.key()` of the row class, or what follows from the query and the keys of its tables."""
        return list(_events(self.rows, self._key("events")))

    @cached_property
    def patches(self) -> list[Patch]:
        """The changes as patches by key: of rows, of their columns, and of the elements of the lists inside of them. See `View.tree`."""
        key, lists = self._key("patches"), self._row.__tailrace__.lists
        patches: list[Patch] = []
        for event in self.events:
            match event:
                case Created(row):
                    patches.append(inserted(row, key))
                case Deleted(row):
                    patches.append(deleted(row, key))
                case Updated(old, new):
                    patches.extend(updated(old, new, key, lists))
        return patches

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"ViewChange({self.name!r}, {len(self)} rows)"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        from .notebook import table_html  # noqa: PLC0415 (for notebooks alone)

        return table_html(self.delta)

    def _key(self, what: str) -> list[str]:
        layout = self._row.__tailrace__
        if not layout.keyed:
            raise PlanError(f"The {what} of view {self.name!r} need a key. {layout.without_key}")
        return layout.key

    @cached_property
    def _native(self) -> ArrowTable:
        return self._step.delta(self.name)


class Contents(Mapping[str, ViewChange[Any]]):
    """The content of all views at one version: what a subscription to a database begins with."""

    is_snapshot = True

    def __init__(self, native: NativeDatabase, classes: Mapping[int, type[Row]]) -> None:
        self.version = native.version
        self._contents: dict[str, ViewChange[Any]] = {}
        for name in native.views():
            number = native.view_id(name)
            self._contents[name] = Content(
                name, native, classes.get(number) or _class_of(native, name), number
            )

    def __getitem__(self, view: str) -> ViewChange[Any]:
        return self._contents[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)


class _Held(ViewChange[T]):
    """A change that is no step: a table of weighted rows at a version."""

    def __init__(self, name: str, row: type[T], table: ArrowTable, version: int) -> None:
        self.name = name
        self._row = row
        self._table = table
        self._version = version

    @property
    def version(self) -> int:
        """The version of the database after the change."""
        return self._version

    @cached_property
    def rows(self) -> list[tuple[T, int]]:
        """The rows with their weights."""
        return _weighted_rows(self.delta, self._row)

    @cached_property
    def _native(self) -> ArrowTable:
        return self._table


class Content(_Held[T]):
    """The whole content of a view: what a subscription begins with, or begins anew with."""

    is_snapshot = True

    def __init__(self, name: str, native: NativeDatabase, row: type[T], number: int) -> None:
        super().__init__(name, row, native.snapshot(name, True, number), native.version)


class Together(_Held[T]):
    """Two changes of a view, one after the other, added up."""

    def __init__(self, first: ViewChange[T], then: ViewChange[T]) -> None:
        super().__init__(first.name, first._row, first._native.plus(then._native), then.version)
        self.is_snapshot = first.is_snapshot


def _class_of(views: Step | NativeDatabase, name: str) -> type[Row]:
    return row_class(name, views.view_schema(name), views.view_key(name), views.view_lists(name))


def held(
    name: str, row: type[T], table: ArrowTable, version: int, *, is_snapshot: bool = False
) -> ViewChange[T]:
    """A change whose rows are known."""
    made = _Held(name, row, table, version)
    made.is_snapshot = is_snapshot
    return made


def _weighted_rows(delta: pa.Table, row: type[T]) -> list[tuple[T, int]]:
    read = row.__tailrace__.read
    weighted = ((values, values.pop("_weight")) for values in delta.to_pylist())
    return [(cast("T", read(values)), weight) for values, weight in weighted]


def _events(rows: list[tuple[T, int]], key: list[str]) -> Iterator[Event[T]]:
    for gone, come in _by_key(rows, key).values():
        paired = min(len(gone), len(come))
        yield from (Updated(old, new) for old, new in zip(gone, come, strict=False))
        yield from (Deleted(row) for row in gone[paired:])
        yield from (Created(row) for row in come[paired:])


def _by_key(rows: list[tuple[T, int]], key: list[str]) -> dict[tuple[Any, ...], tuple[list[T], list[T]]]:
    found: dict[tuple[Any, ...], tuple[list[T], list[T]]] = {}
    for row, weight in rows:
        sides = found.setdefault(tuple(identity(getattr(row, name)) for name in key), ([], []))
        sides[weight > 0].extend([row] * abs(weight))
    return found
