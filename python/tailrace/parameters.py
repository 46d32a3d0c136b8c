"""Views of one value: `view.with_params(city="Rome")` of a view whose text says `$city`.

The view is one dataflow, whatever the number of values: its rows carry the parameters as columns, and a step costs what it touches.
A handle of one value shows the rows of that value, and hears of the steps that touched them.

Promise: what a handle shows equals the query with its values written in. Why it holds: values are part of the rows, so that a change
belongs to the values that it touches; where the rows cannot know them, the engine keeps a table of the values that are asked for, as
long as a handle or a subscription of them is alive.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ._tailrace import ArrowTable, Step
from .changes import Together, ViewChange, held
from .data import plain
from .errors import PlanError, did_you_mean, listed
from .kept import arrow_schema
from .row import Row
from .subscription import Source
from .untyped import row_class
from .view import View

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T", bound=Row)

Released = deque[tuple[object, ...]]
"""Values that nobody holds any more, to be told to the engine."""


class Value:
    """Values of parameters that somebody holds; when nobody does any more they are noted as released.

    They are told with the next question for values: what ends a value may run anywhere, also inside of the engine.
    """

    def __init__(self, key: bytes, values: tuple[object, ...], released: Released) -> None:
        self.key = key
        self.values = values
        weakref.finalize(self, released.append, values).atexit = False


class ValueView(View[T]):
    """A view with values for its parameters; made by `with_params`."""

    def __init__(self, base: View[Any], row: type[T], value: Value) -> None:
        super().__init__(base._database, base.name, base.number, row, base._feed)
        self._value = value

    @property
    def values(self) -> dict[str, object]:
        """The values of the parameters."""
        return dict(zip(self.params, self._value.values, strict=True))

    @property
    def key(self) -> list[str] | None:
        """The columns that `events` go by."""
        layout = self.row.__tailrace__
        return layout.key if layout.keyed else None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the view, as an Arrow schema."""
        return arrow_schema(self._database.view_columns(self.name))

    def change_in(self, step: Step) -> ViewChange[T]:
        """What a step changed in the rows of these values."""
        return held(self.name, self.row, self._delta(step), step.version)

    def _read(self, weighted: bool) -> ArrowTable:
        self._check()
        return self._database.snapshot_of(self.name, self._value.values, weighted)

    def _delta(self, step: Step) -> ArrowTable:
        return step.delta_of(self.name, self._value.key)

    def _source(self) -> Source[ViewChange[T]]:
        name, number, row, database = self.name, self.number, self.row, self._database

        def change(step: Step) -> ViewChange[T] | None:
            if step.view_id(name) != number:
                return None
            delta = self._delta(step)
            return held(name, row, delta, step.version) if len(delta) else None

        def snapshot() -> ViewChange[T]:
            return held(name, row, self._read(weighted=True), database.version, is_snapshot=True)

        return Source(snapshot, change, Together, lambda: database.version, (number, self._value.key))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"View[{self.row.__name__}]({self.name!r}, {values})"


def value_view(base: View[Any], values: Mapping[str, object], released: Released) -> ValueView[Row]:
    """The view of some values. If the engine does not keep their rows yet, this is a step."""
    native, name, feed = base._database, base.name, base._feed
    params = base.params
    given = tuple(plain(value) for value in _ordered(name, params, values))
    key = native.parameter_key(name, given)
    with feed.writing():
        step = native.ask(name, given, _taken(released))
        if step is not None:
            feed.publish(step)
    found = native.view_key(name)
    own = None if found is None else found[len(params) :]
    row = row_class(name, native.view_columns(name), own, native.view_lists(name))
    return ValueView(base, row, Value(key, given, released))


def _ordered(view: str, params: Sequence[str], values: Mapping[str, object]) -> list[object]:
    for name in values:
        if name not in params:
            raise PlanError(
                f"View {view!r} has no parameter {name!r}. {did_you_mean(name, params)}Parameters: {listed(params)}."
            )
    missing = [name for name in params if name not in values]
    if missing or not params:
        raise PlanError(
            f"View {view!r} needs a value for: {listed(missing)}. Parameters: {listed(params)}."
            if params
            else f"View {view!r} has no parameters: write them as `$name` in its text."
        )
    return [values[name] for name in params]


def _taken(released: Released) -> list[tuple[object, ...]]:
    taken = []
    while released:
        taken.append(released.popleft())
    return taken
