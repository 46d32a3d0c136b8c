"""Tables as HTML, for notebooks: the first rows, and how many there are."""

from __future__ import annotations

from html import escape
from typing import Any

_SHOWN = 20


def table_html(table: Any) -> str:
    """A small HTML table of an Arrow table."""
    shown = table.slice(0, _SHOWN)
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.column_names)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in shown.to_pylist())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{_rest(table.num_rows)}"


def _cells(row: dict[str, object]) -> str:
    return "".join(f"<td>{'' if value is None else escape(str(value))}</td>" for value in row.values())


def _rest(rows: int) -> str:
    return f"<p>{_SHOWN} of {rows:,} rows</p>" if rows > _SHOWN else ""
