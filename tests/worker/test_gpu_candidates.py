"""The candidates of tests/verify/gpu.list, as far as they can be tried without a GPU:
the CUDA ones are built for real, the Gluon ones compiled for sm_90 with the arguments
their own forward passes."""
from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "cuda")]

import cuda_build  # noqa: E402
from judge import launches  # noqa: E402
from compiler import native_compiler  # noqa: E402
from native_run import Recorder, request  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native  # noqa: E402

LINES = [
    line.split()
    for line in (ROOT / "tests" / "verify" / "gpu.list").read_text().splitlines()
    if line and not line.startswith("#")
]
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def of(pack: str) -> list[tuple[str, str]]:
    return [(task, candidate) for name, task, candidate in LINES if name == pack]


def load(path: str) -> ModuleType:
    name = Path(path).stem + "_of_" + Path(path).parent.name.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def model_and_inputs(task: str, candidate: str, dtype: torch.dtype) -> tuple[Any, list]:
    """As the verifier makes them, and with the state it compares."""
    source = load(task)
    arguments = source.get_init_inputs()
    model = load(candidate).ModelNew(*arguments)
    reference = source.Model(*arguments)
    assert {k: v.shape for k, v in model.state_dict().items()} == {
        k: v.shape for k, v in reference.state_dict().items()
    }
    return model.to(dtype), [x.to(dtype) for x in source.get_inputs()]


def test_every_family_of_the_gpus_own_test_can_be_asked_for(tmp_path: Path) -> None:
    """On a machine without a GPU: its candidates are there, its jobs can be written."""
    path = ROOT / "tests" / "gpu" / "run.py"
    spec = importlib.util.spec_from_file_location("gpu_run", path)
    gpu_run = importlib.util.module_from_spec(spec)
    sys.modules["gpu_run"] = gpu_run
    spec.loader.exec_module(gpu_run)
    (tmp_path / "level3").mkdir()
    for number in (43, 44, 50):
        (tmp_path / "level3" / f"{number}_Attention.py").write_text("")
    given = {"device": "cuda:0", "out": None, "match": "", "precision": None}
    run = gpu_run.Run(argparse.Namespace(**given, kernelbench=str(tmp_path)))
    used: set[str] = set()

    def session(jobs: list, children: int = 4) -> None:
        for job in jobs:
            assert job.frame().startswith(b"monkeys/1 job ")
            used.add(str(getattr(job, "candidate", "")))
        raise StopIteration

    run.session = session
    run.elsewhere = lambda: {"device": 1 << 40}  # it asks for a GPU
    for family in ("packs", "seeds", "starter", "timing", "faults", "hostile", "rules", "causal", "gate"):
        with pytest.raises(StopIteration):
            getattr(run, family)()
    assert {entry.text() for entry in gpu_run.OWN.values()} <= used
    own = {entry.base for entry in gpu_run.OWN.values()} | {gpu_run.CANDIDATES / "causal.py"}
    assert set(gpu_run.CANDIDATES.glob("*.py")) <= own


def test_every_candidate_is_listed_once_with_a_task() -> None:
    listed = sorted(candidate for _, _, candidate in LINES)
    folders = ("cuda", "gluon")
    found = [p for f in folders for p in (ROOT / "tests" / "verify" / f).glob("*.py")]
    assert listed == sorted(str(p.relative_to(ROOT)) for p in found)
    for pack, task, candidate in LINES:
        assert Path(candidate).parts[:3] == ("tests", "verify", pack)
        assert (ROOT / task).is_file()


# ---- CUDA C++ -------------------------------------------------------------------


class OnCuda(torch.Tensor):
    """In the CPU's memory, whatever it says; what is made like it says so, too."""

    device = torch.device("cuda:0")

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is torch.empty_like:
            return torch.empty(args[0].shape, dtype=args[0].dtype).as_subclass(cls)
        return super().__torch_function__(function, types, args, kwargs or {})


@pytest.mark.parametrize("task, candidate", of("cuda"))
def test_a_cuda_candidate_builds_and_passes_what_its_functions_want(
    task: str, candidate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call is accepted and compiles; what it does is left to a machine with a GPU."""
    try:
        cuda_build.toolchain("sm_90")
    except native.ToolchainError as error:
        pytest.skip(f"nothing can be compiled: {error}")
    recorder = Recorder()
    monkeypatch.setattr(native_record, "_current", lambda: recorder)
    empty = torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda *a, device=None, **k: empty(*a, **k).as_subclass(OnCuda)
    )
    model, inputs = model_and_inputs(task, candidate, torch.float32)
    for name, value in list(model.named_parameters()):
        del model._parameters[name]
        setattr(model, name, value.detach().as_subclass(OnCuda))
    out = model(*(x.as_subclass(OnCuda) for x in inputs))
    assert out.shape == load(task).Model(*load(task).get_init_inputs())(*inputs).shape
    trace = recorder.trace()
    launches.check_launches(trace, launches.FAMILIES["cuda"])
    assert len(trace.steady.launches()) == 1
    asked = request(trace, "cuda")
    data = native_compiler.compile_cubins(asked, cuda_build.toolchain(asked["target"]))
    assert launches.Built.parse(data, trace, launches.FAMILIES["cuda"]).modules


# ---- Gluon ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("task, candidate", of("gluon"))
def test_a_gluon_candidate_compiles_for_hopper(
    task: str,
    candidate: str,
    dtype: torch.dtype,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource
    from triton.runtime.jit import KernelInterface, mangle_type

    launches: list[tuple[Any, tuple, dict]] = []

    def take(kernel: Any, grid: tuple) -> Any:
        assert all(isinstance(n, int) and n > 0 for n in grid)
        return lambda *args, **kwargs: launches.append((kernel, args, kwargs))

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(KernelInterface, "__getitem__", take)
    model, inputs = model_and_inputs(task, candidate, dtype)
    model(*inputs)
    [(kernel, args, kwargs)] = launches
    values = dict(zip(kernel.arg_names, args))
    values |= {k: v for k, v in kwargs.items() if k in kernel.arg_names}
    assert set(values) == set(kernel.arg_names)
    constants = {p.name: values[p.name] for p in kernel.params if p.is_constexpr}
    signature = {
        name: "constexpr" if name in constants else mangle_type(value)
        for name, value in values.items()
    }
    source = GluonASTSource(kernel, signature, constants)
    options = {"num_warps": kwargs["num_warps"]}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    if kernel.__name__ == "matmul_kernel":
        assert ("mma.sync" in made.asm["ptx"]) == (dtype != torch.float32)
