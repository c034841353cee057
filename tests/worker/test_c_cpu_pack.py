"""The c-cpu pack: its seeds compute what their tasks ask for, its messages are what
is really said, and its probe tells the truth."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "packs" / "c-cpu"
sys.path[:0] = [str(ROOT / "worker"), str(PACK)]

import c_cpu  # noqa: E402
from compiler import native_compiler  # noqa: E402
from native_run import Recorder, Runner, load  # noqa: E402
from recorder import native_record  # noqa: E402

SEEDS = sorted(p.name for p in (PACK / "seeds").iterdir())
HINTS = json.loads((PACK / "errors.json").read_text())["hints"]
EXPECT = json.loads((PACK / "selftest" / "expect.json").read_text())


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """What is recorded is executed at once."""
    runner = Runner(lambda request: native_compiler.compile_libraries(request, c_cpu.TOOLCHAIN))
    monkeypatch.setattr(native_record, "_current", lambda: runner)
    return runner


def rms(x: torch.Tensor) -> float:
    return x.double().pow(2).mean().sqrt().item()


def assert_as_good_as_eager(
    out: torch.Tensor, eager: torch.Tensor, truth: torch.Tensor
) -> None:
    """Slice by slice: no further from the fp64 result than four times the eager
    fp32 result is, or than 1e-6."""
    assert out.shape == truth.shape and out.dtype == torch.float32 and out.is_contiguous()
    for x, e, t in zip(out, eager, truth):
        scale = max(rms(t), 0.01 * rms(truth))
        assert rms(x - t) / scale <= max(4 * rms(e - t) / scale, 1e-6)
    torch.testing.assert_close(out, eager, rtol=1e-4, atol=1e-4)


# ---- seeds ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_computes_what_its_task_asks_for(
    name: str, seed: int, recorder: Recorder
) -> None:
    task = load(PACK / "seeds" / name / "task.py")
    solution = load(PACK / "seeds" / name / "solution.py")
    torch.manual_seed(seed)
    model = task.Model(*task.get_init_inputs())
    torch.manual_seed(seed)
    candidate = solution.ModelNew(*task.get_init_inputs())
    inputs = task.get_inputs()
    if seed % 2:
        inputs = [6 * x - 3 for x in inputs]
    before = [x.clone() for x in inputs]
    with torch.no_grad():
        out = candidate(*inputs)
        eager = model(*inputs)
        truth = model.double()(*(x.double() for x in inputs))
    assert_as_good_as_eager(out, eager, truth)
    assert len(recorder.nodes) == 1
    assert all(torch.equal(x, y) for x, y in zip(inputs, before))
    assert {k: v.shape for k, v in candidate.state_dict().items()} == {
        k: v.shape for k, v in model.state_dict().items()
    }


@pytest.mark.parametrize(
    "m, k, n",
    [(1, 1, 1), (4, 8, 4), (3, 5, 7), (70, 131, 300), (2, 0, 3), (0, 4, 4), (5, 64, 513)],
)
def test_the_matmul_seed_takes_any_shape(m: int, k: int, n: int) -> None:
    model = load(PACK / "seeds" / "01_matmul" / "solution.py").ModelNew()
    a, b = torch.randn(k, m).t(), torch.randn(k, n)
    out = model(a, b)
    torch.testing.assert_close(out.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows, cols", [(1, 1), (3, 7), (2, 8), (5, 9), (1, 4097), (0, 5)])
def test_the_softmax_seed_takes_any_shape_and_any_size_of_number(rows: int, cols: int) -> None:
    model = load(PACK / "seeds" / "02_softmax" / "solution.py").ModelNew()
    for scale in (1.0, 1e4):
        x = torch.randn(rows, cols) * scale
        torch.testing.assert_close(model(x), torch.softmax(x, 1), rtol=1e-5, atol=1e-7)
    if cols > 1 and rows:
        x[0, 1] = float("-inf")
        torch.testing.assert_close(model(x), torch.softmax(x, 1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 4])
@pytest.mark.parametrize("kernel, size", [(1, (5, 6)), (3, (3, 11)), (5, (9, 5)), ((2, 4), (7, 8))])
def test_the_conv_seed_takes_any_shape(
    stride: int, padding: int, kernel: int | tuple[int, int], size: tuple[int, int]
) -> None:
    solution = load(PACK / "seeds" / "03_conv2d" / "solution.py")
    model = solution.ModelNew(3, 6, kernel, stride, padding)
    x = torch.randn(2, 3, *size)
    with torch.no_grad():
        torch.testing.assert_close(model(x), model.conv(x), rtol=1e-5, atol=1e-5)
        model.conv.bias = None
        torch.testing.assert_close(model(x), model.conv(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_is_complete_and_says_where_it_was_verified(name: str) -> None:
    folder = PACK / "seeds" / name
    meta = json.loads((folder / "meta.json").read_text())
    assert set(meta) == {"origin", "licence", "dtype", "shapes", "verified", "verified_on", "rules"}
    assert meta["verified"] is True and meta["dtype"] == "fp32" and meta["licence"] == "MIT"
    task = load(folder / "task.py")
    assert meta["shapes"] == ["x".join(map(str, x.shape)) for x in task.get_inputs()]
    assert (folder / "plan.md").read_text().strip()


def test_the_pack_lists_its_seeds() -> None:
    pack = json.loads((PACK / "pack.json").read_text())
    assert pack["prompt"]["seed_order"] == SEEDS


VERIFY = ROOT / "tests" / "verify"
HONEST = (VERIFY / "honest-c-cpu.list").read_text().split("\n")


@pytest.mark.parametrize("pair", [line for line in HONEST if line])
def test_honest_styles_are_recorded_and_right(pair: str) -> None:
    task, solution = (load(VERIFY / name) for name in pair.split())
    torch.manual_seed(0)
    model = task.Model(*task.get_init_inputs())
    torch.manual_seed(0)
    candidate = solution.ModelNew(*task.get_init_inputs())
    inputs = task.get_inputs()
    with torch.no_grad():
        torch.testing.assert_close(candidate(*inputs), model(*inputs), rtol=1e-4, atol=1e-4)


# ---- examples in the documents --------------------------------------------------


def test_the_example_of_the_card_runs(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (PACK / "card.md").read_text(), re.DOTALL)
    (tmp_path / "card.py").write_text(code)
    x = torch.randn(3, 50)
    out = load(tmp_path / "card.py").ModelNew()(x.t())
    torch.testing.assert_close(out, torch.nn.functional.gelu(x.t()))


def test_the_card_says_what_the_helper_does() -> None:
    card = (PACK / "card.md").read_text()
    [compiled_with] = re.findall(r"\*\*Compiled with\*\* `([^`]*)`", card)
    assert set(compiled_with.split()) <= set(c_cpu.TOOLCHAIN.flags)
    for flag in ("-ffast-math", "-march=native", "-fopenmp"):
        assert flag not in c_cpu.TOOLCHAIN.flags


def test_the_guide_has_the_papers_sections_and_no_bullets() -> None:
    guide = (PACK / "guide.md").read_text()
    assert re.findall(r"^#+ (.*)", guide, re.MULTILINE) == [
        "C on the CPU: Abstraction and Programming Model",
        "Core Philosophy",
        "Thinking in C",
        "Recognizing Patterns",
    ]
    assert not re.search(r"^\s*(?:[-*+•]|\d+[.)])\s", guide, re.MULTILINE)


# ---- rules and hints ------------------------------------------------------------


def test_every_hint_has_a_message_and_is_the_first_to_match_it() -> None:
    seen = set()
    for name, wanted in EXPECT["errors"].items():
        text = (PACK / "selftest" / "errors" / name).read_text()
        first = next(h["id"] for h in HINTS if re.search(h["pcre"], text, re.MULTILINE))
        assert (name, first) == (name, wanted)
        seen.add(first)
    assert seen == {h["id"] for h in HINTS}
    assert {p.name for p in (PACK / "selftest" / "errors").iterdir()} == EXPECT["errors"].keys()


@pytest.mark.parametrize("name", sorted(EXPECT["good"]))
def test_good_selftests_really_run(name: str) -> None:
    x = torch.randn(4, 9)
    assert torch.equal(load(PACK / "selftest" / "good" / name).ModelNew()(x), x.clamp(min=0))


# ---- probe ----------------------------------------------------------------------


def probe(environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "probe.py"],
        cwd=PACK,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_probe_says_run_where_there_is_a_compiler_and_checks_where_not() -> None:
    assert re.fullmatch(r"run: .*torch.*\n", probe({}))
    assert re.fullmatch(r"checks: .*'cc' is not on PATH.*\n", probe({"PATH": ""}))
