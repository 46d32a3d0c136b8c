"""Text and collections: lengths, membership and patterns."""

from __future__ import annotations

from collections.abc import Sized

from ..datatype import BOOL, STR
from ..errors import TypeMismatchError
from ..symbols import Symbol, as_symbol, plain
from ..symbols.base import binary, call, int_call, require_some
from ..symbols.text import text_length


def length(value: Sized) -> int:
    """How many characters, bytes or elements; `len` must return an int at once and cannot be traced.

    >>> wordy = bids.filter(lambda b: tr.length(tr.some(b.note)) > 10)
    """
    symbol = as_symbol(value)
    require_some(symbol, "tr.length")
    match symbol.type.kind:
        case "str":
            return plain(text_length(symbol))
        case "bytes":
            return plain(int_call("octet_length", symbol))
        case "list" | "map":
            return plain(int_call("cardinality", symbol))
    raise TypeMismatchError(f"tr.length takes str, bytes, a list or a dict, not {symbol.type}: {symbol!r}.")


def contains(container: Sized, item: object) -> bool:
    """Whether a text has a part, or a list an element.

    >>> greeting = bids.filter(lambda b: tr.contains(tr.some(b.note), "hello"))
    """
    symbol = as_symbol(container)
    require_some(symbol, "tr.contains")
    match symbol.type.kind:
        case "str":
            return plain(call("contains", BOOL, symbol, item))
        case "list":
            return plain(call("array_has", BOOL, symbol, as_symbol(item, symbol.type.item)))
    raise TypeMismatchError(f"tr.contains takes str or a list, not {symbol.type}: {symbol!r}.")


def concat(*parts: str) -> str:
    """Texts one after the other, like `+`.

    >>> twice = bids.filter(lambda b: tr.concat(tr.some(b.note), "!") == "hello!")
    """
    symbols = [_text(part, "tr.concat") for part in parts]
    found = symbols[0]
    for symbol in symbols[1:]:
        found = binary("||", found, symbol, STR)
    return plain(found)


def like(value: str, pattern: str) -> bool:
    """Whether a text fits an SQL pattern: `%` is any text, `_` any one character.

    >>> greeting = bids.filter(lambda b: tr.like(tr.some(b.note), "hello%"))
    """
    return plain(binary("like", _text(value, "tr.like"), _text(pattern, "tr.like"), BOOL))


def ilike(value: str, pattern: str) -> bool:
    """Like `like`, with capitals and small letters as equal."""
    return plain(binary("ilike", _text(value, "tr.ilike"), _text(pattern, "tr.ilike"), BOOL))


def regex_matches(value: str, pattern: str) -> bool:
    """Whether a regular expression is found anywhere in a text.

    >>> numbers = bids.filter(lambda b: tr.regex_matches(tr.some(b.note), "^[0-9]+$"))
    """
    return plain(call("regexp_like", BOOL, _text(value, "tr.regex_matches"), pattern))


def regex_replace(value: str, pattern: str, replacement: str) -> str:
    """A text with every match replaced.

    >>> clean = bids.filter(lambda b: tr.regex_replace(tr.some(b.note), "[0-9]", "") == "")
    """
    return plain(call("regexp_replace", STR, _text(value, "tr.regex_replace"), pattern, replacement, "g"))


def _text(value: object, place: str) -> Symbol:
    symbol = as_symbol(value)
    require_some(symbol, place)
    if symbol.type.kind != "str":
        raise TypeMismatchError(f"{place} takes str, not {symbol.type}: {symbol!r}.")
    return symbol
