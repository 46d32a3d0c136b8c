"""Values as keys of dictionaries: equal to the engine, equal here.

The engine takes one NaN for another, and compares lists and structs by value; Python does neither in a dictionary.
"""

from __future__ import annotations

import math
from typing import Any

from .row import Row

_NAN = object()


def identity(value: Any) -> Any:
    """What stands for a value in a dictionary.

    >>> identity([1, float("nan")]) == identity([1, float("nan")])
    True
    """
    if isinstance(value, float) and math.isnan(value):
        return _NAN
    if isinstance(value, Row):
        value = value.__dict__
    if isinstance(value, dict):
        return tuple((name, identity(part)) for name, part in value.items())
    return tuple(identity(part) for part in value) if isinstance(value, list) else value
