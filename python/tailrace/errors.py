"""What can go wrong, as classes: all derive from `Error`, and from the built-in parent that fits.

The engine's errors come from the native module. The ones defined here arise before the engine is asked:
while a lambda is traced, or where something is asked for that this version does not have. Every message
names what was given and what would have been accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ._tailrace import (
    ClosedError,
    ColumnError,
    DuplicateKeyError,
    Error,
    EvaluationError,
    InternalError,
    IterationLimitError,
    KeyNotFoundError,
    MergeConflictError,
    NotNullError,
    PlanError,
    SchemaError,
    SqlError,
    TypeMismatchError,
    UdfError,
    UnknownTableError,
    UnknownViewError,
    WeightOverflowError,
)

if TYPE_CHECKING:
    from .verification import Verification

__all__ = [
    "ClosedError",
    "ColumnError",
    "DuplicateKeyError",
    "Error",
    "EvaluationError",
    "InternalError",
    "IterationLimitError",
    "KeyNotFoundError",
    "MergeConflictError",
    "MissingColumnError",
    "NotNullError",
    "PlanError",
    "SchemaError",
    "SqlError",
    "TracingError",
    "TypeMismatchError",
    "UdfError",
    "UnknownTableError",
    "UnknownViewError",
    "UnsupportedError",
    "VerificationError",
    "WeightOverflowError",
]


class TracingError(Error, TypeError):
    """A lambda did with a symbolic value what only a real value can do, such as `if` or `and`."""


class MissingColumnError(ColumnError, AttributeError):
    """A lambda or a caller named a column that the row class does not have."""


class UnsupportedError(Error, NotImplementedError):
    """Something that this version does not offer."""


class VerificationError(Error, AssertionError):
    """A view is not what its query gives; `verifications` tells where."""

    def __init__(self, verifications: list[Verification]) -> None:
        super().__init__("\n".join(str(found) for found in verifications))
        self.verifications = verifications


def missing_column(name: str, owner: str, columns: Iterable[str]) -> MissingColumnError:
    """Say which columns there are, and which one was probably meant."""
    known = list(columns)
    return MissingColumnError(
        f"Column {name!r} is not found in {owner}. {did_you_mean(name, known)}Existing columns: {listed(known)}."
    )


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """`Did you mean 'price'? `, or nothing where no choice is near."""
    import difflib  # noqa: PLC0415 (costs import time, and is needed on errors alone)

    near = difflib.get_close_matches(name, list(choices), n=1)
    return f"Did you mean {near[0]!r}? " if near else ""


def listed(names: Iterable[str]) -> str:
    """`a, b, c`, or `none`."""
    return ", ".join(names) or "none"
