"""What we may refuse although DuckDB has it, each with the reason. Everything else that only we refuse is a failure.

Most stand as minimal cases in `tests/sql/slt/failing`; a line goes when its case behaves.
"""

from __future__ import annotations

import re

REASONS: dict[str, str] = {
    r"DISTINCT ON expressions must match initial ORDER BY": "DISTINCT ON wants its expressions in the order of ORDER BY",
    r"QUALIFY clause requires window functions": "QUALIFY wants a window function of its own",
    r"does not support logical expression ScalarSubquery": "a scalar subquery at the left of IN",
    r"Column '\w+' is ambiguous": "a column that USING merges, inside an expression",
    r"HAVING clause references": "HAVING without GROUP BY and without aggregates",
    r"planning failed unexpectedly: index out of bounds": "DISTINCT ON with more columns than its table has",
    r"duplicate unqualified field name": "two aggregates that differ in a cast alone",
    r"GROUPING SETS inside a correlated subquery": "a subquery with GROUPING SETS that reads the query around it",
    r"Projections require unique expression names": "two expressions that differ in a cast alone",
    r"a column of an outer query is read where there is none": "a subquery over the groups of the query around",
}


def allowed(message: str) -> bool:
    """Whether a refusal is listed."""
    return any(re.search(pattern, message) for pattern in REASONS)
