"""Text and bytes: the methods of `str` and `bytes` that the engine can compute.

Positions count characters from 0 and slices follow Python for constants. What Python defines by Unicode
tables that the engine lacks (`isalpha`, `casefold` and the like) is left out rather than done differently.
"""

from __future__ import annotations

from .._tailrace import Expr
from ..datatype import BOOL, BYTES, STR, list_type
from ..errors import TracingError
from .base import Symbol, as_symbol, binary, call, cast, int_call, make, merge, operation

_BLANKS = " \t\n\r\x0b\x0c"


class StrSymbol(Symbol, kinds=("str",)):
    """A str."""

    __slots__ = ()

    def upper(self) -> Symbol:
        """In capitals."""
        return call("upper", STR, self)

    def lower(self) -> Symbol:
        """In small letters."""
        return call("lower", STR, self)

    def title(self) -> Symbol:
        """Each word with a capital."""
        return call("initcap", STR, self)

    def capitalize(self) -> Symbol:
        """The first letter in capital, the rest small."""
        return call("upper", STR, self[:1]) + call("lower", STR, self[1:])

    def strip(self, chars: str | None = None) -> Symbol:
        """Without blanks (or `chars`) at both ends."""
        return call("btrim", STR, self, chars or _BLANKS)

    def lstrip(self, chars: str | None = None) -> Symbol:
        """Without blanks (or `chars`) at the start."""
        return call("ltrim", STR, self, chars or _BLANKS)

    def rstrip(self, chars: str | None = None) -> Symbol:
        """Without blanks (or `chars`) at the end."""
        return call("rtrim", STR, self, chars or _BLANKS)

    def startswith(self, prefix: object) -> Symbol:
        """Whether it begins with `prefix`."""
        return call("starts_with", BOOL, self, prefix)

    def endswith(self, suffix: object) -> Symbol:
        """Whether it ends with `suffix`."""
        return call("ends_with", BOOL, self, suffix)

    def removeprefix(self, prefix: str) -> Symbol:
        """Without `prefix`, where it begins with it."""
        return _choose(self.startswith(prefix), self[len(prefix) :], self)

    def removesuffix(self, suffix: str) -> Symbol:
        """Without `suffix`, where it ends with it."""
        kept = call("left", STR, self, text_length(self) - len(suffix))
        return _choose(self.endswith(suffix), kept, self)

    def replace(self, old: object, new: object, count: int = -1) -> Symbol:
        """With every `old` replaced by `new`."""
        if count != -1:
            raise TracingError(
                "`str.replace` with a count cannot be traced; without it all occurrences are replaced."
            )
        return call("replace", STR, self, old, new)

    def find(self, part: object) -> Symbol:
        """The first position of `part`, or -1."""
        return int_call("strpos", self, part) - 1

    def count(self, part: str) -> Symbol:
        """How often `part` occurs."""
        if not part:
            raise TracingError("`str.count` of an empty string cannot be traced.")
        return (text_length(self) - text_length(self.replace(part, ""))) // len(part)

    def split(self, separator: str) -> Symbol:
        """The pieces between separators, as a list."""
        pieces = call("string_to_array", list_type(STR), self, separator)
        # Python splits an empty text into one empty piece, SQL into none.
        return _choose(self == "", as_symbol([""]), pieces)

    def zfill(self, width: int) -> Symbol:
        """Filled with zeros on the left up to `width`; a sign is not looked at."""
        return self.rjust(width, "0")

    def rjust(self, width: int, fill: str = " ") -> Symbol:
        """Filled on the left up to `width`."""
        return _choose(text_length(self) < width, call("lpad", STR, self, width, fill), self)

    def ljust(self, width: int, fill: str = " ") -> Symbol:
        """Filled on the right up to `width`."""
        return _choose(text_length(self) < width, call("rpad", STR, self, width, fill), self)

    def encode(self) -> Symbol:
        """The text as UTF-8 bytes."""
        return cast(self, BYTES)

    def __getitem__(self, item: int | slice) -> Symbol:
        if isinstance(item, int):
            return self._slice(item, 1 if item != -1 else None)
        if isinstance(item, slice) and item.step in (None, 1):
            return self._between(item.start or 0, item.stop)
        raise TracingError("Text is sliced by constants without a step, such as `x[2:5]`.")

    def _between(self, start: int, stop: int | None) -> Symbol:
        if stop is None:
            return self._slice(start, None)
        if start < 0 or stop < 0:
            raise TracingError(
                "A slice with an end counts from the start: `x[2:5]`; from the end write `x[-3:]`."
            )
        return self._slice(start, max(0, stop - start))

    def _slice(self, start: int, count: int | None) -> Symbol:
        first = call("right", STR, self, -start) if start < 0 else call("substr", STR, self, start + 1)
        return first if count is None else call("left", STR, first, count)


class BytesSymbol(Symbol, kinds=("bytes",)):
    """A bytes object."""

    __slots__ = ()

    def hex(self) -> Symbol:
        """Two digits per byte."""
        return call("encode", STR, self, "hex")

    def decode(self) -> Symbol:
        """UTF-8 bytes as text."""
        return cast(self, STR)


@operation("+", ("str", "str"))
def _concatenate(left: Symbol, right: Symbol) -> Symbol:
    return binary("||", left, right, STR)


@operation("*", ("str", "int"))
def _repeat(left: Symbol, right: Symbol) -> Symbol:
    return call("repeat", STR, left, right)


@operation("*", ("int", "str"))
def _repeat_reflected(left: Symbol, right: Symbol) -> Symbol:
    return _repeat(right, left)


def text_length(symbol: Symbol) -> Symbol:
    """How many characters."""
    return int_call("character_length", symbol)


def _choose(condition: Symbol, then: Symbol, otherwise: object) -> Symbol:
    other = as_symbol(otherwise)
    expr = Expr.case([(condition.expr, then.expr)], other.expr)
    return make(expr, then.type, merge((condition, then, other)))
