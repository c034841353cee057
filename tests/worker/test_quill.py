"""Quill: each construct against torch, each rule of the language by breaking it, and no
way past the translator."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "quill")]

import quill  # noqa: E402
import quill_c  # noqa: E402
import small_loop  # noqa: E402
from native_run import Runner  # noqa: E402
from quill_read import QuillError, read  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native  # noqa: E402
from shared.translation import translated  # noqa: E402

sys.path.insert(0, str(ROOT / "packs" / "quill"))
sys.modules.pop("adapter", None)
import adapter  # noqa: E402

def compile(request: dict) -> bytes:
    """As a compiler answers (shared/child.py)."""
    return adapter.compile(translated(request, adapter.translate))


HEAD = "scroll work(well xs: f32[rows, cols], basin ys: f32[rows, cols], count rows, count cols)"


@pytest.fixture(autouse=True)
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    """What is recorded is executed at once."""
    runner = Runner(compile)
    monkeypatch.setattr(native_record, "_current", lambda: runner)
    return runner


def run(expr: str, x: torch.Tensor, dry: str = "0", basin: str = "ys[r, c]") -> torch.Tensor:
    """`expr` over a tile `xt` that is larger than x."""
    program = f"""{HEAD}
    letters r = 8, c = 16, d = 16, e = 8
    pour xs[r, c] -> xt dry {dry}
    pour {expr} -> {basin}
end"""
    y = torch.full_like(x, 77.0)
    quill.build(program).work(x, y, *x.shape)
    return y


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


X = numbers(5, 11)
SAME = {
    "xt + 1 - 2 * xt / 4": lambda x: x + 1 - 2 * x / 4,
    "-xt ^ 2": lambda x: -(x**2),
    "abs(xt) ^ 1.5": lambda x: x.abs() ** 1.5,
    "xt // 1 + xt % 1": lambda x: x,
    "exp(xt) + log(abs(xt)) + sqrt(abs(xt))": lambda x: x.exp() + x.abs().log() + x.abs().sqrt(),
    "tanh(xt) + erf(xt) + sin(xt) + cos(xt) + down(xt)": lambda x: x.tanh()
    + x.erf()
    + x.sin()
    + x.cos()
    + x.floor(),
    "upper(xt, 0) + lower(xt, 0.5)": lambda x: x.clamp(min=0) + x.clamp(max=0.5),
    "xt > 0 so xt else 0.1 * xt": lambda x: torch.where(x > 0, x, 0.1 * x),
    "(xt > 0 and xt < 1) + (xt <= 0 or xt >= 1) * 2 + not (xt == xt)": lambda x: torch.where(
        (x > 0) & (x < 1), 1.0, 2.0
    ),
    "xt - heap[c](xt) / cols": lambda x: x - x.mean(1, keepdim=True),
    "xt - heap[r, c](xt)": lambda x: x - x.sum(),
    "climb[c](xt)": lambda x: x.cumsum(1),
    "climb[r](xt)": lambda x: x.cumsum(0),
    "mount[c](xt)": lambda x: x.cumprod(1),
    "crest[c](xt)": lambda x: x.cummax(1).values,
    "xt + rung[c] + 100 * rung[r]": lambda x: x
    + torch.arange(x.shape[1])
    + 100 * torch.arange(x.shape[0])[:, None],
    "spot[c](xt) + 0 * xt": lambda x: x.argmax(1, keepdim=True) + 0 * x,
}


@pytest.mark.parametrize("expr", SAME)
def test_an_expression_is_what_torch_computes(expr: str) -> None:
    got = run(expr, X)
    torch.testing.assert_close(got, SAME[expr](X).float(), rtol=2e-6, atol=2e-6)


def test_a_weave_is_a_product_of_matrices_and_a_turn_renames() -> None:
    square = "weave[r](xt, turn[c>d](xt))"  # has the letters c and d
    got = run(f"weave[d]({square}, turn[r>e](turn[c>d](xt)))", X, basin="ys[e, c]")
    torch.testing.assert_close(got, X @ (X.T @ X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name, want", [("brim", "amax"), ("lees", "amin"), ("steep", "prod")])
def test_a_reduction_leaves_out_what_the_dry_value_cannot_change(name: str, want: str) -> None:
    dry = {"brim": "-inf", "lees": "inf", "steep": "1"}[name]
    got = run(f"{name}[c](xt) + 0 * rung[c]", X, dry)
    expected = getattr(X, want)(1)[:, None].expand(-1, X.shape[1])
    torch.testing.assert_close(got, expected, rtol=2e-6, atol=2e-6)


def test_roams_vessels_and_coordinates_make_a_pooling_with_stride_and_padding() -> None:
    program = """
scroll pool(well xs: f32[high, wide], basin ys: f32[yh, yw], count high, count wide, count yh, count yw)
    letters h = 4, w = 4
    roam top below yh by 4
        roam left from 0 below yw by 4
            vessel best[h, w] = -inf
            roam dy below 3
                roam dx below 3
                    pour xs[(top + h) * 2 + dy - 1, (left + w) * 2 + dx - 1] -> xt dry -inf
                    best <~ upper(best, xt)
                end
            end
            pour best -> ys[top + h, left + w]
        end
    end
end"""
    x, y = numbers(13, 18), torch.empty(7, 9)
    quill.build(program).pool(x, y, 13, 18, 7, 9)
    want = torch.nn.functional.max_pool2d(x[None, None], 3, 2, 1)[0, 0]
    assert torch.equal(y, want)


def test_integers_booleans_grains_and_single_numbers_pass() -> None:
    program = """
scroll loss(well xs: f32[rows, cols], well ts: i64[rows], well ms: bool[rows], basin out: f32[],
            basin at: i64[rows], count rows, count cols, grain scale)
    letters r = 8, c = 16
    pour xs[r, c] -> xt dry -inf
    pour ts[r] -> tt
    pour ms[r] -> mt
    pour spot[c](xt) -> at[r]
    picked := heap[c](rung[c] == tt so xt else 0)
    pour heap[r](mt == 1 so picked * scale else 0) -> out[]
end"""
    x, t = numbers(5, 11), torch.tensor([3, 0, 10, 2, 2])
    mask, out, at = torch.tensor([True, False, True, True, False]), torch.empty(()), torch.empty(5)
    at = at.long()
    quill.build(program).loss(x, t, mask, out, at, 5, 11, 0.5)
    want = (x.gather(1, t[:, None])[:, 0] * mask * 0.5).sum()
    torch.testing.assert_close(out, want)
    assert torch.equal(at, x.argmax(1))


def test_a_size_that_python_gives_must_be_the_tensors() -> None:
    lib = quill.build(f"{HEAD}\n letters r = 4, c = 4\n pour xs[r, c] -> xt\n pour xt -> ys[r, c]\nend")
    with pytest.raises(TypeError, match=r"'ys'.*\(5, 11\) here, got a tensor of shape \(4, 11\)"):
        lib.work(X, torch.empty(4, 11), 5, 11)


def test_a_message_comes_with_its_line() -> None:
    with pytest.raises(native.BuildError, match=r"line 2: .*\n    pour xs\[r, k\] -> xt$"):
        compile(native.calls(f"{HEAD}\n    pour xs[r, k] -> xt\nend\n", [("work", "ppii")]))


@pytest.mark.parametrize(
    "program",
    [
        "",
        "scroll",
        "scroll ab(",
        "scroll ab(basin ys: f32[])\nend",
        "scroll ab(basin ys: f32[])\n" + "roam a1 below 2\n" * 100,
        "scroll ab(basin ys: f32[])\n pour " + "(" * 500 + "1" + ")" * 500 + " -> ys[]\nend",
        "scroll ab(basin ys: f32[])\n pour " + "-" * 500 + "1 -> ys[]\nend",
        "scroll ab(basin ys: f32[])\n pour 1e999 -> ys[]\nend",
        "scroll ab(basin ys: f32[])\n letters c = 5000\n pour 1 -> ys[]\nend",
        "scroll int(basin ys: f32[])\n pour 1 -> ys[]\nend",
        "scroll ab(basin ys: f32[])\n pour 1; system(0) -> ys[]\nend",
        'scroll ab(basin ys: f32[])\n#include "/etc/passwd"\n pour 1 -> ys[]\nend',
        "scroll ab(basin ys: f32[])\n pour ys -> ys[]\nend",
    ],
)
def test_what_is_not_quill_is_refused_with_a_line(program: str) -> None:
    with pytest.raises(QuillError, match=r"^line \d+: "):
        quill_c.to_c(program)


def test_every_cut_of_a_program_is_quill_or_has_a_line() -> None:
    program = (ROOT / "packs/quill/seeds/03_conv2d/solution.py").read_text().split('"""')[1]
    for end in range(len(program)):
        try:
            quill_c.to_c(program[:end])
        except QuillError:
            continue
    assert [s.name for s in read(program)] == ["conv2d"]


@pytest.mark.parametrize("name", ["q_upper", "malloc", "__builtin_memcpy", "expf"])
def test_only_scrolls_can_be_launched(name: str) -> None:
    program = f"{HEAD}\n letters r = 4, c = 4\n pour xs[r, c] -> xt\n pour xt -> ys[r, c]\nend\n"
    with pytest.raises(native.BuildError, match="has no"):
        compile(native.calls(program, [(name, "pp")]))


def test_c_in_place_of_a_program_is_refused() -> None:
    with pytest.raises(native.BuildError, match="line 1"):
        compile(native.calls("void work(float *x) { x[0] = 1; }", [("work", "p")]))


# ---- nothing that a candidate does to its recorder reaches the compiler ----------------

TASK = (ROOT / "packs/common/smuggled/task.py").read_text()
SMUGGLED = (ROOT / "packs/common/smuggled/solution.py").read_text()
MODEL = """
import sys
import torch
import torch.nn as nn
import quill, quill_c, quill_read
from recorder import native_record, recorder

C = "void square(const float *x, float *y, long long rows, long long cols)"
C += "{ for (long long i = 0; i < rows * cols; i++) y[i] = x[i] * x[i]; }"
PROGRAM = '''
scroll square(well xs: f32[rows, cols], basin ys: f32[rows, cols], count rows, count cols)
    letters r = 16, c = 256
    pour xs[r, c] -> xt
    pour RESULT -> ys[r, c]
end
'''
HOSTILE


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        CALL
        return y
"""
CALL = "quill.build(PROGRAM).square(x, y, 16, 256)"
UNCHECKED = "quill._Entry._check_shapes = lambda *_: None"
# What is done, the result that the program pours, how it is called; then the verdict and the words.
CANDIDATES = {
    "honest": ("", "xt * xt", CALL, "correct", ""),
    "replaces-the-translator": (
        "quill_c.to_c = lambda text: C\n"
        "sys.modules['pack_adapter'].translate = lambda text: C\n"
        "sys.modules['pack_adapter'].compile = lambda request: C",
        "xt", CALL, "wrong_values", "",
    ),
    "replaces-the-text": (
        "record = native_record.Call.__call__\n"
        "native_record.Call.__call__ = lambda self, *args: (\n"
        "    setattr(self, '_source', C), record(self, *args))[1]",
        "xt * xt", CALL, "compile_error", "is not part of quill",
    ),
    "hides-c-in-a-comment": (
        "PROGRAM = PROGRAM + '-- */' + C", "xt", CALL, "wrong_values", "",
    ),
    "says-more-rows-than-there-are": (
        UNCHECKED, "xt * xt", CALL.replace("16", "1 << 40"), "compile_error",
        "'xs' is not what the program's head says",
    ),
    "passes-a-part-of-a-tensor": (
        UNCHECKED, "xt * xt", CALL.replace("(x, y", "(x[:8], y"), "compile_error", "'xs' is not what",
    ),
    "passes-a-number-for-memory": (
        "", "xt * xt", "now = recorder.current(); args = [{'t': now.view(x)}, 4096, 16, 256]\n"
        "        now.launch({'op': 'call', 'text': now.text(PROGRAM), 'function': 'square', 'args': args})",
        "compile_error", "'ys' is not what",
    ),
    "passes-a-real-for-a-count": (
        "", "xt * xt", "now = recorder.current()\n"
        "        args = [{'t': now.view(x)}, {'t': now.view(y)}, 16.0, 256]\n"
        "        now.launch({'op': 'call', 'text': now.text(PROGRAM), 'function': 'square', 'args': args})",
        "compile_error", "is not what",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CANDIDATES)
def test_only_what_the_compiler_has_translated_and_checked_is_judged(name: str) -> None:
    hostile, result, call, verdict, words = CANDIDATES[name]
    text = MODEL.replace("RESULT", result).replace("HOSTILE", hostile).replace("CALL", call, 1)
    record = small_loop.verify(TASK, text, "quill")
    assert record["verdict"] == verdict and words in record["feedback"], record["feedback"]
    assert record["evidence"] == ("E3" if name == "honest" else record["evidence"])


@pytest.mark.parametrize("pack", ["quill", "c-cpu", "triton"])
def test_a_kernel_of_no_language_is_a_compile_error(pack: str) -> None:
    record = small_loop.verify(TASK, SMUGGLED, pack)
    assert (record["verdict"], record["stage"]) == ("compile_error", "compile"), record["feedback"]
