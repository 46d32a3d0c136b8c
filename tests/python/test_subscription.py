"""Subscriptions: a listener that adds up what it hears has the content of the view, whatever the writers do and however slow it is."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

import tailrace as tr


class Item(tr.Row):
    id: int = tr.key()
    group: int
    value: int


class Total(tr.Row):
    group: int = tr.key()
    total: int


class Listener:
    """Adds up changes; a snapshot replaces what was there."""

    def __init__(self) -> None:
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self.snapshots = 0
        self.versions: list[int] = []

    def __call__(self, change: Any) -> None:
        if change.is_snapshot:
            self.rows.clear()
            self.snapshots += 1
        for row, weight in change.rows:
            self.rows[(row.group, row.total)] += weight
        self.versions.append(change.version)

    @property
    def content(self) -> set[tuple[Any, ...]]:
        assert all(weight in (0, 1) for weight in self.rows.values())
        return {row for row, weight in self.rows.items() if weight}


@pytest.fixture
def totals(db: tr.Database) -> tr.View[Total]:
    items = db.table(Item)
    grouped = items.group_by(lambda i: i.group)
    return db.create_view(
        "totals", grouped.aggregate(lambda k, g: Total(group=k, total=g.sum(lambda i: i.value)))
    )


def content(view: tr.View[Total]) -> set[tuple[int, int]]:
    return {(row.group, row.total) for row in view.rows()}


def change(db: tr.Database, step: int) -> None:
    """Steps that insert, update and delete."""
    db.upsert(Item, [{"id": step % 7, "group": step % 3, "value": step}])
    if step % 5 == 4:
        db.delete(Item, [step % 7])


def test_a_callback_gets_the_content_first_and_then_every_change(
    db: tr.Database, totals: tr.View[Total]
) -> None:
    change(db, 1)
    heard = Listener()
    subscription = totals.subscribe(heard)
    for step in range(2, 60):
        change(db, step)
    expected = content(totals)
    subscription.close()
    subscription.join()
    assert heard.content == expected
    assert heard.snapshots == 1
    assert heard.versions == sorted(set(heard.versions))


@pytest.mark.parametrize("slow", ["coalesce", "drop"])
def test_a_slow_iterator_ends_up_with_the_content(db: tr.Database, totals: tr.View[Total], slow: Any) -> None:
    heard = Listener()
    with totals.changes(slow=slow, buffer=2) as changes:
        heard(next(changes))
        for step in range(100):
            change(db, step)
    for item in changes:
        heard(item)
    if slow == "coalesce":
        assert heard.content == content(totals)
        assert heard.snapshots == 1


def test_dropping_begins_anew_with_a_snapshot(db: tr.Database, totals: tr.View[Total]) -> None:
    heard = Listener()
    with totals.changes(slow="drop", buffer=2) as changes:
        heard(next(changes))
        for step in range(30):
            change(db, step)
        heard(next(changes))
        assert heard.snapshots == 2
        assert heard.content == content(totals)


def test_blocking_makes_the_writer_wait_for_the_listener(db: tr.Database, totals: tr.View[Total]) -> None:
    heard, gate = Listener(), threading.Semaphore(0)

    def slowly(item: Any) -> None:
        gate.acquire()
        heard(item)

    subscription = totals.subscribe(slowly, slow="block", buffer=3)
    writer = threading.Thread(target=lambda: [change(db, step) for step in range(20)])
    writer.start()
    writer.join(0.2)
    assert writer.is_alive(), "the buffer is full, and nobody listens"
    for _ in range(100):
        gate.release()
    writer.join(10)
    assert not writer.is_alive()
    expected = content(totals)
    subscription.close()
    subscription.join()
    assert heard.content == expected


def test_a_callback_may_write_to_the_database_it_listens_to(db: tr.Database, totals: tr.View[Total]) -> None:
    done = threading.Event()

    def answer(item: Any) -> None:
        if item.version < 10:
            db.upsert(Item, [{"id": item.version, "group": 1, "value": 1}])
        else:
            done.set()

    with totals.subscribe(answer, slow="block", buffer=1) as subscription:
        assert done.wait(10)
    subscription.join()
    assert content(totals) == {(1, 10)}


def test_an_error_of_a_callback_ends_it_and_is_told_to_who_joins(
    db: tr.Database, totals: tr.View[Total]
) -> None:
    def fail(_: Any) -> None:
        raise LookupError("not this one")

    subscription = totals.subscribe(fail)
    with pytest.raises(LookupError, match="not this one"):
        subscription.join(10)
    change(db, 1)


def test_resuming_goes_on_where_it_ended(db: tr.Database, totals: tr.View[Total]) -> None:
    heard = Listener()
    with totals.changes() as changes:
        heard(next(changes))
        change(db, 1)
        heard(next(changes))
    for step in range(2, 9):
        change(db, step)
    with totals.changes(since=heard.versions[-1]) as changes:
        while heard.versions[-1] < db.version:
            heard(next(changes))
    assert heard.content == content(totals)
    assert heard.snapshots == 1


def test_resuming_from_too_long_ago_begins_with_a_snapshot(db: tr.Database, totals: tr.View[Total]) -> None:
    change(db, 1)
    change(db, 2)
    with totals.changes(since=1) as changes:
        assert next(changes).is_snapshot


def test_changes_by_sql_are_heard_of_and_a_text_that_fails_behind_them_too(
    db: tr.Database, totals: tr.View[Total]
) -> None:
    heard = Listener()
    with totals.changes() as changes:
        heard(next(changes))
        db.execute("INSERT INTO item VALUES (1, 1, 5); UPDATE item SET value = 6 WHERE id = 1")
        heard(next(changes))
        heard(next(changes))
        assert heard.content == {(1, 6)}
        with pytest.raises(tr.Error):
            db.execute("UPDATE item SET value = 7; SELECT * FROM nothing")
        heard(next(changes))
    assert heard.content == {(1, 7)}


def test_an_async_iterator(db: tr.Database, totals: tr.View[Total]) -> None:
    heard = Listener()

    async def listen() -> None:
        async for item in totals:
            heard(item)
            if item.version >= 20:
                return

    async def both() -> None:
        listener = asyncio.create_task(listen())
        while db.version < 20:
            await asyncio.to_thread(
                db.upsert, Item, [{"id": db.version % 7, "group": 1, "value": db.version}]
            )
        await asyncio.wait_for(listener, 10)

    asyncio.run(both())
    assert heard.content == content(totals)


def test_closing_the_database_ends_its_subscriptions(totals: tr.View[Total], db: tr.Database) -> None:
    changes = totals.changes()
    next(changes)
    db.close()
    assert list(changes) == []


def test_one_commit_delivers_all_views_together(db: tr.Database, totals: tr.View[Total]) -> None:
    db.create_view("big", db.table(Item).filter(lambda i: i.value > 3))
    heard: list[Any] = []
    with db.subscribe(heard.append) as subscription:
        db.apply(
            tr.Batch().insert(Item, [{"id": 1, "group": 1, "value": 5}, {"id": 2, "group": 1, "value": 2}])
        )
    subscription.join()
    first, then = heard
    assert first.is_snapshot
    assert set(first) == {"totals", "big"}
    assert sorted(then) == ["big", "totals"]
    assert [row.id for row, _ in then["big"].rows] == [1]


def test_many_writers_and_listeners_agree(db: tr.Database, totals: tr.View[Total]) -> None:
    listeners = [Listener() for _ in range(4)]
    subscriptions = [totals.subscribe(heard, buffer=5) for heard in listeners]

    def write(base: int) -> None:
        for step in range(50):
            db.upsert(Item, [{"id": base * 10 + step % 7, "group": step % 3, "value": step}])

    writers = [threading.Thread(target=write, args=(base,)) for base in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    for subscription in subscriptions:
        subscription.close()
        subscription.join()
    assert all(heard.content == content(totals) for heard in listeners)


@pytest.mark.parametrize(("given", "words"), [({"slow": "often"}, "coalesce"), ({"buffer": 0}, "buffer=0")])
def test_wrong_choices_are_named(totals: tr.View[Total], given: Any, words: str) -> None:
    with pytest.raises(tr.UnsupportedError, match=words):
        totals.changes(**given)
