"""Patches: what changed inside of rows, for consumers that hold a view as a tree.

A row may hold its children as lists of structs, and these theirs. A patch says where (a path of keys, columns and fields) and what:
a row or child came, went, moved to another place in its list, or has other values in some columns. What did not change is not in it.

| path | leads to |
|---|---|
| `({"id": 7},)` | the row with that key |
| `({"id": 7}, "comments", {"id": 3})` | the element with that key in its list `comments` |
| `({"id": 7}, "address")` | its struct `address` |

Promise: the patches of a change, applied in order to the tree before it, give the tree after it. A list whose elements have no known
key, or one that holds a key twice, is replaced as a whole.
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .identity import identity
from .row import Row

Path: TypeAlias = "tuple[str | Mapping[str, Any], ...]"
"""Columns and fields by name, rows and elements by their key."""

ListKeys: TypeAlias = Mapping[tuple[str, ...], Sequence[str]]
"""For each list of structs, by the names that lead to it: the fields that tell its elements apart."""


@dataclass(frozen=True)
class InsertPatch:
    """A row or an element came; an element stands at `index` of its list."""

    path: Path
    value: dict[str, Any]
    index: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The patch as plain values, for JSON."""
        return {"op": "insert", "path": list(self.path), "value": self.value, "index": self.index}


@dataclass(frozen=True)
class UpdatePatch:
    """Some columns or fields have other values."""

    path: Path
    values: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The patch as plain values, for JSON."""
        return {"op": "update", "path": list(self.path), "values": self.values}


@dataclass(frozen=True)
class MovePatch:
    """An element left its place in its list and stands at `index` now."""

    path: Path
    index: int

    def as_dict(self) -> dict[str, Any]:
        """The patch as plain values, for JSON."""
        return {"op": "move", "path": list(self.path), "index": self.index}


@dataclass(frozen=True)
class DeletePatch:
    """A row or an element went."""

    path: Path

    def as_dict(self) -> dict[str, Any]:
        """The patch as plain values, for JSON."""
        return {"op": "delete", "path": list(self.path)}


Patch: TypeAlias = InsertPatch | UpdatePatch | MovePatch | DeletePatch


class Tree:
    """The rows of a view as nested dictionaries and lists, by key; made by `view.tree()` and kept up to date by patches.

    >>> tree = Tree([{"id": 1, "name": "a"}], ["id"])
    >>> tree.apply([UpdatePatch(({"id": 1},), {"name": "b"}), InsertPatch(({"id": 2},), {"id": 2, "name": "c"})])
    >>> tree.rows
    [{'id': 1, 'name': 'b'}, {'id': 2, 'name': 'c'}]
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], key: Sequence[str]) -> None:
        self.key = list(key)
        self._rows = {_key_of(row, self.key): dict(row) for row in rows}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, in no particular order."""
        return list(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: object) -> dict[str, Any]:
        """The row under a key: its value, or a tuple of values if the key has several columns."""
        parts = key if isinstance(key, tuple) and len(self.key) != 1 else (key,)
        return self._rows[tuple(identity(part) for part in parts)]

    def apply(self, patches: Iterable[Patch]) -> None:
        """Apply patches in order."""
        for patch in patches:
            if len(patch.path) == 1 and isinstance(patch, (InsertPatch, DeletePatch)):
                self._root(patch)
            else:
                self._inner(patch)

    def _root(self, patch: InsertPatch | DeletePatch) -> None:
        key = _key_of(_mapping(patch.path[0]), self.key)
        if isinstance(patch, InsertPatch):
            self._rows[key] = copy.deepcopy(patch.value)
        else:
            del self._rows[key]

    def _inner(self, patch: Patch) -> None:
        if isinstance(patch, UpdatePatch):
            self._at(patch.path).update(copy.deepcopy(patch.values))
            return
        elements, key = self._at(patch.path[:-1]), _mapping(patch.path[-1])
        if isinstance(patch, InsertPatch):
            elements.insert(patch.index, copy.deepcopy(patch.value))
            return
        element = elements.pop(_place(elements, key))
        if isinstance(patch, MovePatch):
            elements.insert(patch.index, element)

    def _at(self, path: Path) -> Any:
        found: Any = self._rows[_key_of(_mapping(path[0]), self.key)]
        for step in path[1:]:
            found = found[step] if isinstance(step, str) else found[_place(found, step)]
        return found


def inserted(row: Row, key: Sequence[str]) -> InsertPatch:
    """The patch of a row that came."""
    value = plain_row(row)
    return InsertPatch(({name: value[name] for name in key},), value)


def deleted(row: Row, key: Sequence[str]) -> DeletePatch:
    """The patch of a row that went."""
    value = plain_row(row)
    return DeletePatch(({name: value[name] for name in key},))


def updated(old: Row, new: Row, key: Sequence[str], lists: ListKeys) -> Iterator[Patch]:
    """The patches that make one row into another of the same key."""
    before, after = plain_row(old), plain_row(new)
    path: Path = ({name: after[name] for name in key},)
    return _differences(before, after, path, (), lists)


def plain_row(value: Any) -> Any:
    """A row as dictionaries and lists."""
    if isinstance(value, Row):
        return {name: plain_row(value.__dict__[name]) for name in value.__tailrace__.names}
    if isinstance(value, dict):
        return {name: plain_row(part) for name, part in value.items()}
    return [plain_row(part) for part in value] if isinstance(value, list) else value


def _differences(
    old: dict[str, Any], new: dict[str, Any], path: Path, names: tuple[str, ...], lists: ListKeys
) -> Iterator[Patch]:
    """Own columns first, in one patch, then what is inside of them."""
    values: dict[str, Any] = {}
    inside: list[Patch] = []
    for name, value in new.items():
        before, below = old[name], (*names, name)
        if _same(before, value):
            continue
        if isinstance(value, dict) and isinstance(before, dict) and value.keys() == before.keys():
            inside.extend(_differences(before, value, (*path, name), below, lists))
        elif below in lists and _is_keyed(before, lists[below]) and _is_keyed(value, lists[below]):
            inside.extend(_list_differences(before, value, (*path, name), below, lists))
        else:
            values[name] = value
    if values:
        yield UpdatePatch(path, values)
    yield from inside


def _list_differences(
    old: list[Any], new: list[Any], path: Path, names: tuple[str, ...], lists: ListKeys
) -> Iterator[Patch]:
    """Elements go; others come or move, each behind the one before it in the new list; then what is inside of those that stay.

    As few as possible move: the most that keep their order rest. When an element comes or moves, all before it in the new list are in order
    already, with nothing between them but elements that move later; so its index is their number and that of those elements.
    """
    key = lists[names]
    before = {_key_of(element, key): element for element in old}
    after = {_key_of(element, key): element for element in new}

    def at(element: dict[str, Any]) -> Path:
        return (*path, {name: element[name] for name in key})

    yield from (DeletePatch(at(element)) for found, element in before.items() if found not in after)
    staying = (found for found in before if found in after)
    places = {found: place for place, found in enumerate(staying)}
    resting = _longest_rise([places[found] for found in after if found in places])
    # Those that are still to move stand among the ones that rest, by their old places.
    moving = [place for place in range(len(places)) if place not in resting]
    rested = -1
    for done, (found, element) in enumerate(after.items()):
        place = places.get(found)
        if place in resting:
            rested = place
            continue
        if place is not None:
            del moving[bisect_left(moving, place)]
        index = done + bisect_left(moving, rested)
        yield InsertPatch(at(element), element, index) if place is None else MovePatch(at(element), index)
    for found, element in after.items():
        if found in places and not _same(before[found], element):
            yield from _differences(before[found], element, at(element), names, lists)


def _longest_rise(places: list[int]) -> set[int]:
    """The most elements that keep their order: a longest increasing subsequence."""
    ends: list[int] = []
    ends_at: list[int] = []
    before: list[int] = []
    for at, place in enumerate(places):
        length = bisect_left(ends, place)
        ends[length:] = [place, *ends[length + 1 :]]
        ends_at[length:] = [at, *ends_at[length + 1 :]]
        before.append(ends_at[length - 1] if length else -1)
    found, at = set(), ends_at[-1] if ends_at else -1
    while at >= 0:
        found.add(places[at])
        at = before[at]
    return found


def _is_keyed(elements: Any, key: Sequence[str]) -> bool:
    """Whether the elements are structs that a key tells apart."""
    if not isinstance(elements, list):
        return False
    if not all(isinstance(element, dict) and element.keys() >= set(key) for element in elements):
        return False
    return len({_key_of(element, key) for element in elements}) == len(elements)


def _key_of(row: Mapping[str, Any], key: Sequence[str]) -> tuple[Any, ...]:
    return tuple(identity(row[name]) for name in key)


def _place(elements: list[dict[str, Any]], key: Mapping[str, Any]) -> int:
    wanted = _key_of(key, list(key))
    return next(place for place, element in enumerate(elements) if _key_of(element, list(key)) == wanted)


def _mapping(step: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(step, str):
        raise KeyError(f"The path has {step!r} where the key of a row should stand.")
    return step


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) or identity(left) == identity(right)
