"""The Triton pack: its seeds keep their promise in every precision and for other shapes,
and its card says what the installed Triton has. The verifier runs fp32 on the CPU; here
the same kernels are interpreted in all precisions and compiled for sm_90."""
from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "packs" / "triton"
SEEDS = sorted(p.name for p in (PACK / "seeds").iterdir())
CARD = (PACK / "card.md").read_text()
pytest.importorskip("triton")

PRELUDE = f"""
import importlib.util, json, sys
import torch
torch.set_num_threads(1)
sys.path.append({str(Path(__file__).parent)!r})
def load(path):
    spec = importlib.util.spec_from_file_location("loaded", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def rms(x):
    return x.double().square().mean().sqrt().item()
def error(out, truth):
    return rms(out.double() - truth.double()) / rms(truth)
told = None
"""
INTERPRET = "import repairs\nrepairs.apply()\n"  # Triton's interpreter over real tensors


def run(code: str, cache: Path, **environment: str) -> object:
    """What `code` leaves in `told`, in a process of its own."""
    return forked.run(PACK, PRELUDE + code, TRITON_CACHE_DIR=str(cache), **environment)


IN_LOW_PRECISION = """
told = {}
for seed in seeds:
    task, solution = (load(f"{folder}/{seed}/{name}.py") for name in ("task", "solution"))
    told[seed] = {}
    for name in ("float16", "bfloat16"):
        dtype = getattr(torch, name)
        torch.manual_seed(3)
        model = task.Model(*task.get_init_inputs()).to(dtype)
        torch.manual_seed(3)
        candidate = solution.ModelNew(*task.get_init_inputs()).to(dtype)
        inputs = [x.to(dtype) for x in task.get_inputs()]
        with torch.no_grad():
            out = candidate(*inputs)
            truth = model.double()(*(x.double() for x in inputs))
        assert out.dtype == dtype
        told[seed][name] = error(out, truth)
"""
RECORD = """
import adapter, launching
held = [None]
adapter.install(lambda: held[0])
told = {}
for seed in seeds:
    task, solution = (load(f"{folder}/{seed}/{name}.py") for name in ("task", "solution"))
    told[seed] = []
    for name in ("float16", "bfloat16"):
        dtype = getattr(torch, name)
        held[0] = launching.Launches()
        with torch.no_grad():
            candidate = solution.ModelNew(*task.get_init_inputs()).to(dtype)
            candidate(*(x.to(dtype) for x in task.get_inputs()))
        told[seed].append(held[0].trace().decode())
"""
COMPILE = """
import adapter, traces, triton_plan
told = {}
for seed, recorded in json.load(open(f"{scratch}/traces")).items():
    source = open(f"{folder}/{seed}/solution.py").read()
    told[seed] = []
    for trace in recorded:
        trace = traces.parse(trace.encode(), [], {})
        triton_plan.check(trace)
        request = {"source": source, "kernels": trace.kernels, "texts": [], "target": "sm_90"}
        data = adapter.compile(triton_plan.requests(trace) | request)
        told[seed].append(len(triton_plan.Built.parse(data, trace).binaries))
"""
WORDS = f"folder = {str(PACK / 'seeds')!r}\nseeds = {SEEDS!r}\n"


@pytest.fixture(scope="module")
def low(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Each seed in fp16 and bf16: its errors, and how many binaries it is compiled to."""
    scratch = tmp_path_factory.mktemp("low")
    told = run(INTERPRET + WORDS + IN_LOW_PRECISION, scratch, TRITON_INTERPRET="1")
    (scratch / "traces").write_text(json.dumps(run(WORDS + RECORD, scratch)))
    compiled = run(WORDS + f"scratch = {str(scratch)!r}\n" + COMPILE, scratch)
    return {seed: {**told[seed], "binaries": compiled[seed]} for seed in SEEDS}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_is_right_and_compiles_in_low_precision(low: dict, seed: str) -> None:
    assert low[seed]["float16"] <= 1e-3
    assert low[seed]["bfloat16"] <= 8e-3
    assert all(low[seed]["binaries"])


OTHER_SHAPES = """
import torch.nn.functional as F
seeds = {name[:2]: load(f"{folder}/{name}/solution.py") for name in seeds}
torch.manual_seed(5)
told = {}
with torch.no_grad():
    x, skip = torch.randn(2, 3, 1, 5), torch.randn(2, 3, 5, 1).transpose(2, 3)
    m = seeds["01"].ModelNew(3)
    told["mish"] = error(m(x * 9, skip), F.mish(x * 9 * m.scale + skip))
    m = seeds["02"].ModelNew(7, 3, 0.1)
    x = torch.randn(7, 2).t()
    told["linear"] = error(m(x), (F.gelu(m.linear(x)) * m.scale).clamp(max=0.1))
    for columns in (1, 5, 1024, 2049):
        x = torch.randn(3, columns) * 50
        told[f"softmax {columns}"] = error(seeds["03"].ModelNew(2.0)(x), torch.softmax(x / 2, -1))
    m = seeds["04"].ModelNew(1, 6)
    x = torch.randn(2, 6, 19, 20) + 100
    told["group norm"] = error(m(x), F.silu(m.norm.double()(x.double())))
    for kernel, stride, padding in ((1, 1, 0), (5, 3, 4), (2, 2, 0)):
        m = seeds["05"].ModelNew(3, 33, kernel, stride, padding)
        x = torch.randn(1, 3, 9, 5)
        told[f"conv {kernel}"] = error(m(x), F.silu(m.conv(x)))
    for kernel, stride, padding in ((1, 1, 0), (4, 3, 2)):
        x = torch.randn(2, 2, 7, 11) - 5
        own = F.max_pool2d(x, kernel, stride, padding) - F.avg_pool2d(x, kernel, stride, padding)
        out = seeds["06"].ModelNew(kernel, stride, padding)(x)
        told[f"pool {kernel}"] = error(out + 1, own + 1)
    for dim in (0, 1, 2, -1):
        x = torch.randn(2, 70, 5000 if dim == -1 else 3)
        count = torch.ones_like(x).cumsum(dim)
        told[f"running mean {dim}"] = error(seeds["07"].ModelNew(dim)(x), x.cumsum(dim) / count)
    x, z = torch.randn(3, 5000) * 30, torch.rand(3, 5000)
    told["loss"] = error(seeds["08"].ModelNew()(x, z), F.binary_cross_entropy_with_logits(x, z))
"""


def test_the_seeds_take_other_shapes(tmp_path: Path) -> None:
    told = run(INTERPRET + WORDS + OTHER_SHAPES, tmp_path, TRITON_INTERPRET="1")
    assert len(told) == 17
    assert {name: e for name, e in told.items() if not e <= 2e-6} == {}


# ---- the card -------------------------------------------------------------------


def test_the_example_of_the_card_runs(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", CARD, re.DOTALL)
    (tmp_path / "card.py").write_text(code)
    told = run(
        INTERPRET + f"m = load({str(tmp_path / 'card.py')!r}).ModelNew(50)\n"
        "x = torch.randn(50, 30).t()\n"
        "told = torch.equal(m(x), torch.relu(x + m.bias))\n",
        tmp_path,
        TRITON_INTERPRET="1",
    )
    assert told is True


def test_the_signatures_of_the_card_are_those_of_the_language() -> None:
    import triton.language as tl

    [block] = re.findall(r"```text\n(.*?)```", CARD, re.DOTALL)
    calls = re.findall(r"tl\.(\w+)\(([^)]*)\)", block)
    assert len(calls) > 50
    for name, told in calls:
        function = getattr(tl, name)
        function = getattr(function, "fn", function)
        real = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
        words = [word.strip() for word in told.split(",")]
        optional = iter(real)
        for word in words:
            own, _, default = word.lstrip("*").partition("=")
            p = next((p for p in optional if p.name == own), None)
            assert p is not None, f"tl.{name} has no {own} there"
            assert not default or str(p.default) == default, f"tl.{name}: {word}"
        needed = [p.name for p in real if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
        assert set(needed) <= {word.lstrip("*").partition("=")[0] for word in words}, name


@pytest.mark.parametrize("name", ["tanh", "pow", "round", "log1p", "expm1"])
def test_what_the_card_says_does_not_exist_does_not(name: str) -> None:
    import triton.language as tl

    assert not hasattr(tl, name) and name in CARD
