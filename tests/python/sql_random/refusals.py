"""What we may refuse although DuckDB has it, each with the reason. Everything else that only we refuse is a failure."""

from __future__ import annotations

import re

REASONS: dict[str, str] = {}


def allowed(message: str) -> bool:
    """Whether a refusal is listed."""
    return any(re.search(pattern, message) for pattern in REASONS)
