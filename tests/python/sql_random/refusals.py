"""What we may refuse although DuckDB has it, each with the reason. Everything else that only we refuse is a failure.

Most stand as minimal cases in `tests/sql/slt/failing`; a line goes when its case behaves.
"""

from __future__ import annotations

import re

REASONS: dict[str, str] = {
    r"GROUPING SETS inside a correlated subquery": "a subquery with GROUPING SETS that reads the query around it",
}


def allowed(message: str) -> bool:
    """Whether a refusal is listed."""
    return any(re.search(pattern, message) for pattern in REASONS)
