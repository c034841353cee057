"""Records and compiles the seeds of a pack without a GPU, as recorder and lane do it.

python seed_compile.py PACK PRECISION SEED…   prints a line of JSON for each seed:
{"seed", "launches": names, "bytes": size of what the lane made} or {"seed", "error"}
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
PACK, PRECISION, *SEEDS = sys.argv[1:]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / PACK)]
DTYPE = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[PRECISION]
torch.set_num_threads(1)

from judge import traces  # noqa: E402
from recorder import recorder  # noqa: E402

FAMILY = json.loads((ROOT / "packs" / PACK / "pack.json").read_text())["run"]["family"]
plans = importlib.import_module(f"judge.{FAMILY}_plan")
adapter = importlib.import_module("adapter")


def cast(x: torch.Tensor) -> torch.Tensor:
    return x.to(DTYPE) if x.is_floating_point() else x


def told(x: torch.Tensor) -> dict:
    return {"tensor": [list(x.shape), str(x.dtype)[6:], list(x.stride())]}


def buffer(kind: str, key: Any, x: torch.Tensor) -> traces.Buffer:
    return traces.Buffer(kind, key, x.untyped_storage().nbytes(), str(x.dtype)[6:])


def recorded(message: dict) -> bytes:
    """In a process of its own: recording patches torch and the language."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer")
        pid = os.fork()
        if pid == 0:
            try:
                adapter.child("record")
                adapter.install(recorder.current)
                answer.write_bytes(b"ok" + recorder.record(message, folder))
            except BaseException as problem:  # noqa: BLE001 - it is told
                answer.write_bytes(f"no{type(problem).__name__}: {problem}".encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        status, data = answer.read_bytes()[:2], answer.read_bytes()[2:]
    if status != b"ok":
        raise RuntimeError(data.decode())
    return data


def compiled(seed: Path) -> dict:
    space: dict[str, Any] = {}
    exec((seed / "task.py").read_text(), space)  # noqa: S102 - ours
    inputs = [cast(x) for x in space["get_inputs"]()]
    model = space["Model"](*space["get_init_inputs"]()).to(DTYPE)
    named = [("parameter", *n) for n in model.named_parameters()]
    named += [("buffer", *n) for n in model.named_buffers()]
    source = (seed / "solution.py").read_text()
    data = recorded({
        "source": source, "init_source": (seed / "task.py").read_text(), "init_seed": 1,
        "unsettled": False, "precision": PRECISION, "claims": adapter.claims(), "gpu": None,
        "inputs": [told(x) for x in inputs],
        "state": [[name, list(x.shape), str(x.dtype)[6:]] for _, name, x in named],
    })  # fmt: skip
    trace = traces.parse(data, [buffer("input", i, x) for i, x in enumerate(inputs)],
                         {name: buffer("state", name, x) for _, name, x in named})  # fmt: skip
    plans.check(trace)
    request = plans.requests(trace) | {"source": source, "kernels": trace.kernels,
                                       "texts": trace.texts, "target": "sm_90",
                                       "device": "cuda"}  # fmt: skip
    made = adapter.compile(json.loads(json.dumps(request)))
    plans.Built.parse(made, trace)
    names = [plans.name(trace, n) for n in trace.steady.launches()]
    return {"launches": names, "bytes": len(made)}


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = os.environ["TILELANG_CACHE_DIR"] = cache
        adapter.child("record")
        for name in SEEDS:
            try:
                found = compiled(ROOT / "packs" / PACK / "seeds" / name)
            except Exception as problem:  # noqa: BLE001 - it is told
                found = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps({"seed": name} | found), flush=True)


main()
