"""Where randomness comes from: one primitive, a number below a bound, and what is made of it.

Promises: the least number always stands for the simplest choice (the first option, no, none), so that Hypothesis, which makes numbers
smaller, makes queries smaller. The grammar knows nothing of Hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Decisions, each a number below a bound; names that no other part of the query has."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below
        self._names = 0

    def one(self, options: Sequence[T]) -> T:
        """One of the options; the first one is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """Yes in so many of a hundred cases."""
        return self.below(100) >= 100 - percent

    def between(self, least: int, most: int) -> int:
        """A number in a closed range."""
        return least + self.below(most - least + 1)

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """Several of the options, none twice, in a random order."""
        left = list(options)
        wanted = min(self.between(least, max(least, most)), len(left))
        return [left.pop(self.below(len(left))) for _ in range(wanted)]

    def name(self, prefix: str) -> str:
        """A new name."""
        self._names += 1
        return f"{prefix}{self._names}"
