"""The Python half of the benchmarks: Tailrace and its peers over the same data in the same run.

Start it with `python -m harness` from `benches/`; `benches/README.md` says what is measured and how to read it.
"""
