"""What the Python tests share: a database per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tailrace as tr


@pytest.fixture
def db() -> Iterator[tr.Database]:
    """An empty database."""
    with tr.connect() as database:
        yield database
