"""Whether the packages of a pack are there: in .venv-PACK (./setup pack PACK), or in the
Python that runs the tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"tilelang": "tilelang", "tlx": "triton.language.extra.tlx", "cute-dsl": "cutlass"}


def missing(pack: str) -> str:
    """The reason for which a test is skipped; empty if they are there."""
    if list(ROOT.glob(f".venv-{pack}/lib/python3.*/site-packages/*")):
        return ""
    try:
        found = importlib.util.find_spec(MODULES[pack])
    except ModuleNotFoundError:
        found = None
    # A folder of that name, such as the pack's own, is found, too; it has no file.
    return "" if found and found.origin else f"the packages of {pack} are missing: ./setup pack {pack}"
