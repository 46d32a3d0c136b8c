"""Random SQL against DuckDB: random tables, queries from a grammar of our own, and random changes.

`choices` draws, `kinds` and `schema` make tables, `scalars`, `conditions`, `sources`, `grouping`, `windows` and `queries` are the
grammar, `changes` moves the tables, `life` holds a view to DuckDB through all of it, `refusals` lists what may be refused.
"""
