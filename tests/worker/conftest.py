"""What several files of tests share."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker"))  # judge, recorder, …


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that everybody can enter, candidates among them."""
    made = Path(tempfile.mkdtemp(prefix="worker-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)
