"""The packages of requirements.txt, which ./setup test puts into .venv-data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / f".venv-data/lib/python3.{sys.version_info[1]}/site-packages"
VOCAB = SITE / "dashscope/resources/qwen.tiktoken"


def need(*names: str) -> None:
    """Skips the file, with the reason, when a package is missing."""
    if str(SITE) not in sys.path:
        sys.path.insert(0, str(SITE))
    for name in names:
        pytest.importorskip(name, reason=f"{name} is not in .venv-data: ./setup test installs it")
    if not VOCAB.exists():
        pytest.skip(f"no {VOCAB.relative_to(ROOT)}: ./setup test installs it",
                    allow_module_level=True)
