"""The law over weights and time: negative weights in the middle of a program, and streams that look at earlier steps.

SQL knows neither, so that the other side is a reference of a few lines: a Z-set is a dictionary from rows to weights, a program is
run over the whole recorded sequence of changes from the start, and the last element must be what the engine gave in this step.
Operators of contents are lifted by their definition, `D(op(I(x)))`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

import tailrace as tr

from .effort import count_steps, examples

STEPS = 15

Row = tuple[int, int]
ZSet = dict[Row, int]
History = list[ZSet]


class Item(tr.Row):
    k: int
    v: int


Stream = tr.Stream[Item]


@dataclass(frozen=True)
class Node:
    """A program twice: as a stream over the tables, and as a function from the tables' histories of changes to its own."""

    build: Callable[[list[Stream]], Stream]
    reference: Callable[[list[History]], History]
    text: str

    def __repr__(self) -> str:
        return self.text


def zset(pairs: Any) -> ZSet:
    """Weights added up, zeros dropped."""
    found: defaultdict[Row, int] = defaultdict(int)
    for row, weight in pairs:
        found[row] += weight
    return {row: weight for row, weight in found.items() if weight}


def plus(*parts: ZSet) -> ZSet:
    return zset(pair for part in parts for pair in part.items())


def neg(part: ZSet) -> ZSet:
    return {row: -weight for row, weight in part.items()}


def integrate(history: History) -> History:
    sums: History = []
    for change in history:
        sums.append(plus(sums[-1], change) if sums else dict(change))
    return sums


def delay(history: History) -> History:
    return [{}, *history[:-1]] if history else []


def differentiate(history: History) -> History:
    return [plus(now, neg(before)) for now, before in zip(history, delay(history), strict=True)]


def lifted(operator: Callable[..., ZSet]) -> Callable[..., History]:
    """From an operator of contents to one of changes."""

    def changes(*histories: History) -> History:
        return differentiate([operator(*now) for now in zip(*map(integrate, histories), strict=True)])

    return changes


def _unary(name: str, stream: Callable[[Stream], Stream], reference: Callable[[History], History]) -> Any:
    return lambda child: Node(
        lambda db: stream(child.build(db)), lambda h: reference(child.reference(h)), f"{name}({child.text})"
    )


def _binary(
    name: str, stream: Callable[[Stream, Stream], Stream], reference: Callable[[History, History], History]
) -> Any:
    return lambda left, right: Node(
        lambda db: stream(left.build(db), right.build(db)),
        lambda h: reference(left.reference(h), right.reference(h)),
        f"{name}({left.text}, {right.text})",
    )


def _grouped(contents: ZSet) -> ZSet:
    """Count and sum per key; a group is there while its weights do not cancel."""
    counts, sums = defaultdict(int), defaultdict(int)
    for (k, v), weight in contents.items():
        counts[k] += weight
        sums[k] += weight * v
    return zset(((count, sums[k]), 1) for k, count in counts.items() if count)


def _extremes(contents: ZSet) -> ZSet:
    """The greatest value per key among rows of positive weight; a group is there while its weights do not cancel."""
    counts, most = defaultdict(int), dict[int, int]()
    for (k, v), weight in contents.items():
        counts[k] += weight
        if weight > 0:
            most[k] = max(most.get(k, v), v)
    return zset(((k, most.get(k, -1)), 1) for k, count in counts.items() if count)


def _two_least(contents: ZSet) -> ZSet:
    """The first two copies per key, of rows of positive weight."""
    copies = defaultdict(list)
    for (k, v), weight in sorted(contents.items()):
        copies[k].extend([(k, v)] * weight)
    return zset((row, 1) for rows in copies.values() for row in rows[:2])


def _joined(left: ZSet, right: ZSet) -> ZSet:
    return zset(((a[1], b[1]), x * y) for a, x in left.items() for b, y in right.items() if a[0] == b[0])


UNARY = [
    _unary("neg", lambda s: -s, lifted(neg)),
    _unary(
        "filter",
        lambda s: s.filter(lambda r: r.v > 0),
        lifted(lambda z: {row: w for row, w in z.items() if row[1] > 0}),
    ),
    _unary(
        "map",
        lambda s: s.map(lambda r: Item(k=r.v, v=r.k)),
        lifted(lambda z: zset(((v, k), w) for (k, v), w in z.items())),
    ),
    _unary("distinct", lambda s: s.distinct(), lifted(lambda z: {row: 1 for row, w in z.items() if w > 0})),
    _unary("positive", lambda s: s.positive(), lifted(lambda z: {row: w for row, w in z.items() if w > 0})),
    _unary(
        "count_sum",
        lambda s: s.group_by(lambda r: r.k).aggregate(
            lambda k, g: Item(k=g.count(), v=tr.some(g.sum(lambda r: r.v)))
        ),
        lifted(_grouped),
    ),
    _unary(
        "max",
        lambda s: s.group_by(lambda r: r.k).aggregate(
            lambda k, g: Item(k=k, v=tr.coalesce(g.max(lambda r: r.v), -1))
        ),
        lifted(_extremes),
    ),
    _unary(
        "bottom_k",
        lambda s: s.group_by(lambda r: r.k).bottom_k(2, by=lambda r: r.v),
        lifted(_two_least),
    ),
    _unary("delay", lambda s: s.delay(), delay),
    _unary("integrate", lambda s: s.integrate(), integrate),
    _unary("differentiate", lambda s: s.differentiate(), differentiate),
]
BINARY = [
    _binary("plus", lambda a, b: a + b, lifted(plus)),
    _binary("minus", lambda a, b: a - b, lifted(lambda a, b: plus(a, neg(b)))),
    _binary(
        "join",
        lambda a, b: a.join(b, lambda r: r.k, lambda r: r.k, lambda x, y: Item(k=x.v, v=y.v)),
        lifted(_joined),
    ),
]
SOURCES = [
    Node(lambda db, place=place: db[place], lambda h, place=place: h[place], name)  # type: ignore[misc]
    for place, name in enumerate(("first", "second"))
]


def _programs() -> st.SearchStrategy[Node]:
    def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        unary = st.sampled_from(UNARY).flatmap(children.map)
        binary = st.sampled_from(BINARY).flatmap(lambda make: st.builds(make, children, children))
        return unary | binary

    return st.recursive(st.sampled_from(SOURCES), grown, max_leaves=4)


@settings(max_examples=examples(120), deadline=None, print_blob=True)
@given(program=_programs(), seed=st.integers(0, 2**32 - 1))
def test_oracle_changes_equal_the_reference_at_every_step(program: Node, seed: int) -> None:
    note(f"program: {program.text}")
    rng = Random(seed)
    histories: list[History] = [[], []]
    contents: list[list[Row]] = [[], []]
    with tr.connect() as db:
        tables = [db.table(Item, name=name) for name in ("first", "second")]
        view = db.create_view("view", program.build(list(tables)))
        for _ in range(STEPS):
            batch = tr.Batch()
            for table, rows, history in zip(tables, contents, histories, strict=True):
                history.append(_change(rng, batch, table, rows))
            delta = db.apply(batch)[view].delta.to_pylist()
            found = zset(((row["k"], row["v"]), row["_weight"]) for row in delta)
            assert found == program.reference(histories)[-1]
    count_steps(STEPS)


def _change(rng: Random, batch: tr.Batch, table: tr.Table[Item], rows: list[Row]) -> ZSet:
    """Rows that come and rows that go, in a bag."""
    change: list[tuple[Row, int]] = []
    for _ in range(rng.randint(0, 3)):
        if rows and rng.random() < 0.4:
            change.append((rows.pop(rng.randrange(len(rows))), -1))
        else:
            rows.append((rng.randrange(3), rng.randint(-2, 2)))
            change.append((rows[-1], 1))
    batch.weighted(table, [{"k": k, "v": v, "_weight": weight} for (k, v), weight in change])
    return zset(change)
