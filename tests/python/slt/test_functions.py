"""Every function that `SHOW FUNCTIONS` names can be called from a view, or is refused there because it hangs on the time of the call."""

from __future__ import annotations

from itertools import product

import pytest

import tailrace as tr

VALUES = {
    "text": "'2024-01-05'",
    "number": "0.5",
    "integer": "i",
    "time": "m",
    "list": "[1, 2, 3]",
    "map": "MAP {'a': 1}",
    "struct": "{'a': 1}",
    "bytes": "'abc'::BLOB",
    "truth": "true",
    "span": "INTERVAL '1 day'",
}
"""Arguments to try, of every kind."""

SPECIAL = {
    "arrow_cast": "1, 'Int32'",
    "arrow_try_cast": "1, 'Int32'",
    "arrow_metadata": "i",
    "cast_to_type": "1, 2",
    "try_cast_to_type": "1, 2",
    "date_bin": "INTERVAL '1 hour', m, TIMESTAMP '2020-01-01'",
    "date_diff": "'day', m, m",
    "datediff": "'day', m, m",
    "date_sub": "'day', m, m",
    "datesub": "'day', m, m",
    "date_trunc": "'day', m",
    "datetrunc": "'day', m",
    "date_part": "'day', m",
    "datepart": "'day', m",
    "decode": "'YWI=', 'base64'",
    "encode": "'ab', 'hex'",
    "get_field": "{'a': 1}, 'a'",
    "struct_extract": "{'a': 1}, 'a'",
    "json": "'[1]'",
    "json_extract": "'[1]', '$'",
    "json_extract_path": "'[1]', '$'",
    "json_extract_path_text": "'[1]', '$'",
    "json_extract_string": "'[1]', '$'",
    "json_keys": "'{}'",
    "json_type": "'[1]'",
    "json_array_length": "'[1]'",
    "make_timestamp": "2024, 1, 2, 3, 4, 5.5",
    "make_date": "2024, 1, 2",
    "make_time": "1, 2, 3",
    "named_struct": "'a', 1",
    "struct_pack": "a := 1",
    "overlay": "'abc', 'x', 2",
    "strptime": "'2024-01-05', '%Y-%m-%d'",
    "to_timestamp": "'2024-01-05 00:00:00', '%Y-%m-%d %H:%M:%S'",
    "to_char": "m, '%Y'",
    "date_format": "m, '%Y'",
    "strftime": "m, '%Y'",
    "from_base64": "'YWI='",
    "unhex": "'ab'",
    "from_hex": "'ab'",
    "time_later": "TIME '01:00:00', INTERVAL '1 hour'",
    "date_at_time": "DATE '2024-01-01', TIME '01:00:00'",
    "array_resize": "[1], 2, 0",
    "list_resize": "[1], 2, 0",
    "array_replace_n": "[1], 1, 2, 1",
    "list_replace_n": "[1], 1, 2, 1",
    "array_remove_n": "[1], 1, 1",
    "list_remove_n": "[1], 1, 1",
    "array_replace": "[1], 1, 2",
    "list_replace": "[1], 1, 2",
    "array_replace_all": "[1], 1, 2",
    "list_replace_all": "[1], 1, 2",
    "union_extract": "",
    "union_tag": "",
    "with_metadata": "i, 'a', 'b'",
    "error": "NULL",
    "fail": "NULL",
    "flatten": "[[1], [2]]",
    "list_flatten": "[[1], [2]]",
    "quantile": "i, 0.5",
    "quantile_cont": "i, 0.5",
    "quantile_disc": "i, 0.5",
    "percentile_cont": "i, 0.5",
    "percentile_disc": "i, 0.5",
    "approx_quantile": "i, 0.5",
    "approx_percentile_cont": "i, 0.5",
    "to_date": "'2024-01-05'",
    "to_time": "'10:20:30'",
    "to_local_time": "m",
}
"""Arguments where no guess would do."""

VOLATILE = {
    "now", "current_timestamp", "current_date", "current_time", "today", "random", "rand", "uuid", "gen_random_uuid",
    "get_current_timestamp",
    "transaction_timestamp", "localtimestamp", "current_localtimestamp", "localtime", "version",
}  # fmt: skip
PLANNED_AWAY = {"union_extract", "union_tag", "grouping", "input_file_name", "file_row_index", "arrow_field"}
"""Functions of types or files that no table here has, and one that only GROUP BY has."""
WINDOWS = {
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value", "first_value", "last_value",
}  # fmt: skip


def database() -> tr.Database:
    db = tr.connect()
    db.execute(
        "CREATE TABLE t (i BIGINT, m TIMESTAMP); INSERT INTO t VALUES (1, TIMESTAMP '2024-01-05 10:20:30'), (NULL, NULL)"
    )
    return db


def candidates(name: str) -> list[str]:
    if name in SPECIAL:
        return [SPECIAL[name]]
    plain = list(VALUES.values())
    pairs = [", ".join(pair) for pair in product(plain, repeat=2)]
    triples = [", ".join(triple) for triple in product([*plain[:3], plain[4]], repeat=3)]
    return ["", *plain, *pairs, *triples]


def works(db: tr.Database, name: str) -> str:
    """How the function refuses every guess, or nothing if one works."""
    last = ""
    over = " OVER (ORDER BY i)" if name in WINDOWS else ""
    for args in candidates(name):
        call = f'"{name}"({args})' if name in {"left", "right"} else f"{name}({args})"
        try:
            db.execute(f"CREATE VIEW v AS SELECT {call}{over} AS x FROM t")
            db.execute("SELECT * FROM v").fetchall()
        except tr.Error as error:
            last = last or str(error)
            if "v" in db.views:
                db.execute("DROP VIEW v")
            continue
        db.execute(
            "INSERT INTO t VALUES (3, TIMESTAMP '2024-02-05 10:20:30'); DELETE FROM t WHERE i = 3; DROP VIEW v"
        )
        return ""
    return last


def test_every_function_can_be_called_from_a_view() -> None:
    db = database()
    names = [name for (name,) in db.execute("SHOW FUNCTIONS").fetchall()]
    assert len(names) > 300
    broken = {name: works(db, name) for name in names if name not in VOLATILE | PLANNED_AWAY}
    assert not {name: why for name, why in broken.items() if why}


@pytest.mark.parametrize("name", sorted(VOLATILE - {"version"}))
def test_what_hangs_on_the_time_of_the_call_is_refused_in_a_view(name: str) -> None:
    db = database()
    with pytest.raises(tr.Error, match="cannot be used in a view"):
        db.execute(f"CREATE VIEW v AS SELECT {name}() AS x FROM t")
    assert len(db.execute(f"SELECT {name}() AS x FROM t").fetchall()) == 2
