"""Streams under a key, so that a join is between keys of one type and a checker sees it.

`a.index_by(f).join(b.index_by(g), h)` is `a.join(b, f, g, ...)` with the key handed to the output; the
engine builds the same operator for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from .row import Row

if TYPE_CHECKING:
    from .stream import Stream

K = TypeVar("K")
T = TypeVar("T", bound=Row)
U = TypeVar("U", bound=Row)
R = TypeVar("R", bound=Row)


class Indexed(Generic[K, T]):
    """Rows of class `T` under keys of type `K`; made by `Stream.index_by`."""

    def __init__(self, stream: Stream[T], key: Callable[[T], K]) -> None:
        self.stream = stream
        self.key = key

    def join(self, other: Indexed[K, R], output: Callable[[K, T, R], U]) -> Stream[U]:
        """Pairs of rows with equal keys.

        >>> class Pair(tr.Row):
        ...     auction: int
        ...     bid: int
        ...     other: int
        >>> by_auction = bids.index_by(lambda b: b.auction)
        >>> pairs = by_auction.join(by_auction, lambda k, a, b: Pair(auction=k, bid=a.id, other=b.id))
        """
        return self.stream.join(other.stream, self.key, other.key, lambda a, b: output(self.key(a), a, b))

    def left_join(self, other: Indexed[K, R], output: Callable[[K, T, R | None], U]) -> Stream[U]:
        """Like `join`; a row of the left side without partner comes with None."""
        return self.stream.left_join(
            other.stream, self.key, other.key, lambda a, b: output(self.key(a), a, b)
        )

    def semi_join(self, other: Indexed[K, R]) -> Stream[T]:
        """The rows whose key the other side has."""
        return self.stream.semi_join(other.stream, self.key, other.key)

    def anti_join(self, other: Indexed[K, R]) -> Stream[T]:
        """The rows whose key the other side does not have."""
        return self.stream.anti_join(other.stream, self.key, other.key)
