"""SQL behaviour as text: the runner of the `.slt` files under `tests/sql/slt`."""
