"""Subscriptions: the changes of a view, or of all views, as they happen.

A subscription is an iterator, an async iterator, or a callback on a thread of its own. It begins with a snapshot, or where it left off,
and then has every step once. A consumer that is slower than the writer fills its buffer; `slow` says what happens then: `"coalesce"` adds
the newest changes up, `"drop"` forgets them and begins anew with a snapshot, `"block"` makes the writer wait before its next step.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from .errors import ClosedError, UnknownViewError, UnsupportedError
from .feed import NOW, Feed, Topic

if TYPE_CHECKING:
    from ._tailrace import Step

C = TypeVar("C")
Slow: TypeAlias = Literal["coalesce", "drop", "block"]

_LOG: Final = logging.getLogger("tailrace")
_SLOW: Final = ("coalesce", "drop", "block")


class Source(Generic[C]):
    """What a subscription is about: how its snapshot is taken, what a step means to it, and how two changes add up."""

    def __init__(
        self,
        snapshot: Callable[[], C],
        change: Callable[[Step], C | None],
        together: Callable[[C, C], C],
        version: Callable[[], int],
        view: Topic | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.change = change
        self.together = together
        self.version = version
        self.view = view
        """The one view that it is about, by its number, or a value of its parameters."""


class Subscription(Generic[C]):
    """Changes in order, without a gap; made by `view.subscribe`, `view.changes` and `db.subscribe`.

    >>> followed = db.create_view("followed", bids.filter(lambda b: b.price > 100.0))
    >>> with followed.changes() as changes:
    ...     first = next(changes)
    >>> first.is_snapshot
    True
    """

    def __init__(self, feed: Feed, source: Source[C], *, since: int | None, slow: Slow, buffer: int) -> None:
        if slow not in _SLOW:
            raise UnsupportedError(
                f"slow={slow!r} is not known: choose one of {', '.join(map(repr, _SLOW))}."
            )
        if buffer < 1:
            raise UnsupportedError(f"buffer={buffer} is too small: a subscription needs room for one change.")
        self._feed, self._source, self._slow, self._buffer = feed, source, slow, buffer
        self._ready = threading.Condition()
        self._pending: deque[C] = deque()
        self._anew = False
        self._closed = False
        self._wakers: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None
        with feed.lock:
            feed.join(self, source.version(), since)

    @property
    def view(self) -> Topic | None:
        """The view that it is about, by its number, or a value of its parameters; None for all."""
        return self._source.view

    @property
    def blocks(self) -> bool:
        """Whether a writer must wait for this consumer."""
        return self._slow == "block"

    def take(self, timeout: float | None = None) -> C | None:
        """The next change; None if `timeout` seconds pass without one, or if the subscription has ended."""
        with self._ready:
            self._ready.wait_for(lambda: self._anew or self._pending or self._closed, timeout)
        return self._next()

    def close(self) -> None:
        """End the subscription: what is pending can still be taken, a callback gets it before its thread ends."""
        with self._ready:
            self._closed = True
            self._wake()
        self._feed.leave(self)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the callback's thread has ended, and raise what the callback raised."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        if self.error is not None:
            raise self.error

    def call(self, callback: Callable[[C], object]) -> None:
        """Hand every change to a callback, on a thread of its own."""
        self._thread = threading.Thread(
            target=self._deliver, args=(callback,), name="tailrace-subscription", daemon=True
        )
        self._thread.start()

    def offer(self, step: Step) -> None:
        """A step was applied; the feed's lock is held."""
        change = self._source.change(step)
        with self._ready:
            if change is None or self._anew or self._closed:
                return
            if len(self._pending) < self._buffer or self._slow == "block":
                self._pending.append(change)
            elif self._slow == "coalesce":
                self._pending.append(self._source.together(self._pending.pop(), change))
            else:
                self._pending.clear()
                self._anew = True
            self._wake()

    def begin_anew(self) -> None:
        """What comes next is a snapshot."""
        with self._ready:
            self._pending.clear()
            self._anew = True
            self._wake()

    def wait_for_room(self) -> None:
        """For a writer that must not outrun this consumer; the consumer's own thread is never made to wait for itself."""
        if not self.blocks or threading.current_thread() is self._thread:
            return
        with self._ready:
            self._ready.wait_for(lambda: len(self._pending) < self._buffer or self._closed)

    def __enter__(self) -> Subscription[C]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Subscription[C]:
        return self

    def __next__(self) -> C:
        change = self.take()
        if change is None:
            raise StopIteration
        return change

    def __aiter__(self) -> Subscription[C]:
        return self

    async def __anext__(self) -> C:
        import asyncio  # noqa: PLC0415 (half of the import time of the package, for those who use it)

        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        while True:
            with self._ready:
                idle = not (self._anew or self._pending or self._closed)
                if idle:
                    self._wakers.append(wake)
            if not idle:
                change = await asyncio.to_thread(self._next)
                if change is None:
                    raise StopAsyncIteration
                return change
            try:
                await woken.wait()
            finally:
                with self._ready:
                    if wake in self._wakers:
                        self._wakers.remove(wake)
            woken.clear()

    def _next(self) -> C | None:
        """What can be had without waiting."""
        if self._anew:
            with self._feed.lock, self._ready:
                if self._anew and not self._closed:
                    self._anew = False
                    return self._snapshot()
        with self._ready:
            if not self._pending:
                return None
            change = self._pending.popleft()
            self._ready.notify_all()
            return change

    def _snapshot(self) -> C | None:
        try:
            return self._source.snapshot()
        except (ClosedError, UnknownViewError):
            self._closed = True
            return None

    def _deliver(self, callback: Callable[[C], object]) -> None:
        try:
            for change in self:
                callback(change)
        except BaseException as error:
            self.error = error
            _LOG.exception("A subscription ended: its callback raised.")
            self.close()

    def _wake(self) -> None:
        self._ready.notify_all()
        for waker in self._wakers:
            waker()
        self._wakers.clear()


def subscribed(
    feed: Feed,
    source: Source[Any],
    callback: Callable[[Any], object],
    *,
    initial: bool,
    slow: Slow,
    buffer: int,
) -> Subscription[Any]:
    """A subscription that calls back."""
    since = None if initial else NOW
    made: Subscription[Any] = Subscription(feed, source, since=since, slow=slow, buffer=buffer)
    made.call(callback)
    return made
