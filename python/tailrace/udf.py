"""User functions over Arrow arrays, used in lambdas like any other function.

The function sees whole columns (`pyarrow.Array`) and gives one array of the same length; in a lambda it is
called with the values of one row. `tr.Array[X]` says both: to the function it is an array, to the caller an
`X`.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ._tailrace import Expr
from .datatype import DataType, data_type
from .errors import PlanError, UdfError
from .symbols import as_symbol, symbolic_value
from .symbols.base import make, merge

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
V = TypeVar("V")

if TYPE_CHECKING:
    import pyarrow as pa

    class Array(pa.Array, Generic[V]):  # type: ignore[misc]
        """A `pyarrow.Array` whose elements are of type `V`."""

else:

    class Array(Generic[V]):
        """A `pyarrow.Array` whose elements are of type `V`; for annotations alone."""


@overload
def udf(function: Callable[[Array[A]], Array[V]], /) -> Callable[[A], V]: ...
@overload
def udf(function: Callable[[Array[A], Array[B]], Array[V]], /) -> Callable[[A, B], V]: ...
@overload
def udf(function: Callable[[Array[A], Array[B], Array[C]], Array[V]], /) -> Callable[[A, B, C], V]: ...
@overload
def udf(
    function: Callable[[Array[A], Array[B], Array[C], Array[D]], Array[V]], /
) -> Callable[[A, B, C, D], V]: ...
@overload
def udf(*, returns: type[V]) -> Callable[[Callable[..., object]], Callable[..., V]]: ...
def udf(function: Callable[..., Any] | None = None, /, *, returns: Any = None) -> Any:
    """Make a function over arrays usable in lambdas.

    >>> @tr.udf
    ... def doubled(price: tr.Array[float]) -> tr.Array[float]:
    ...     import pyarrow.compute as pc
    ...     return pc.multiply(price, 2)
    >>> dear = bids.filter(lambda b: doubled(b.price) > 100.0)

    Where the annotation cannot say it, give the type: `@tr.udf(returns=float)`. A result that may be NULL although no
    argument is says so: `tr.Array[float | None]`.
    """
    if function is None:
        return lambda found: _udf(found, data_type(returns, None, "tr.udf"))
    return _udf(function, _returned(function))


@dataclass(frozen=True)
class Udf:
    """What `@tr.udf` knows of a function, for those who call it by its name in SQL."""

    name: str
    over_arrays: Callable[..., object]
    takes: list[DataType | None]
    returns: DataType


def udf_of(function: object) -> Udf:
    """What is known of a function that `@tr.udf` made."""
    found = getattr(function, "__tailrace_udf__", None)
    if not isinstance(found, Udf):
        raise PlanError(
            f"{getattr(function, '__name__', function)!r} is no user function: decorate it with `@tr.udf`."
        )
    return found


def _udf(function: Callable[..., Any], returns: DataType) -> Callable[..., Any]:
    name = getattr(function, "__name__", "udf")
    over_arrays = _with_pyarrow(name, function)

    @functools.wraps(function)
    def call(*args: object) -> Any:
        symbols = [as_symbol(arg) for arg in args]
        if not symbols:
            raise PlanError(f"{name} is called without arguments: a user function takes at least one column.")
        expr = Expr.udf(
            name, over_arrays, [symbol.expr for symbol in symbols], returns.native, returns.nullable
        )
        return symbolic_value(make(expr, returns, merge(symbols)))

    call.__tailrace_udf__ = Udf(name, over_arrays, _taken(function), returns)  # type: ignore[attr-defined]
    return call


def _taken(function: Callable[..., Any]) -> list[DataType | None]:
    """The types of the arguments; None for one whose annotation does not say it."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        hints = {}

    def taken(name: str) -> DataType | None:
        found = hints.get(name)
        if typing.get_origin(found) is not Array:
            return None
        (item,) = typing.get_args(found)
        return data_type(item, None, f"the argument {name}")

    return [taken(name) for name in inspect.signature(function).parameters]


def _with_pyarrow(name: str, function: Callable[..., Any]) -> Callable[..., object]:
    def call(*arrays: object) -> object:
        import pyarrow as pa  # noqa: PLC0415 (costs more import time than all the rest)

        result = function(*(pa.array(array) for array in arrays))
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if not hasattr(result, "__arrow_c_array__"):
            raise UdfError(f"{name} must give an Arrow array, and gave {type(result).__name__}.")
        return result

    return call


def _returned(function: Callable[..., Any]) -> DataType:
    name = getattr(function, "__name__", "udf")
    try:
        found = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):
        found = None
    if found is None:
        raise PlanError(
            f"{name} must say what it gives: annotate it with `-> tr.Array[X]`, or use `@tr.udf(returns=X)`."
        )
    if typing.get_origin(found) is Array:
        (found,) = typing.get_args(found)
    return data_type(found, None, f"the result of {name}")
