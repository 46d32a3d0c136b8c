"""The functions of lambdas: what Python's own operators, methods and built-ins cannot say about a symbolic value.

Their signatures are in plain Python types, as the lambda's author sees them; at run time they take symbols
and constants and give symbols. NULL passes through all of them, as in SQL, unless the function is about
NULL.
"""

from .choice import between, coalesce, greatest, isin, least, nullif, when
from .conversion import call, cast, try_cast
from .maths import acos, asin, atan, cos, exp, ln, log2, log10, sign, sin, sqrt, tan
from .null import is_not_null, is_null, not_, some
from .text import concat, contains, ilike, length, like, regex_matches, regex_replace
from .time import TimeUnit, date_trunc

__all__ = [
    "TimeUnit",
    "acos",
    "asin",
    "atan",
    "between",
    "call",
    "cast",
    "coalesce",
    "concat",
    "contains",
    "cos",
    "date_trunc",
    "exp",
    "greatest",
    "ilike",
    "is_not_null",
    "is_null",
    "isin",
    "least",
    "length",
    "like",
    "ln",
    "log2",
    "log10",
    "not_",
    "nullif",
    "regex_matches",
    "regex_replace",
    "sign",
    "sin",
    "some",
    "sqrt",
    "tan",
    "try_cast",
    "when",
]
