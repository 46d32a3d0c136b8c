"""The oracle: random typed programs over random changes, answered by Tailrace step by step and by DuckDB from scratch.

A program is one description that is written down twice, as a typed stream and as SQL (`expressions`, `operators`). All
its relations have the same four columns (`relations`), so that any operator fits onto any other. Changes are drawn
against a plain model of the tables (`changes`), and the model is what DuckDB loads (`answers`).
"""
