"""Records and compiles the seeds of a pack without a GPU, as recorder and compiler do it.

python seed_compile.py PACK PRECISION[,PRECISION] SEED…   prints a line of JSON for each seed
(a folder, or a name in the pack) in each precision:
{"seed", "precision", "launches": names, "bytes": size of what the compiler made} or {"seed",
"precision", "error"}; where host functions launch kernels also "nodes", what the steady call
launches: [kernel, grid, block, cluster, shared bytes, [patches of each parameter]]
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
PACK, PRECISIONS, *SEEDS = sys.argv[1:]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / PACK)]
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
torch.set_num_threads(1)

from judge import launches, traces  # noqa: E402
from recorder import recorder  # noqa: E402
from shared import native, native_source  # noqa: E402
from shared.program import Pointer, TensorMap  # noqa: E402

FAMILY = json.loads((ROOT / "packs" / PACK / "pack.json").read_text())["run"]["family"]
OF_LAUNCHES = launches.FAMILIES[FAMILY]
adapter = importlib.import_module("adapter")


def cast(x: torch.Tensor, precision: str) -> torch.Tensor:
    return x.to(DTYPES[precision]) if x.is_floating_point() else x


def tensor_spec(x: torch.Tensor) -> dict:
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


def compiled(seed: Path, precision: str) -> dict:
    space: dict[str, Any] = {}
    exec((seed / "task.py").read_text(), space)  # noqa: S102 - ours
    inputs = [cast(x, precision) for x in space["get_inputs"]()]
    model = space["Model"](*space["get_init_inputs"]()).to(DTYPES[precision])
    named = [("parameter", *n) for n in model.named_parameters()]
    named += [("buffer", *n) for n in model.named_buffers()]
    source = (seed / "solution.py").read_text()
    data = recorded({
        "source": source, "init_source": (seed / "task.py").read_text(), "init_seed": 1,
        "unsettled": False, "precision": precision, "claims": adapter.claims(), "gpu": None,
        "inputs": [tensor_spec(x) for x in inputs],
        "state": [[name, list(x.shape), str(x.dtype)[6:]] for _, name, x in named],
    })  # fmt: skip
    trace = traces.parse_trace(traces.header(data), [buffer("input", i, x) for i, x in enumerate(inputs)],
                         {name: buffer("state", name, x) for _, name, x in named})  # fmt: skip
    launches.check_launches(trace, OF_LAUNCHES)
    request = launches.requests(trace, OF_LAUNCHES) | {"source": source, "kernels": trace.kernels,
                                       "texts": trace.texts, "target": "sm_90",
                                       "device": "cuda"}  # fmt: skip
    made = adapter.compile(json.loads(json.dumps(request)))
    built = launches.Built.parse(made, trace, OF_LAUNCHES)
    names = [launches.launch_name(trace, n) for n in trace.steady.launches()]
    more = {"nodes": nodes(trace, built)} if FAMILY == "hosted" else {}
    return {"launches": names, "bytes": len(made)} | more


def nodes(trace: traces.Trace, built: Any) -> list:
    """With addresses counted from the start of their buffer, whose number is in front."""
    found, maker = [], launches.Maker(built, OF_LAUNCHES, 0)
    places = [i << 40 for i in range(len(trace.steady.buffers))]
    for launch in trace.steady.launches():
        for node in maker.nodes(launch, trace.steady, places, 0):
            patches = [[[at, *patched(p)] for at, p in s.patches] for s in node.params]
            name = built.functions[node.function].name
            found.append([name, node.grid, node.block, node.cluster, node.shared, patches])
    return found


def patched(p: Pointer | TensorMap) -> list:
    start = [p.at >> 40, p.at & (1 << 40) - 1]
    if isinstance(p, Pointer):
        return start
    return [*start, p.dtype, p.shape, p.strides, p.box, p.swizzle]


def build_once() -> None:
    """One program for both precisions: every host function of the source can be called."""
    from compiler import hosted_compiler

    real, built = hosted_compiler._build_program, {}

    def build(source: str, functions: list, toolchain: Any) -> Any:
        if source in built:
            return built[source]
        found = native_source.functions(native.preprocess(source, toolchain), toolchain.language)
        kinds = {"float": "d", "bool": "b"}
        functions = [
            [name, "".join("p" if p.pointer or p.filled_in else kinds.get(p.type.kind, "i")
                           for p in f.parameters)]
            for name, f in found.items()
        ]  # fmt: skip
        built[source] = real(source, functions, toolchain)
        return built[source]

    hosted_compiler._build_program = build


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = os.environ["TILELANG_CACHE_DIR"] = cache
        adapter.child("record")
        if FAMILY == "hosted":
            build_once()
        for name in SEEDS:
            for precision in PRECISIONS.split(","):
                try:
                    found = compiled(ROOT / "packs" / PACK / "seeds" / name, precision)
                except Exception as problem:  # noqa: BLE001 - it is told
                    found = {"error": f"{type(problem).__name__}: {problem}"}
                print(json.dumps({"seed": name, "precision": precision} | found), flush=True)


main()
