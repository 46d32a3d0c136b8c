"""The inputs beside Nexmark: churn, a three-way join, a deep graph, two columns to sort, sales in regions.

Promises: equal for all engines and runs of one seed. Every change is an update of rows that exist, so the state keeps its
size however many steps are timed, and the last state can be compared among engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Edge: TypeAlias = tuple[int, int]

GROUPS = 10_000
CHANGED_ROWS = 1_500
CUSTOMERS = 100_000
PRODUCTS = 10_000
TWIG_EVERY = 20
TWIG_LENGTH = 5

_CHURN, _JOIN, _GRAPH, _SORT, _REGIONS = (
    101,
    102,
    103,
    104,
    105,
)  # keep the random streams of the workloads apart


@dataclass(frozen=True)
class Churn:
    """`rows` (id, group_key, value) and batches of replaced rows; each batch names an id once."""

    rows: pa.Table
    batches: list[pa.Table]


@dataclass(frozen=True)
class Star:
    """Orders with their customers and products, and one-row replacements of orders."""

    orders: pa.Table
    customers: pa.Table
    products: pa.Table
    changes: list[pa.Table]


@dataclass(frozen=True)
class Graph:
    """Directed chains with twigs; `cuts` are edges to take out and put back."""

    edges: pa.Table
    cuts: list[Edge]


def churn(rows: int, batches: int, changed: int = CHANGED_ROWS, seed: int = 1) -> Churn:
    """A table with `GROUPS` groups; every change has a new value, and one in ten moves to another group."""
    rng = np.random.default_rng((_CHURN, seed))
    group_key = rng.integers(0, GROUPS, rows)
    loaded = _churn_rows(rng, np.arange(rows), group_key)
    return Churn(loaded, list(_churn_batches(rng, group_key, batches, changed)))


def star(orders: int, changes: int, seed: int = 1) -> Star:
    """A fact table and two dimensions; each change gives one order another product and quantity."""
    rng = np.random.default_rng((_JOIN, seed))
    customers = pa.table({"id": np.arange(CUSTOMERS), "region": rng.integers(0, 50, CUSTOMERS)})
    products = pa.table({"id": np.arange(PRODUCTS), "price": rng.integers(1, 1000, PRODUCTS)})
    customer = rng.integers(0, CUSTOMERS, orders)
    changed = rng.integers(0, orders, changes)
    return Star(
        orders=_orders(rng, np.arange(orders), customer),
        customers=customers,
        products=products,
        changes=[_orders(rng, changed[i : i + 1], customer[changed[i : i + 1]]) for i in range(changes)],
    )


def graph(chains: int, depth: int, cuts: int, seed: int = 1) -> Graph:
    """Chains of `depth` nodes with a twig every `TWIG_EVERY` nodes; the last edge of random twigs is what changes.

    Such an edge is in as many pairs of the closure as its twig lies deep: the change is small, the recomputation is not.
    """
    step = depth + len(range(0, depth, TWIG_EVERY)) * TWIG_LENGTH
    trees = [_tree(chain * step, depth) for chain in range(chains)]
    twigs = [twig for _, grown in trees for twig in grown]
    edges = [edge for chain, grown in trees for edge in (*chain, *(edge for twig in grown for edge in twig))]
    rng = np.random.default_rng((_GRAPH, seed))
    ends = [twigs[i][-1] for i in rng.integers(0, len(twigs), cuts)]
    return Graph(pa.table({"src": [a for a, _ in edges], "dst": [b for _, b in edges]}), ends)


def two_columns(rows: int, seed: int = 1) -> pa.Table:
    """Random (key, value) pairs over the whole range of 64 bits."""
    rng = np.random.default_rng((_SORT, seed))
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    return pa.table({name: rng.integers(low, high, rows, endpoint=True) for name in ("key", "value")})


def regions(rows: int, count: int, seed: int = 1) -> pa.Table:
    """Sales (id, region, amount) in `count` regions, all of about one size."""
    rng = np.random.default_rng((_REGIONS, seed))
    ids = np.arange(rows)
    return pa.table({"id": ids, "region": ids % count, "amount": rng.integers(0, 1_000_000, rows)})


def region_changes(rows: pa.Table, region: int, changes: int, seed: int = 1) -> list[pa.Table]:
    """One sale of the region after the other gets another amount."""
    rng = np.random.default_rng((_REGIONS, seed, 1))
    own = rows.filter(pc.equal(rows["region"], region))
    amounts = rng.integers(0, 1_000_000, changes)
    picked = (own.slice(n % own.num_rows, 1) for n in range(changes))
    return [
        row.set_column(2, "amount", pa.array([amount])) for row, amount in zip(picked, amounts, strict=True)
    ]


def _churn_batches(
    rng: np.random.Generator, group_key: npt.NDArray[np.int64], batches: int, changed: int
) -> Iterator[pa.Table]:
    rows = len(group_key)
    for _ in range(batches):
        ids = rng.choice(rows, min(changed, rows), replace=False, shuffle=False)
        moved = rng.random(len(ids)) < 0.1
        group_key[ids] = np.where(moved, rng.integers(0, GROUPS, len(ids)), group_key[ids])
        yield _churn_rows(rng, ids, group_key[ids])


def _churn_rows(
    rng: np.random.Generator, ids: npt.NDArray[np.int64], group_key: npt.NDArray[np.int64]
) -> pa.Table:
    return pa.table({"id": ids, "group_key": group_key.copy(), "value": rng.integers(0, 1_000_000, len(ids))})


def _orders(
    rng: np.random.Generator, ids: npt.NDArray[np.int64], customer: npt.NDArray[np.int64]
) -> pa.Table:
    product = rng.integers(0, PRODUCTS, len(ids))
    quantity = rng.integers(1, 100, len(ids))
    return pa.table({"id": ids, "customer": customer, "product": product, "quantity": quantity})


def _tree(root: int, depth: int) -> tuple[list[Edge], list[list[Edge]]]:
    chain = [(node, node + 1) for node in range(root, root + depth - 1)]
    bases = range(root, root + depth, TWIG_EVERY)
    return chain, [_twig(at, root + depth + i * TWIG_LENGTH) for i, at in enumerate(bases)]


def _twig(at: int, first: int) -> list[Edge]:
    nodes = [at, *range(first, first + TWIG_LENGTH)]
    return list(pairwise(nodes))
