"""The Triton pack: its seeds keep their promise in low precision and for other shapes,
and its card says what the installed Triton has. The judge's own generators run here, so
each is recorded, interpreted and compiled for sm_90 (small_loop.py); on the CPU a user gets
fp32 alone."""
from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest
from judge.steps import Ask
from small_loop import Loop, said, verify
from task_text import task

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "packs" / "triton"
SEEDS = sorted(p.name for p in (PACK / "seeds").iterdir())
# All precisions and shapes in make test-long; otherwise every second seed has one precision, in
# turns (test_seeds.py has all of them in fp32), and seeds have one shape of each kind.
ALL = os.environ.get("SEEDS") == "all"
PRECISIONS = ("fp16", "bf16")
LOW = [
    (name, precision)
    for i, name in enumerate(SEEDS)
    for precision in (PRECISIONS if ALL else PRECISIONS[i // 2 % 2 :][: 1 - i % 2])
]
CARD = (PACK / "card.md").read_text()
E3 = ("correct", None, "E3")
pytest.importorskip("triton")


def seed(name: str) -> tuple[str, str]:
    """Task and solution of the seed whose name begins so."""
    [folder] = [PACK / "seeds" / s for s in SEEDS if s.startswith(name)]
    return (folder / "task.py").read_text(), (folder / "solution.py").read_text()


@pytest.mark.parametrize("name, precision", LOW)
def test_a_seed_is_right_and_compiles_in_low_precision(name: str, precision: str) -> None:
    loop = Loop()
    record = verify(*seed(name), precision=precision, loop=loop)
    assert said(record) == E3, record["feedback"]
    [asked] = [s.message["request"] for s in loop.asked
               if isinstance(s, Ask) and s.message["op"] == "compile"]  # fmt: skip
    tensors = {a["t"][1] for launch in asked["launches"] for a in launch["args"].values()
               if isinstance(a, dict) and "t" in a}  # fmt: skip
    assert {"fp16": "float16", "bf16": "bfloat16"}[precision] in tensors


def some(first: object, *rest: object) -> tuple:
    return (first, *rest) if ALL else (first,)


OTHER_SHAPES = [
    ("01", "[3]", "[torch.randn(2, 3, 1, 5) * 9, torch.randn(2, 3, 5, 1).transpose(2, 3)]"),
    ("02", "[7, 3, 0.1]", "[torch.randn(7, 2).t()]"),
    *(("03", "[2.0]", f"[torch.randn(3, {columns}) * 50]") for columns in some(2049, 5, 1024)),
    ("04", "[1, 6]", "[torch.randn(2, 6, 19, 20) + 100]"),
    *(("05", f"[3, 33, {window}]", "[torch.randn(1, 3, 9, 5)]")
      for window in some("5, 3, 4", "1, 1, 0", "2, 2, 0")),
    ("06", "[4, 3, 2]", "[torch.randn(2, 2, 7, 11) - 5]"),
    *(("07", f"[{dim}]", "[torch.randn(2, 70, 3)]") for dim in some(1, 0, 2)),
    ("07", "[-1]", "[torch.randn(2, 70, 500)]"),
    ("08", "[]", "[torch.randn(3, 5000) * 30, torch.rand(3, 5000)]"),
]  # fmt: skip


@pytest.mark.parametrize("name, init, inputs", OTHER_SHAPES)
def test_a_seed_takes_other_shapes(name: str, init: str, inputs: str) -> None:
    source, solution = seed(name)
    source += f"\n\ndef get_inputs():\n    return {inputs}\n\n\ndef get_init_inputs():\n    return {init}\n"
    record = verify(source, solution)
    assert said(record) == E3, record["feedback"]


# ---- the card -------------------------------------------------------------------


def test_the_example_of_the_card_is_correct() -> None:
    [code] = re.findall(r"```python\n(.*?)```", CARD, re.DOTALL)
    source = task("return torch.relu(x + self.bias)", inputs="[torch.randn(50, 30).t()]", init="[50]",
                  setup="self.bias = torch.nn.Parameter(torch.randn(args[0]))")  # fmt: skip
    record = verify(source, code)
    assert said(record) == E3, record["feedback"]


def test_the_signatures_of_the_card_are_those_of_the_language() -> None:
    import triton.language as tl

    [block] = re.findall(r"```text\n(.*?)```", CARD, re.DOTALL)
    calls = re.findall(r"tl\.(\w+)\(([^)]*)\)", block)
    assert len(calls) > 50
    for name, arguments in calls:
        function = getattr(tl, name)
        function = getattr(function, "fn", function)
        real = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
        words = [word.strip() for word in arguments.split(",")]
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
