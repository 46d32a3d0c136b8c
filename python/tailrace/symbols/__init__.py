"""Symbolic values: what a traced lambda works with instead of real ones.

A lambda is called once. Its row holds a `Symbol` per column; operators and methods of a symbol do not
compute but write down an expression, which the engine then evaluates over whole columns. Each Python type
has its own symbol class with the methods of that type under their Python names, so that a program which
satisfies the type checker also traces.

Promises: what cannot be traced (`if`, `and`, `in`, `len`, iteration) raises an error that names what to
write instead; an optional value can do nothing before `tr.some`, `tr.coalesce` or `tr.is_null` has dealt
with its NULL, just as the checker says. Without that rule `x * 2 if x is not None else 0` would satisfy the
checker and be traced wrongly.
"""

from .base import Scope, Symbol, as_symbol, call, column, literal
from .nested import MaybeRow, is_symbolic, plain, symbolic_row, symbolic_value
from .number import NumberSymbol
from .temporal import DateSymbol, DatetimeSymbol, TimedeltaSymbol, TimeSymbol
from .text import BytesSymbol, StrSymbol

__all__ = [
    "BytesSymbol",
    "DateSymbol",
    "DatetimeSymbol",
    "MaybeRow",
    "NumberSymbol",
    "Scope",
    "StrSymbol",
    "Symbol",
    "TimeSymbol",
    "TimedeltaSymbol",
    "as_symbol",
    "call",
    "column",
    "is_symbolic",
    "literal",
    "plain",
    "symbolic_row",
    "symbolic_value",
]
