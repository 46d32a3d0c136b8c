"""Tailrace keeps views up to date while their tables change, at a cost proportional to the change.

>>> class Sale(tr.Row):
...     id: int = tr.key()
...     city: str
...     amount: float
>>> class Revenue(tr.Row):
...     city: str = tr.key()
...     amount: float
>>> with tr.connect() as db:
...     sales = db.table(Sale)
...     revenue = db.create_view("revenue", sales.group_by(lambda s: s.city).aggregate(
...         lambda city, g: Revenue(city=city, amount=g.sum(lambda s: s.amount))))
...     changes = db.insert(sales, [Sale(id=1, city="Oslo", amount=5.0)])
...     changes[revenue].events
[Created(row=Revenue(city='Oslo', amount=5.0))]
"""

from ._tailrace import __version__
from .batch import Batch, TableRef
from .changes import Changes, Contents, Created, Deleted, Event, Updated, ViewChange
from .data import ArrowArray, ArrowStream, Data
from .database import Branch, Database, connect
from .datatype import TypeSpec, decimal, sized, timestamp
from .errors import (
    ClosedError,
    ColumnError,
    DuplicateKeyError,
    Error,
    EvaluationError,
    InternalError,
    IterationLimitError,
    KeyNotFoundError,
    MergeConflictError,
    MissingColumnError,
    NotNullError,
    PlanError,
    SchemaError,
    SqlError,
    TracingError,
    TypeMismatchError,
    UdfError,
    UnknownTableError,
    UnknownViewError,
    UnsupportedError,
    VerificationError,
    WeightOverflowError,
)
from .functions import (
    TimeUnit,
    acos,
    asin,
    atan,
    between,
    call,
    cast,
    coalesce,
    concat,
    contains,
    cos,
    date_trunc,
    exp,
    greatest,
    ilike,
    is_not_null,
    is_null,
    isin,
    least,
    length,
    like,
    ln,
    log2,
    log10,
    not_,
    nullif,
    regex_matches,
    regex_replace,
    sign,
    sin,
    some,
    sqrt,
    tan,
    try_cast,
    when,
)
from .group import Group
from .grouped import Grouped
from .indexed import Indexed
from .order import Order, asc, desc
from .patches import DeletePatch, InsertPatch, MovePatch, Patch, Tree, UpdatePatch
from .recursion import recursive
from .result import Result
from .row import Row, field, key, replace
from .stream import Stream
from .subscription import Subscription
from .table import Table
from .udf import Array, udf
from .verification import Verification
from .view import View
from .window import Over, Window

__all__ = [
    "Array",
    "ArrowArray",
    "ArrowStream",
    "Batch",
    "Branch",
    "Changes",
    "ClosedError",
    "ColumnError",
    "Contents",
    "Created",
    "Data",
    "Database",
    "DeletePatch",
    "Deleted",
    "DuplicateKeyError",
    "Error",
    "EvaluationError",
    "Event",
    "Group",
    "Grouped",
    "Indexed",
    "InsertPatch",
    "InternalError",
    "IterationLimitError",
    "KeyNotFoundError",
    "MergeConflictError",
    "MissingColumnError",
    "MovePatch",
    "NotNullError",
    "Order",
    "Over",
    "Patch",
    "PlanError",
    "Result",
    "Row",
    "SchemaError",
    "SqlError",
    "Stream",
    "Subscription",
    "Table",
    "TableRef",
    "TimeUnit",
    "TracingError",
    "Tree",
    "TypeMismatchError",
    "TypeSpec",
    "UdfError",
    "UnknownTableError",
    "UnknownViewError",
    "UnsupportedError",
    "UpdatePatch",
    "Updated",
    "Verification",
    "VerificationError",
    "View",
    "ViewChange",
    "WeightOverflowError",
    "Window",
    "__version__",
    "acos",
    "asc",
    "asin",
    "atan",
    "between",
    "call",
    "cast",
    "coalesce",
    "concat",
    "connect",
    "contains",
    "cos",
    "date_trunc",
    "decimal",
    "desc",
    "exp",
    "field",
    "greatest",
    "ilike",
    "is_not_null",
    "is_null",
    "isin",
    "key",
    "least",
    "length",
    "like",
    "ln",
    "log2",
    "log10",
    "not_",
    "nullif",
    "recursive",
    "regex_matches",
    "regex_replace",
    "replace",
    "sign",
    "sin",
    "sized",
    "some",
    "sqrt",
    "tan",
    "timestamp",
    "try_cast",
    "udf",
    "when",
]
