"""What comparing a view with its query, computed anew from the tables, has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ._tailrace import Database as NativeDatabase
from .arrow import read_table

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN: Final = 20


@dataclass(frozen=True)
class Verification:
    """A view against its query.

    >>> bool(db.create_view("checked", bids.filter(lambda b: b.price > 1.0)).verify())
    True
    """

    view: str
    ok: bool
    rows: int
    """Rows of the query, each as often as it is there."""
    hash: str
    """The content hash of the query's rows."""
    kept_hash: str | None
    """The hash that was kept, if one was asked for before."""
    differing: int
    """How many different rows are too many or missing."""
    sample: pa.Table
    """Some of them; `_weight` is what is kept minus what should be."""
    damaged: list[str]
    """Operators whose state is not what it should be."""

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"View {self.view!r}: {self.rows} rows, as computed anew."
        parts = [f"{self.differing} rows differ from those of its query"] if self.differing else []
        if self.kept_hash not in (None, self.hash):
            parts.append(f"its hash is {self.kept_hash}, that of its query {self.hash}")
        parts.extend(f"the state of {operator} is damaged" for operator in self.damaged)
        shown = f": {self.sample.to_pylist()}" if self.differing else ""
        return f"View {self.view!r}: {'; '.join(parts)}{shown}"


def verified(native: NativeDatabase, view: str, view_id: int) -> Verification | None:
    """Compute a view anew and compare; None if it depends on when changes came."""
    found = native.verify(view, view_id)
    if found is None:
        return None
    ok, rows, content_hash, kept_hash, difference, damaged = found
    sample = read_table(difference).slice(0, _SHOWN)
    return Verification(view, ok, rows, content_hash, kept_hash, len(difference), sample, damaged)
