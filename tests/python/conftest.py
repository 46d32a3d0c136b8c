"""What the Python tests share: a database per test, and rows in a comparable form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tailrace as tr


@pytest.fixture
def db() -> Iterator[tr.Database]:
    """An empty database."""
    with tr.connect() as database:
        yield database


@pytest.fixture
def rows() -> Callable[[Any], Counter[tuple[Any, ...]]]:
    """The rows of a view or table as a bag of tuples."""
    return lambda source: Counter(tuple(row.values()) for row in source.snapshot().to_pylist())
