"""The native module: thin newtypes over the Rust engine.

Everything here is plain and untyped in the row class; the typed API of the package stands on top of it. Data goes in as anything that
speaks the Arrow PyCapsule interface, or as Python rows, and comes out as objects with `__arrow_c_stream__`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import final

__version__: str

__all__ = [
    "Aggregate",
    "ArrowTable",
    "ClosedError",
    "ColumnError",
    "Database",
    "DuplicateKeyError",
    "Error",
    "EvaluationError",
    "Expr",
    "InternalError",
    "IterationLimitError",
    "KeyNotFoundError",
    "MergeConflictError",
    "NotNullError",
    "Plan",
    "PlanError",
    "SchemaError",
    "SqlError",
    "Step",
    "Type",
    "TypeMismatchError",
    "UdfError",
    "UnknownTableError",
    "UnknownViewError",
    "WeightOverflowError",
    "__version__",
    "bench_consolidate",
    "bench_merge",
]

class Error(Exception): ...
class SchemaError(Error, ValueError): ...
class ColumnError(SchemaError): ...
class TypeMismatchError(Error, TypeError): ...
class NotNullError(Error, ValueError): ...
class KeyNotFoundError(Error, KeyError): ...
class DuplicateKeyError(Error, ValueError): ...
class UnknownTableError(Error, KeyError): ...
class UnknownViewError(Error, KeyError): ...
class WeightOverflowError(Error, OverflowError): ...
class EvaluationError(Error, ArithmeticError): ...
class UdfError(Error): ...
class IterationLimitError(Error, RecursionError): ...
class PlanError(Error, ValueError): ...
class SqlError(PlanError): ...
class ClosedError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...
class MergeConflictError(Error, RuntimeError): ...

@final
class Type:
    """A column type. `Type.of` takes: bool, int8..int64, uint8..uint64, float32, float64, utf8, binary, date, time, duration, interval, null."""

    @staticmethod
    def of(name: str) -> Type: ...
    @staticmethod
    def decimal(precision: int, scale: int) -> Type: ...
    @staticmethod
    def timestamp(tz: str | None = None) -> Type: ...
    @staticmethod
    def fixed_size_binary(width: int) -> Type: ...
    @staticmethod
    def list(item: Type, nullable: bool = True) -> Type: ...
    @staticmethod
    def struct(fields: Sequence[tuple[str, Type, bool]]) -> Type: ...
    @staticmethod
    def map(key: Type, value: Type, nullable: bool = True) -> Type: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Expr:
    """A scalar expression over the columns of a plan. In a join, columns carry the relation "left" or "right"."""

    @staticmethod
    def column(name: str, relation: str | None = None) -> Expr: ...
    @staticmethod
    def literal(value: object, type: Type | None = None) -> Expr:
        """A constant: None, bool, int, float, str, bytes, Decimal, date, time, datetime, timedelta, UUID, list; `type` fixes its type."""
    @staticmethod
    def binary(op: str, left: Expr, right: Expr) -> Expr:
        """`op`: + - * / % = <> < <= > >= and or & | ^ << >> like ilike `is distinct from` `is not distinct from` ||."""
    @staticmethod
    def unary(op: str, operand: Expr) -> Expr:
        """`op`: not, -, is null, is not null."""
    @staticmethod
    def call(name: str, args: Sequence[Expr]) -> Expr:
        """Any scalar function of DataFusion by its SQL name, e.g. lower, substr, date_trunc, date_part, abs, round, coalesce."""
    @staticmethod
    def cast(operand: Expr, type: Type, on_error: str = "raise") -> Expr:
        """`on_error`: "raise" or "null"."""
    @staticmethod
    def case(branches: Sequence[tuple[Expr, Expr]], otherwise: Expr | None) -> Expr: ...
    @staticmethod
    def in_list(operand: Expr, values: Sequence[Expr], negated: bool = False) -> Expr: ...
    @staticmethod
    def udf(
        name: str, function: Callable[..., object], args: Sequence[Expr], returns: Type, nullable: bool = True
    ) -> Expr:
        """A Python function over Arrow arrays (objects with `__arrow_c_array__`), giving one array of the same length."""
    def __repr__(self) -> str: ...

@final
class Aggregate:
    """One aggregate call.

    `function`: count (no args: count(*)), sum, avg, min, max, var_samp, var_pop, stddev_samp, stddev_pop, covar_samp, covar_pop, corr, arg_min, arg_max (args: value, by),
    first, last (ordered by `order_by`), array_agg, string_agg (args: value, separator literal), bool_and, bool_or, bit_and, bit_or, bit_xor.
    """

    def __new__(
        cls,
        function: str,
        args: Sequence[Expr] = ...,
        *,
        distinct: bool = False,
        filter: Expr | None = None,
        order_by: Sequence[tuple[Expr, bool, bool]] = ...,
    ) -> Aggregate:
        """`order_by`: (expression, descending, nulls_first)."""

@final
class Plan:
    """A relational plan. Every method checks names and types at once and raises PlanError/ColumnError/TypeMismatchError that lists the choices."""

    @property
    def schema(self) -> list[tuple[str, Type, bool]]:
        """(name, type, nullable) of every column."""
    def type_of(self, expr: Expr) -> tuple[Type, bool]: ...
    def filter(self, predicate: Expr) -> Plan: ...
    def project(self, columns: Sequence[tuple[str, Expr]]) -> Plan: ...
    def unnest(self, column: str, output: str) -> Plan:
        """One row per element of the list column; `output` replaces it."""
    def aggregate(
        self, keys: Sequence[tuple[str, Expr]], aggregates: Sequence[tuple[str, Aggregate]]
    ) -> Plan:
        """With no keys: one global row, present also over no input rows, as in SQL."""
    def join(
        self,
        right: Plan,
        kind: str,
        left_keys: Sequence[Expr],
        right_keys: Sequence[Expr],
        residual: Expr | None,
        output: Sequence[tuple[str, Expr]],
    ) -> Plan:
        """`kind`: inner, left, right, full, semi, anti, cross. Keys are over the own side (no relation); residual and output use relations "left"/"right" (semi, anti: output over left only)."""
    def union_all(self, others: Sequence[Plan]) -> Plan: ...
    def minus(self, other: Plan) -> Plan:
        """Z-set difference."""
    def negate(self) -> Plan: ...
    def positive(self) -> Plan: ...
    def distinct(self) -> Plan: ...
    def top_k(
        self,
        partition: Sequence[Expr],
        order: Sequence[tuple[Expr, bool, bool]],
        k: int | None,
        offset: int = 0,
    ) -> Plan:
        """The k rows after `offset` of each partition. Ties are broken by the whole row."""
    def window(
        self,
        partition: Sequence[Expr],
        order: Sequence[tuple[Expr, bool, bool]],
        functions: Sequence[tuple[str, str, Sequence[Expr]]],
    ) -> Plan:
        """Adds columns (name, function, args): row_number, rank, dense_rank, lag(value, offset literal, default literal), lead."""
    def integrate(self) -> Plan: ...
    def differentiate(self) -> Plan: ...
    def delay(self) -> Plan: ...
    def map_rows(
        self, function: Callable[..., object], fields: Sequence[tuple[str, Type, bool]], flat: bool = False
    ) -> Plan:
        """A Python function called with a list of dicts (one per distinct row), giving a list of dicts (flat: a list of lists of dicts). Must be deterministic."""
    def inspect(self, function: Callable[[object], None]) -> Plan:
        """Calls `function` with the changes of each step (an object with `__arrow_c_stream__`, columns and `_weight`)."""
    @staticmethod
    def relation(fields: Sequence[tuple[str, Type, bool]]) -> Plan:
        """A recursive relation, to be used in the bodies that are given to `fixpoint`."""
    @staticmethod
    def fixpoint(name: str, relations: Sequence[tuple[Plan, Plan]], limit: int = 10_000) -> list[Plan]:
        """Mutually recursive relations (placeholder, body): each is the least fixed point of distinct(body). Returns one plan per relation."""
    def explain(self) -> str: ...

@final
class Step:
    """What one atomic step changed."""

    @property
    def version(self) -> int: ...
    @property
    def views(self) -> list[str]:
        """The views that changed."""
    def all_views(self) -> list[str]:
        """The views that there were, changed or not."""
    def view_id(self, view: str) -> int | None:
        """The number of the view that had this name; None if there was none."""
    def view_schema(self, view: str) -> list[tuple[str, Type, bool]]: ...
    def view_key(self, view: str) -> list[str] | None: ...
    def view_lists(self, view: str) -> list[tuple[list[str], list[str]]]: ...
    def delta(self, view: str) -> ArrowTable:
        """The consolidated changes: the view's columns and `_weight`."""
    def touched(self, view: str) -> list[bytes]:
        """The values of a view's parameters whose rows changed, by their `parameter_key`."""
    def delta_of(self, view: str, key: bytes) -> ArrowTable:
        """The consolidated changes of one value of its parameters, without these."""
    def rows(self, view: str) -> list[tuple[dict[str, object], int]]:
        """The same as Python rows with their weight."""

@final
class ArrowTable:
    """Record batches of one schema."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def plus(self, other: ArrowTable) -> ArrowTable:
        """The sum of two tables of weighted rows of one view: what cancels is gone."""
    def __len__(self) -> int: ...

@final
class Database:
    def __init__(self) -> None: ...
    @property
    def version(self) -> int: ...
    @property
    def definitions(self) -> int:
        """How many tables and views were made or dropped."""
    def create_table(
        self,
        name: str,
        fields: Sequence[tuple[str, Type, bool]],
        key: Sequence[str],
        defaults: Mapping[str, object],
    ) -> Plan:
        """`key` may be empty: then the table is a bag of rows. Creating an equal table again returns it; a different one is an error."""
    def table(self, name: str) -> Plan: ...
    def table_key(self, name: str) -> list[str]: ...
    def create_view(self, name: str, plan: Plan, key: Sequence[str] = ...) -> None: ...
    def create_view_sql(self, name: str, sql: str) -> None: ...
    def register_function(
        self,
        name: str,
        function: Callable[..., object],
        takes: Sequence[Type | None],
        returns: Type,
        nullable: bool,
    ) -> None:
        """Lets SQL call a Python function over Arrow arrays; an argument without a type is taken as it comes."""
    def execute(
        self, sql: str, params: Sequence[object]
    ) -> list[tuple[ArrowTable | None, tuple[int, Step] | None, str | None]]:
        """Per statement: its rows; or how many rows it changed and the step; or what it defined."""
    def explain_sql(self, sql: str) -> str: ...
    def table_schema(self, name: str) -> list[tuple[str, Type, bool]]: ...
    def drop_view(self, name: str) -> None: ...
    def drop_table(self, name: str) -> None: ...
    def tables(self) -> list[str]: ...
    def views(self) -> list[str]: ...
    def view_schema(self, name: str) -> list[tuple[str, Type, bool]]: ...
    def view_key(self, name: str) -> list[str] | None:
        """The columns that tell its rows apart: none of them if there is at most one row, None if they are not known."""
    def view_parameters(self, name: str) -> list[tuple[str, Type, bool]]: ...
    def view_columns(self, name: str) -> list[tuple[str, Type, bool]]:
        """The columns behind those of the parameters."""
    def ask(self, view: str, values: Sequence[object], released: Sequence[Sequence[object]]) -> Step | None:
        """Makes sure that the rows of these values are kept: a step, if they are not. Values in `released` have been asked for once less."""
    def parameter_key(self, view: str, values: Sequence[object]) -> bytes:
        """What stands for values in `Step.touched`."""
    def snapshot_of(self, view: str, values: Sequence[object], weighted: bool = False) -> ArrowTable: ...
    def view_lists(self, name: str) -> list[tuple[list[str], list[str]]]:
        """For each list of structs in its rows: the column and fields that lead to it, and the fields that tell its elements apart."""
    def apply(self, operations: Sequence[tuple[str, str, object]]) -> Step:
        """One atomic step of (operation, table, data).

        Operations: insert, upsert, update (key and some columns), delete (keys or whole rows), weighted (a column `_weight`). Data: anything with `__arrow_c_stream__` or
        `__arrow_c_array__`, a dict of columns, a list of dicts, or a list of objects with the columns as attributes; for delete also a list of keys (scalars or tuples).
        """
    def snapshot(self, view_or_table: str, weighted: bool = False, view_id: int | None = None) -> ArrowTable:
        """With `view_id` it must be the view of that number."""
    def view_id(self, name: str, view_id: int | None = None) -> int:
        """The number of a view, which no other one ever has; with `view_id` it must be that one."""
    def view_hash(self, name: str, view_id: int) -> str:
        """The content hash, 32 hexadecimal digits."""
    def verify(
        self, name: str, view_id: int
    ) -> tuple[bool, int, str, str | None, ArrowTable, list[str]] | None:
        """Whether all is well, rows, hash, kept hash, kept minus computed rows, damaged operators; None for a view that depends on when changes came."""
    def branch(self) -> Database: ...
    def merge(self, branch: Database, on_conflict: str) -> Step:
        """`on_conflict`: error, branch, parent."""
    def graph(self, format: str) -> str:
        """`format`: mermaid or dot."""
    def metrics(self) -> ArrowTable:
        """One row per operator: node, operator, label, rows_in, rows_out, seconds, state_rows, state_bytes, batches."""
    def explain(self, view: str) -> str: ...
    def close(self) -> None: ...

def bench_consolidate(rows: int) -> float:
    """Seconds to consolidate and index that many unsorted (i64, i64) rows, best of five."""

def bench_merge(rows: int) -> float:
    """Seconds to merge two indexed batches of that many (i64, i64) rows each, best of five."""
