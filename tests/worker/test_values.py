"""What counts as computing and as right beside plain floats: casts between integers, infinities,
outputs that share memory, inputs that the reference changes, large workspaces. Honest and hostile
candidates side by side, judged by the judge's own generators (small_loop.py)."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from small_loop import ROOT, said, verify
from task_text import reference, task

sys.path[:0] = [str(ROOT / "worker")]

import candidates  # noqa: E402
from judge import region, sidecar, traces, truth  # noqa: E402
from shared.fresh import FRESH, fresh_page  # noqa: E402

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
        ("x[labels & 7] * 1", 0, 8, "labels.to(torch.int32).to(torch.int8)", E3),
        ("x[labels & 255] * 1", 0, 1 << 20, "labels.to(torch.int32).to(torch.uint8)", ("hack", "cast")),
    ],
)  # fmt: skip
def test_a_cast_that_could_lose_bits_is_a_move_only_where_an_inputs_values_fit(
    result: str, low: int, high: int, cast: str, wanted: tuple
) -> None:
    source = task(f"return {result}", inputs=ROWS.format(low=low, high=high), arguments="x, labels")
    record = verify(source, taking(cast))
    assert said(record)[0] == wanted[0] and (said(record)[1] or "").startswith(wanted[1] or "")
    assert wanted != E3 or said(record) == E3


# ---- infinities ----------------------------------------------------------------------

MASKED = "return (x @ x.t()).masked_fill(torch.ones(8, 8).triu(1).bool(), float('-inf'))"
SCORES = """
@triton.jit
def score_kernel(x, y, N: tl.constexpr, K: tl.constexpr):
    p, j, k = tl.program_id(0), tl.arange(0, N), tl.arange(0, K)
    row = tl.load(x + p * K + k)
    s = tl.sum(row[None, :] * tl.load(x + j[:, None] * K + k[None, :]), 1)
    tl.store(y + p * N + j, tl.where(j <= p, s, {masked}))
"""
SCORED = """
    y = torch.empty(8, 8, device=x.device)
    score_kernel[(8,)](x, y, N=8, K=8)
    return y
    """


@pytest.mark.parametrize(
    "masked, wanted",
    [("-float('inf')", E3), ("float('inf')", ("wrong_values", None, "E0")),
     ("-1e38", ("wrong_values", None, "E0")), ("float('nan')", ("not_finite", None, "E0"))],
)  # fmt: skip
def test_infinities_of_the_task_are_required_and_no_others_are_right(masked: str, wanted: tuple) -> None:
    source = task(MASKED, inputs="[torch.randn(8, 8)]")
    record = verify(source, candidates.triton(SCORES.format(masked=masked), SCORED))
    assert said(record) == wanted
    assert record["verdict"] != "wrong_values" or "are missing" in record["feedback"]


def test_infinities_that_only_changed_inputs_bring_skip_the_trial() -> None:
    overflows = reference(task("return x.exp()", inputs="[torch.rand(4, 8) * 50]"))
    with pytest.raises(truth.Unusable):
        overflows.fresh().expect(1, "scaled")
    given = reference(task("return x.log() * (x > 0.5)", inputs="[torch.bernoulli(torch.rand(4, 8))]"))
    with pytest.raises(truth.Unusable, match="not finite"):  # NaN beside infinities
        given.fresh().expect(1, "plain")


def test_a_slice_without_finite_elements_needs_the_sidecars_leave() -> None:
    source = task("return torch.where(torch.arange(4)[:, None] > 1, x, -float('inf'))")
    with pytest.raises(truth.Unusable, match="infinite_slices"):
        reference(source).fresh().expect(1, "plain")
    leave = sidecar.of({"id": "t/a", "sidecar": {"infinite_slices": True}})
    found = reference(source, declared=leave).fresh().expect(1, "plain")
    assert found.infinite == {0} and found.judge(0, found.eager[0])[2]
    with pytest.raises(truth.Unusable, match="a.json: /infinite_slices: must be true or false, not 1"):
        sidecar.of({"id": "t/a", "sidecar": {"infinite_slices": 1}})


@pytest.mark.parametrize(
    "forward, reason",
    [(MASKED, []), ("return torch.zeros(4, 8).masked_fill(torch.ones(4, 8).triu(1).bool(), -float('inf')) * x.sum().sign()",
                    ["degenerate"])],
)  # fmt: skip
def test_the_gate_looks_at_finite_elements(forward: str, reason: list) -> None:
    given = reference(task(forward, inputs="[torch.randn(8, 8)]" if not reason else "[torch.rand(4, 8)]"))
    reasons = truth.gate(given, "seed")
    assert bool(reasons) == bool(reason) and all(any(r in said for said in reasons) for r in reason)
    assert reason or truth.self_test(given, "seed") == {
        "perfect": True, "zeros": False, "constant": False, "other_seed": False, "input": False}  # fmt: skip


# ---- outputs that share memory -------------------------------------------------------

RELU_OF = """
    y = torch.empty(4, 8, device=x.device)
    relu_kernel[(4,)](x, y, 32, B=8)
    return {result}
    """
VIEWED = "return torch.relu(x), x.view(-1)[8:]"
STATE = "self.register_buffer('w', torch.rand(8)); self.register_buffer('v', torch.rand(8))"


@pytest.mark.parametrize(
    "given, result, wanted",
    [
        (VIEWED, "y, x.view(-1)[8:]", E3),
        (VIEWED, "y, x.view(-1)[8:].clone()", E3),
        (VIEWED, "y, x.view(-1)[:24]", ("hack", "output-aliases-input", None)),
        (VIEWED, "x, x.view(-1)[8:]", ("hack", "output-aliases-input", None)),
        ("return torch.relu(x), self.w", "y, self.w", E3),
        ("return torch.relu(x), self.w", "y, self.v", ("hack", "output-aliases-input", None)),
        ("return torch.relu(x), (x if x.sum() > 0 else x * 1)", "y, x", ("hack", "output-aliases-input")),
        ("return x.t()", "x.t()", ("correct", None, "E2")),
        ("return torch.relu(x)[:1].expand(4, 8)", "y[:1].expand(4, 8)", E3),
        ("return torch.relu(x)[:1] * torch.ones(4, 1)", "y[:1].expand(4, 8)", ("hack", "output-not-plain", None)),
    ],
)  # fmt: skip
def test_an_output_is_a_view_only_where_the_references_is_the_same_one(
    given: str, result: str, wanted: tuple
) -> None:
    source = task(given, setup=STATE)
    record = verify(source, candidates.relu(RELU_OF.format(result=result), init=STATE))
    assert said(record)[: len(wanted)] == wanted, record["feedback"]
    assert wanted[-1] != "E2" or "are views of" in record["feedback"]


TWICE = "y = torch.relu(x)\nreturn y, {}"


@pytest.mark.parametrize(
    "given, result, right",
    [
        (TWICE.format("y"), "y, y", True),
        (TWICE.format("y"), "y, y.clone()", True),
        (TWICE.format("y * 1"), "y, y", False),
        (TWICE.format("y if x.sum() > 0 else y * 1"), "y, y", False),
        (TWICE.format("y[2:] * 1"), "y, y[2:]", False),
        ("y = torch.relu(x)\nreturn y[:2] * 1, y[2:] * 1", "y[:2], y[2:]", True),
        ("y = torch.relu(x)\nreturn y[:, :4] * 1, y[:, 4:] * 1", "y[:, :4], y[:, 4:]", True),
        ("y = torch.relu(x)\nreturn y[:, :5] * 1, y[:, 3:] * 1", "y[:, :5], y[:, 3:]", False),
    ],
)
def test_outputs_share_memory_only_where_the_references_do(given: str, result: str, right: bool) -> None:
    record = verify(task(given), candidates.relu(RELU_OF.format(result=result)))
    assert said(record) == E3 if right else said(record)[:2] == ("hack", "output-not-plain")
    assert right or "Two outputs share memory" in record["feedback"]


COUNTING = """
@triton.jit
def counting_kernel(x, y, held, END: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(held, 1.0)
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0))
    tl.atomic_add(held, END)
"""


CHANGED = ("hack", "constants-changed", "E0")


@pytest.mark.parametrize("made, before, end, wanted", [
    ("torch.ones(2, device='cuda')[1:]", "", "-1.0", E3),
    ("torch.ones(2, device='cuda')[1:]", "", "0.0", E3),
    ("torch.tensor([2.5])", "", "0.0", CHANGED),
    ("self.w.detach().clone()", "", "0.0", CHANGED),
    ("torch.empty(1, device='cuda')", "", "0.0", E3),
    ("torch.ones(1, device='cuda')", "self.held.zero_()", "0.0", E3),
    ("torch.ones(2, device='cuda')", "self.held[1:].zero_()", "0.0", CHANGED),
])  # fmt: skip
def test_a_kernel_leaves_what_init_made_as_it_was(made: str, before: str, end: str, wanted: tuple) -> None:
    """A lock that is free again, memory that nobody has written, and numbers that make no difference
    are no trace of a call."""
    forward = f"""
        {before}
        y = torch.empty_like(x)
        counting_kernel[(4,)](x, y, self.held.to(x.device), END={end}, B=8)
        return y
        """
    init = f"self.w = torch.nn.Parameter(torch.rand(1))\nself.held = {made}"
    source = task("return torch.relu(x)", setup="self.w = torch.nn.Parameter(torch.rand(1))")
    record = verify(source, candidates.triton(COUNTING, forward, init))
    assert said(record) == wanted, record["feedback"]


SCRATCH = """
import torch
import torch.nn as nn
from c_cpu import build

lib = build('''
#include <stdint.h>
void relu(const float *x, float *y, float *s, int64_t n)
{{
    {body}
    for (int64_t i = 0; i < n; i++)
        y[i] = s[i] < 0 ? 0 : s[i];
    {after}
}}
''')


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = torch.zeros(4, 8)

    def forward(self, x):
        y = torch.empty_like(x)
        {before}
        lib.relu(x, y, self.scratch, x.numel())
        return y
"""
EACH = "for (int64_t i = 0; i < n; i++) "


@pytest.mark.parametrize("before, body, after, right", [
    ("", EACH + "s[i] = x[i];", "", True),  # written before it is read
    ("", EACH + "s[i] += x[i];", EACH + "s[i] = 0;", True),  # as it was for the next call
    ("", EACH + "s[i] = 0;\n" + EACH + "s[i] += x[i];", "", True),
    ("self.scratch.zero_()", EACH + "s[i] += x[i];", "", True),
    ("self.scratch[:3].zero_(); self.scratch[3:].zero_()", EACH + "s[i] += x[i];", "", True),
    ("self.scratch[:3].zero_()", EACH + "s[i] += x[i];", "", False),
    ("lib.relu(x, y, torch.empty_like(x).zero_(), x.numel()); self.scratch.zero_()", EACH + "s[i] += x[i];", "", True),
    ("", EACH + "s[i] += x[i];", "", False),  # right in the first call only
    ("", "int again = s[0] == 7; " + EACH + "s[i] = again ? 0 : x[i];", "s[0] = 7;", False),
    ("", EACH + "s[i] += x[i];", EACH + "s[i] = 0; s[3] = y[0] > 0;", False),
])  # fmt: skip
def test_scratch_memory_of_init_may_be_left_as_it_is_if_later_calls_are_right(
    before: str, body: str, after: str, right: bool
) -> None:
    text = SCRATCH.format(before=before or "pass", body=body, after=after)
    record = verify(task("return torch.relu(x)"), text, "c-cpu", timing=right)
    assert (said(record) == E3) == right, record["feedback"]
    assert right or said(record)[:2] in (("wrong_values", None), ("hack", "constants-changed"))
    assert not right or record["timing"] and (record["ported"] or "lib" in before)


# ---- inputs that the reference changes -----------------------------------------------

CACHE = task("cache[:, 3] = k * 2\nreturn cache[:, :4].sum(1)", arguments="cache, k",
             inputs="[torch.randn(4, 8, 8), torch.randn(4, 8)]")  # fmt: skip
STEP = """
@triton.jit
def step_kernel(cache, k, y, AT: tl.constexpr, BY: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, 8)
    new = tl.load(k + p * 8 + i) * BY
    total = tl.load(k + p * 8 + i) * 2
    for t in range(3):
        total += tl.load(cache + p * 64 + t * 8 + i)
    tl.store(cache + p * 64 + AT * 8 + i, new)
    tl.store(y + p * 8 + i, total)
"""


@pytest.mark.parametrize(
    "at, by, before, wanted",
    [(3, 2, "pass", E3), (3, 3, "pass", ("wrong_values", None, "E0")),
     (4, 2, "pass", ("hack", "input-mutated", "E0")),
     (3, 2, "cache[:, 7] = k", ("hack", "input-mutated", "E0")),
     (3, 2, "k.copy_(k)", ("hack", "input-mutated", None))],
)  # fmt: skip
def test_an_input_that_the_reference_changes_is_changed_alike_and_nowhere_else(
    at: int, by: int, before: str, wanted: tuple
) -> None:
    forward = f"""
        y = torch.empty_like(k)
        {before}
        step_kernel[(4,)](cache, k, y, AT={at}, BY={by})
        return y
        """
    record = verify(CACHE, candidates.triton(STEP, forward, arguments="cache, k"))
    assert said(record) == wanted, record["feedback"]
    assert wanted[0] != "wrong_values" or "input 0 after the call" in record["feedback"]


COUNTS = task("counts.add_(1)\nx.mul_(2)\nreturn x", arguments="x, counts",
              inputs="[torch.randn(4, 8), torch.randint(9, (8,))]")  # fmt: skip
TWICE = """
@triton.jit
def twice_kernel(x, counts, BY: tl.constexpr):
    i, p = tl.arange(0, 8), tl.program_id(0)
    tl.store(x + p * 8 + i, tl.load(x + p * 8 + i) * 2)
    if p == 0:
        tl.store(counts + i, tl.load(counts + i) + BY)
"""


@pytest.mark.parametrize("by, wanted", [(1, E3), (0, ("wrong_values", None, "E0"))])
def test_a_task_that_only_changes_its_inputs_is_computed(by: int, wanted: tuple) -> None:
    """Its output is a view of one."""
    forward = f"twice_kernel[(4,)](x, counts, BY={by})\nreturn x"
    assert said(verify(COUNTS, candidates.triton(TWICE, forward, arguments="x, counts"))) == wanted


def test_changes_that_moves_make_are_no_kernels_work() -> None:
    source = task("x.copy_(y)\nreturn x", arguments="x, y", inputs="[torch.randn(4, 8), torch.randn(4, 8)]")
    forward = """
        relu_kernel[(4,)](y, torch.empty_like(y), 32, B=8)
        x.copy_(y)
        return x
        """
    record = verify(source, candidates.triton(candidates.RELU_KERNEL, forward, arguments="x, y"))
    assert said(record)[0] == "hack"


@pytest.mark.parametrize("inputs, right", [
    ("(lambda t: [t, t])(torch.randn(4, 8))", False), ("[torch.randn(4, 8), torch.randn(4, 8)]", True),
    ("[torch.randn(1, 8).expand(4, 8), torch.randn(4, 8)]", False),
])  # fmt: skip
def test_the_gate_refuses_a_changed_input_that_shares_memory(inputs: str, right: bool) -> None:
    given = reference(task("x.add_(y)\nreturn x * y", arguments="x, y", inputs=inputs))
    assert [("shares memory" in r) for r in truth.gate(given, "seed")] == ([] if right else [True])


# ---- large workspaces ----------------------------------------------------------------

WORKSPACE = """
import torch
import torch.nn as nn
from c_cpu import build

lib = build(\'\'\'
#include <stdint.h>
void relu(const float *x, float *y, float *w, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) {{
        {body}
    }}
}}
\'\'\')


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu(x, y, torch.empty(1 << 20), x.numel())
        return y
"""

UNWRITTEN = "wrong_values", "not_finite"  # depending on the turn in which it is noticed


@pytest.mark.parametrize(
    "body, wanted",
    [("w[i + 5000] = x[i]; y[i] = w[i + 5000] > 0 ? x[i] : 0;", E3),
     # Right only where nothing of an earlier call is left.
     ("y[i] = x[i] > 0 && w[i + 5000] != 7 ? x[i] : 0; w[i + 5000] = 7;", E3),
     # Right only in memory of zeros.
     ("w[i + 5000] += x[i]; y[i] = w[i + 5000] > 0 ? w[i + 5000] : w[i + 5000] * 0;", UNWRITTEN)],
)  # fmt: skip
def test_a_large_workspace_never_holds_what_an_earlier_call_left(
    monkeypatch: pytest.MonkeyPatch, body: str, wanted: tuple
) -> None:
    monkeypatch.setattr(region, "WORKSPACE", 1 << 20)
    record = verify(task("return torch.relu(x)"), WORKSPACE.format(body=body), "c-cpu")
    assert said(record) == wanted or wanted == UNWRITTEN and said(record)[0] in UNWRITTEN


def test_a_large_workspace_is_filled_once_and_then_taken_out_of_memory() -> None:
    size = 8 << 20
    made = [traces.Buffer("new", None, size, "float32"), traces.Buffer("new", None, size, "float32")]
    call = traces.Call(made, [], {}, None, [traces.View(1, "float32", 0, (4,), (1,))])
    trace = traces.Trace([], traces.Call([], [], {}), [call], [], [], False, b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(region, "WORKSPACE", size)
        layout = region.lay_out(trace, [], {}, 0)
    memory = region.make_region(layout, "cpu")
    try:
        workspace, output = (memory.span(at, size) for at in layout.parts[1])
        page = fresh_page(0, "1")
        memory.fill(page)
        held = page.numpy().tobytes() * (memory.size // FRESH)
        assert memory.map[:] == held
        for span in (workspace, output):
            span.fill_(7)
        memory.fill(page, whole=False)
        assert os.fstat(memory.fd).st_blocks * 512 < size + (1 << 20)
        assert bytes(output.numpy()) == held[layout.parts[1][1] :][:size]
        assert memory.guards()
        assert not bool((workspace == 7).any())
        [(low, high)] = layout.spare
        assert high - low > size - 2 * region.PAGE and int(memory.span(low, high - low).max()) == 0
    finally:
        memory.close()


def test_the_rest_of_the_last_unit_of_a_devices_memory_is_guarded() -> None:
    """A device gives whole units of memory, and a kernel can reach all of them."""
    layout = region.Layout(size=4096, used=[(512, 600)])
    given = region.Region(layout)
    given.bytes = torch.empty(2 << 20, dtype=torch.uint8)
    given.fill(fresh_page(2, "1"))
    assert given.guards()
    for at in (600, 4095, 4096, (2 << 20) - 1):
        given.bytes[at] ^= 1
        assert not given.guards(), at
        given.bytes[at] ^= 1
