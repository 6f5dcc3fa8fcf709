"""Only ``kernel/draw.py`` holds counts and noise together: no other module that can see a count draws anything."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import hushtable as ht
from hushtable.privacy import sampler

KERNEL = Path(ht.__file__).parent / "kernel"
DRAWS = {
    name
    for name, value in vars(sampler).items()
    if inspect.isfunction(value) and value.__module__ == sampler.__name__ and not name.startswith("_")
} | {"segments"}
"""The samplers, and what a law of noise makes ready with them."""
WARM = "warm.py"
"""Draws too, from made-up words and about no count, so that loops are compiled before a charge."""


def names_of(source: str) -> set[str]:
    """Every name that a module imports or looks up."""
    tree = ast.walk(ast.parse(source))
    found: set[str] = set()
    for node in tree:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found


def test_no_other_module_of_the_kernel_names_a_sampler() -> None:
    assert {"gaussian_segments", "segments", "exponential_mechanism", "bernoulli"} <= DRAWS
    for path in sorted(KERNEL.rglob("*.py")):
        drawn = names_of(path.read_text()) & DRAWS
        assert bool(drawn) == (path.name in ("draw.py", WARM)), (path.name, drawn)
    warm = names_of((KERNEL / WARM).read_text())
    assert not warm & {"Counter", "Confidential", "tabulate", "tally"}, "what warms up sees no count"
    assert names_of("from hushtable.privacy import bernoulli as coin") & DRAWS
