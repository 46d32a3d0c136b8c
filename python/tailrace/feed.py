"""The feed of a database: who wants to hear of its steps, and what came of them lately.

Promises: a subscription hears of every step once and in order, or is told to begin anew with a snapshot; a step is heard of by all
subscriptions together; hearing costs the writer an append, whatever the listener does with it; who listens to a view that a step did not
change, or to values of its parameters that the step did not touch, costs the step nothing.

Why it holds: steps and snapshots go through one lock, so that a snapshot stands between two steps. Nobody waits while holding it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from ._tailrace import Step
    from .subscription import Subscription

_KEPT_STEPS: Final = 1024
Topic: TypeAlias = int | tuple[int, bytes]
"""What a listener listens to: the number of a view, or that and the key of a value of its parameters."""
NOW: Final = -1
"""Instead of a version: whatever it is."""


class Feed:
    """Takes steps in order and hands them on."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        # By what they listen to; None for those that listen to all.
        self._listeners: dict[Topic | None, list[Subscription[Any]]] = {}
        # How many listen to values of a view's parameters.
        self._valued: Counter[int] = Counter()
        self._blocking: list[Subscription[Any]] = []
        self._kept: deque[Step] = deque(maxlen=_KEPT_STEPS)
        self._recording = False
        self._version = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a step and its publication. Slow listeners that block the writer do so before the step, not in it."""
        for subscription in tuple(self._blocking):
            subscription.wait_for_room()
        with self.lock:
            yield

    def publish(self, step: Step) -> None:
        """Hand a step on; the lock is held."""
        if not self._recording:
            return
        if step.version != self._version + 1:
            self.skip_to(step.version)
        else:
            self._kept.append(step)
            self._version = step.version
            for subscription in self._concerned(step):
                subscription.offer(step)

    def skip_to(self, version: int) -> None:
        """Steps were applied that nobody saw, by a text that failed behind them: all begin anew."""
        if self._recording and version != self._version:
            self._kept.clear()
            self._version = version
            for subscription in self._all():
                subscription.begin_anew()

    def join(self, subscription: Subscription[Any], version: int, since: int | None) -> None:
        """Add a listener that knows what was there at `since`; the lock is held. One that knows too little begins with a snapshot."""
        if not self._recording:
            self._recording, self._version = True, version
        self._listeners.setdefault(subscription.view, []).append(subscription)
        if isinstance(subscription.view, tuple):
            self._valued[subscription.view[0]] += 1
        if subscription.blocks:
            self._blocking.append(subscription)
        since = version if since == NOW else since
        if since is None or since > version or not self._reaches(since):
            subscription.begin_anew()
        else:
            for step in self._kept:
                if step.version > since:
                    subscription.offer(step)

    def leave(self, subscription: Subscription[Any]) -> None:
        """Remove a listener."""
        with self.lock:
            listeners = self._listeners.get(subscription.view, [])
            if subscription in listeners:
                listeners.remove(subscription)
                if isinstance(subscription.view, tuple):
                    self._valued[subscription.view[0]] -= 1
            if not listeners:
                self._listeners.pop(subscription.view, None)
            if subscription in self._blocking:
                self._blocking.remove(subscription)

    def dropped(self, views: Collection[int]) -> None:
        """Views are gone: who listens to one gets what is left and ends."""
        for subscription in self._all():
            view = subscription.view
            if (view[0] if isinstance(view, tuple) else view) in views:
                subscription.close()

    def close(self) -> None:
        """The database is closed: listeners get what is left and end."""
        for subscription in self._all():
            subscription.close()

    def _all(self) -> list[Subscription[Any]]:
        return [subscription for listeners in tuple(self._listeners.values()) for subscription in listeners]

    def _concerned(self, step: Step) -> list[Subscription[Any]]:
        """Who listens to all views, or to one that the step changed."""
        listeners = self._listeners
        concerned = list(listeners.get(None, ()))
        if len(listeners) > (None in listeners):
            for name in step.views:
                number = step.view_id(name)
                concerned.extend(listeners.get(number, ()))
                if number is not None and self._valued[number]:
                    for key in step.touched(name):
                        concerned.extend(listeners.get((number, key), ()))
        return concerned

    def _reaches(self, since: int) -> bool:
        return since == self._version or (bool(self._kept) and self._kept[0].version <= since + 1)
