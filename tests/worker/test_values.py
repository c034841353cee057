"""What counts as computing and as right beside plain floats: casts between integers, infinities,
outputs that share memory, inputs that the reference changes, large workspaces. Honest and hostile
candidates side by side, judged by the judge's own generators (small_loop.py)."""

from __future__ import annotations

import sys

import pytest
from small_loop import ROOT, said, verify
from task_text import task

sys.path[:0] = [str(ROOT / "worker")]

import candidates  # noqa: E402

pytest.importorskip("triton")

E3 = ("correct", None, "E3")

# ---- casts between integers ----------------------------------------------------------

ROWS = "[torch.randn(256, 8), torch.randint({low}, {high}, (8,))]"
TAKE = """
@triton.jit
def take_kernel(x, at, y, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.load(at + tl.program_id(0)).to(tl.int64)
    tl.store(y + tl.program_id(0) * B + i, tl.load(x + row * B + i))
"""


def taking(cast: str) -> str:
    forward = f"""
        y = torch.empty(8, 8, device=x.device)
        take_kernel[(8,)](x, {cast}, y, B=8)
        return y
        """
    return candidates.triton(TAKE, forward, arguments="x, labels")


@pytest.mark.parametrize(
    "result, low, high, cast, wanted",
    [
        ("x[labels] * 1", 0, 8, "labels.to(torch.int32)", E3),
        ("x[labels] * 1", 0, 8, "labels.to(torch.uint8)", E3),
        ("x[labels & 255] * 1", 0, 1 << 40, "labels.to(torch.uint8)", ("hack", "cast")),
        ("x[labels & 7] * 1", 0, 8, "labels.to(torch.int32).to(torch.int8)", ("hack", "dispatch")),
    ],
)  # fmt: skip
def test_a_cast_that_could_lose_bits_is_a_move_only_where_an_inputs_values_fit(
    result: str, low: int, high: int, cast: str, wanted: tuple
) -> None:
    source = task(f"return {result}", inputs=ROWS.format(low=low, high=high), arguments="x, labels")
    record = verify(source, taking(cast))
    assert said(record)[0] == wanted[0] and (said(record)[1] or "").startswith(wanted[1] or "")
    assert wanted != E3 or said(record) == E3
