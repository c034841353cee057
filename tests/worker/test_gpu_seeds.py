"""The seeds of packs that need a GPU to run, as far as a machine without one can tell: each
is recorded by the real recorder, its trace read by the judge, its kernels compiled for sm_90
by the compiler. What they compute is left to a GPU (make test-gpu)."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pack_packages import missing

ROOT = Path(__file__).resolve().parents[2]

# Both in make test-long: a precision takes minutes.
PRECISIONS = ["bf16", "fp32"] if os.environ.get("SEEDS") == "all" else ["bf16"]


def seeds_of(pack: str) -> list[str]:
    return sorted(p.name for p in (ROOT / "packs" / pack / "seeds").iterdir())


def compiled(pack: str, precision: str) -> dict[str, dict]:
    script = Path(__file__).with_name("seed_compile.py")
    argv = [sys.executable, "-B", script, pack, precision, *seeds_of(pack)]
    environment = os.environ | {"TILELANG_PRINT_ON_COMPILATION": "0"}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"seed"')]
    assert len(lines) == len(seeds_of(pack)), done.stderr[-2000:]
    return {line["seed"]: line for line in lines}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_seeds_of_gluon_are_recorded_and_compiled(precision: str) -> None:
    pytest.importorskip("triton")
    for seed, answer in compiled("gluon", precision).items():
        assert answer.get("launches"), (seed, answer)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
@pytest.mark.skipif(missing("tilelang") != "", reason=missing("tilelang"))
def test_the_seeds_of_tilelang_are_recorded_and_compiled() -> None:
    for seed, answer in compiled("tilelang", "bf16").items():
        assert answer.get("launches"), (seed, answer)


@pytest.mark.skipif(missing("tlx") != "", reason=missing("tlx"))
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_seeds_of_tlx_are_recorded_and_compiled(precision: str) -> None:
    for seed, answer in compiled("tlx", precision).items():
        assert answer.get("launches"), (seed, answer)


@pytest.mark.skipif(missing("cute-dsl") != "", reason=missing("cute-dsl"))
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_seeds_of_cute_dsl_are_recorded_and_compiled(precision: str) -> None:
    for seed, answer in compiled("cute-dsl", precision).items():
        assert answer.get("launches"), (seed, answer)
