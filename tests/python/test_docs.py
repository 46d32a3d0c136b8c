"""The examples in docstrings are run: what a reader copies works."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

import tailrace as tr


class Bid(tr.Row):
    id: int = tr.key()
    auction: int
    price: float
    note: str | None


class Visit(tr.Row):
    id: int = tr.key()
    at: datetime


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(tr.__path__, "tailrace."):
        if not found.name.endswith(("__main__", "._tailrace")):
            yield importlib.import_module(found.name)
    yield tr


def _examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder()
    found = [test for module in _modules() for test in finder.find(module, module.__name__)]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", _examples(), ids=lambda example: example.name)
def test_an_example_runs(example: doctest.DocTest) -> None:
    with tr.connect() as db:
        example.globs.update(_names(db))
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        assert runner.run(example).failed == 0, example.name


def test_every_public_name_is_documented() -> None:
    silent = [
        name
        for name in tr.__all__
        if _needs_docs(getattr(tr, name)) and not inspect.getdoc(getattr(tr, name))
    ]
    assert silent == []


def _needs_docs(value: object) -> bool:
    native_error = isinstance(value, type) and issubclass(value, Exception)
    return (inspect.isclass(value) or inspect.isroutine(value)) and not native_error


def _names(db: tr.Database) -> dict[str, Any]:
    """What the examples take for granted: a table of two bids, and one of visits."""
    bids = db.table(Bid)
    db.insert(bids, {"id": [1, 2], "auction": [7, 7], "price": [20.0, 120.0], "note": ["hello", None]})
    visits = db.table(Visit)
    types = {"date": date, "datetime": datetime, "timedelta": timedelta, "Decimal": Decimal}
    return {"tr": tr, "db": db, "bids": bids, "visits": visits, **types}
