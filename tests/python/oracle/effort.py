"""How much the random tests draw and have drawn: the Python half of `tests/random.rs`.

`TAILRACE_RANDOM_FACTOR` multiplies the number of examples; steps go to the file that `TAILRACE_STEPS` names.
"""

from __future__ import annotations

import os
from pathlib import Path


def examples(usual: int) -> int:
    """The number of examples of a test that draws `usual` ones in `make test`."""
    return usual * int(os.environ.get("TAILRACE_RANDOM_FACTOR", "1"))


def count_steps(steps: int) -> None:
    """Note that random steps were taken and each was compared with a reference."""
    ledger = os.environ.get("TAILRACE_STEPS")
    if ledger:
        with Path(ledger).open("a") as file:
            file.write(f"{steps}\n")
