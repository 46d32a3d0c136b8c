"""Random changes: batches of operations over both tables, drawn against a model that knows what is there.

The model is a dictionary for the table with a key and a list for the bag. Some batches break a rule on purpose; the
model then stays as it is, and so must the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import tailrace as tr

from .expressions import TEXTS
from .relations import COLUMNS

Values = dict[str, Any]

_VALUES: st.SearchStrategy[Values] = st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-2, 4),
        "b": st.none() | st.integers(-2, 4),
        "f": st.none() | st.integers(-8, 16).map(lambda n: n / 8),
        "s": st.none() | st.sampled_from(TEXTS),
    }
)


@dataclass
class Model:
    """The tables as plain Python."""

    keyed: dict[int, Values] = field(default_factory=dict)
    bag: list[Values] = field(default_factory=list)

    def copy(self) -> Model:
        """A copy to draw a batch against."""
        return Model(dict(self.keyed), list(self.bag))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of both tables, as tuples."""
        return {
            "keyed": [(id, *(values[name] for name in COLUMNS)) for id, values in self.keyed.items()],
            "bag": [tuple(values[name] for name in COLUMNS) for values in self.bag],
        }


@st.composite
def batches(draw: st.DrawFn, model: Model, most: int = 5) -> tuple[tr.Batch, Model]:
    """A batch that is right, and the model after it."""
    batch, after = tr.Batch(), model.copy()
    for operation in draw(st.lists(st.sampled_from(_OPERATIONS), min_size=1, max_size=most)):
        operation(draw, batch, after)
    return batch, after


@st.composite
def bad_batches(draw: st.DrawFn, model: Model) -> tr.Batch:
    """A batch whose last operation breaks a rule after others that do not."""
    batch, after = draw(batches(model, 3))
    taken = next(iter(after.keyed), None)
    unknown = max(after.keyed, default=0) + 1
    breaks = [lambda: batch.delete("keyed", unknown), lambda: batch.update("keyed", {"id": unknown, "a": 1})]
    if taken is not None:
        breaks.append(lambda: batch.insert("keyed", {"id": taken, **after.keyed[taken]}))
    draw(st.sampled_from(breaks))()
    return batch


def _insert(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    id = draw(st.integers(0, 20).filter(lambda n: n not in model.keyed))
    model.keyed[id] = draw(_VALUES)
    batch.insert("keyed", [{"id": id, **model.keyed[id]}])


def _upsert(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    id = draw(st.integers(0, 20))
    model.keyed[id] = draw(_VALUES)
    batch.upsert("keyed", {"id": id, **model.keyed[id]})


def _update(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    if not model.keyed:
        return _upsert(draw, batch, model)
    id = draw(st.sampled_from(sorted(model.keyed)))
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
    changed = {name: value for name, value in draw(_VALUES).items() if name in names}
    model.keyed[id] = {**model.keyed[id], **changed}
    batch.update("keyed", {"id": id, **changed})
    return None


def _delete(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    if not model.keyed:
        return _upsert(draw, batch, model)
    id = draw(st.sampled_from(sorted(model.keyed)))
    del model.keyed[id]
    batch.delete("keyed", id)
    return None


def _append(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    rows = [draw(_VALUES)] * draw(st.integers(1, 3))
    model.bag.extend(rows)
    batch.insert("bag", rows)


def _remove(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    if not model.bag:
        return _append(draw, batch, model)
    row = model.bag.pop(draw(st.integers(0, len(model.bag) - 1)))
    batch.delete("bag", [row])
    return None


def _weigh(draw: st.DrawFn, batch: tr.Batch, model: Model) -> None:
    row, weight = draw(_VALUES), draw(st.integers(1, 3))
    model.bag.extend([row] * weight)
    batch.weighted("bag", [{**row, "_weight": weight + 2}, {**row, "_weight": -2}])


_OPERATIONS = (_insert, _insert, _upsert, _upsert, _update, _delete, _append, _append, _remove, _weigh)
