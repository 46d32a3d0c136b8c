"""Random changes: batches of operations over both tables, made against a model that knows what is there.

The model is a dictionary for the table with a key and a list for the bag. Some batches break a rule on purpose; the
model then stays as it is, and so must the database. Changes come from a seeded generator, not from Hypothesis value by
value: a program lives through many of them, and a seed is enough to see them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import tailrace as tr

from .expressions import TEXTS
from .relations import COLUMNS

Values = dict[str, Any]


@dataclass
class Model:
    """The tables as plain Python."""

    keyed: dict[int, Values] = field(default_factory=dict)
    bag: list[Values] = field(default_factory=list)

    def copy(self) -> Model:
        """A copy to make a batch against."""
        return Model(dict(self.keyed), list(self.bag))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of both tables, as tuples."""
        return {
            "keyed": [(id, *(values[name] for name in COLUMNS)) for id, values in self.keyed.items()],
            "bag": [tuple(values[name] for name in COLUMNS) for values in self.bag],
        }


def good_batch(rng: Random, model: Model, most: int = 5) -> tuple[tr.Batch, Model]:
    """A batch that is right, and the model after it."""
    batch, after = tr.Batch(), model.copy()
    for _ in range(rng.randint(1, most)):
        rng.choice(_OPERATIONS)(rng, batch, after)
    return batch, after


def bad_batch(rng: Random, model: Model) -> tr.Batch:
    """A batch whose last operation breaks a rule after others that do not."""
    batch, after = good_batch(rng, model, 3)
    unknown = max(after.keyed, default=0) + 1
    breaks = [lambda: batch.delete("keyed", unknown), lambda: batch.update("keyed", {"id": unknown, "a": 1})]
    if after.keyed:
        taken = rng.choice(sorted(after.keyed))
        breaks.append(lambda: batch.insert("keyed", {"id": taken, **after.keyed[taken]}))
    rng.choice(breaks)()
    return batch


def _values(rng: Random) -> Values:
    values = {
        "a": rng.randint(-2, 4),
        "b": rng.randint(-2, 4),
        "f": rng.randint(-8, 16) / 8,
        "s": rng.choice(TEXTS),
    }
    return {name: None if rng.random() < 0.2 else value for name, value in values.items()}


def _insert(rng: Random, batch: tr.Batch, model: Model) -> None:
    id = rng.choice([n for n in range(40) if n not in model.keyed])
    model.keyed[id] = _values(rng)
    batch.insert("keyed", [{"id": id, **model.keyed[id]}])


def _upsert(rng: Random, batch: tr.Batch, model: Model) -> None:
    id = rng.randrange(20)
    model.keyed[id] = _values(rng)
    batch.upsert("keyed", {"id": id, **model.keyed[id]})


def _update(rng: Random, batch: tr.Batch, model: Model) -> None:
    if not model.keyed:
        return
    id = rng.choice(sorted(model.keyed))
    names = rng.sample(COLUMNS, rng.randint(1, len(COLUMNS)))
    changed = {name: value for name, value in _values(rng).items() if name in names}
    model.keyed[id] = {**model.keyed[id], **changed}
    batch.update("keyed", {"id": id, **changed})


def _delete(rng: Random, batch: tr.Batch, model: Model) -> None:
    gone = rng.sample(sorted(model.keyed), min(len(model.keyed), rng.randint(1, 4)))
    for id in gone:
        del model.keyed[id]
    batch.delete("keyed", gone)


def _append(rng: Random, batch: tr.Batch, model: Model) -> None:
    rows = [_values(rng)] * rng.randint(1, 3)
    model.bag.extend(rows)
    batch.insert("bag", rows)


def _remove(rng: Random, batch: tr.Batch, model: Model) -> None:
    rng.shuffle(model.bag)
    gone = [model.bag.pop() for _ in range(min(len(model.bag), rng.randint(1, 4)))]
    batch.delete("bag", gone)


def _weigh(rng: Random, batch: tr.Batch, model: Model) -> None:
    row, weight = _values(rng), rng.randint(1, 3)
    model.bag.extend([row] * weight)
    batch.weighted("bag", [{**row, "_weight": weight + 2}, {**row, "_weight": -2}])


_OPERATIONS = (_insert, _insert, _upsert, _upsert, _update, _delete, _append, _append, _remove, _weigh)
