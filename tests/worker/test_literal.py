"""The truth is the task as written: what a trial draws again, what it leaves alone, and that
trial 0 is what KernelBench itself would build and call, bit for bit."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
sys.path.insert(0, str(Path(__file__).parent))

from judge import sheets, truth  # noqa: E402
from shared import inputs  # noqa: E402
from small_loop import said, verify  # noqa: E402
from task_text import reference, task  # noqa: E402

SEED = "11fe" * 16
INIT = 9


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def sheet_of(source: str, precision: str = "fp32", protocol: str = "hardened",
             own_weights: bool = False) -> sheets.Sheet:  # fmt: skip
    made = reference(source, precision, INIT)
    return sheets.Sheet({"protocol": protocol}, made, SEED, own_weights)


def drawn(sheet: sheets.Sheet, label: str) -> sheets.Draw:
    return sheet.make(label, "plain", SEED)


# ---- KernelBench's own sequence -----------------------------------------------------

LAYERS = task(
    "return self.bn(self.fc(x)) + self.conv(x[:, None]).sum(1)",
    setup="""
    self.fc = torch.nn.Linear(8, 8)
    self.bn = torch.nn.BatchNorm1d(8)
    self.conv = torch.nn.Conv1d(1, 3, 3, padding=1)
    """,
)
MASKED = task(
    "return (x @ x.T + torch.where(self.mask == 0, float('-inf'), 0.0)).softmax(-1) @ self.table[self.at]",
    setup="""
    self.register_buffer("mask", torch.tril(torch.ones(4, 4)))
    self.register_buffer("at", torch.arange(4).flip(0))
    self.register_buffer("table", torch.randn(4, 8))
    self.register_buffer("chosen", torch.randint(0, 1000, (16,)), persistent=False)
    """,
)
TIED = task(
    "return self.b(torch.tanh(self.a(x))) + self.view.sum() + self.gain * x",
    setup="""
    self.a = torch.nn.Linear(8, 8)
    self.b = torch.nn.Linear(8, 8)
    self.b.weight = self.a.weight
    self.view = self.a.weight.data.view(-1)
    self.gain = self.again = torch.nn.Parameter(torch.ones(8))
    """,
)
FROM_NUMPY = task(
    "return x @ self.w + self.b * self.scale",
    top="import numpy, random",
    setup="""
    self.w = torch.nn.Parameter(torch.from_numpy(numpy.random.randn(8, 8)).float())
    self.b = torch.nn.Parameter(torch.tensor([random.gauss(0, 1) for _ in range(8)]))
    self.scale = args[0].pop()
    """,
    init="[[torch.randn(8), torch.rand(8)]]",
    inputs="[torch.from_numpy(numpy.random.rand(4, 8)).float() + random.random()]",
)
EXPANDED = task("return x * y + self.fc(y)", arguments="x, y", inputs="[torch.randn(4, 1).expand(4, 8), torch.rand(8).expand(4, 8)]",
                setup="self.fc = torch.nn.Linear(8, 8)")  # fmt: skip
LOOSE = task("return x * self.scale + self.parts[0]", setup="self.scale, self.parts = torch.randn(8), [torch.rand(8)]")
TASKS = {"layers": LAYERS, "masked": MASKED, "tied": TIED, "numpy": FROM_NUMPY, "expanded": EXPANDED, "loose": LOOSE}


def set_seed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def as_kernelbench(source: str, dtype: torch.dtype, seeds: tuple[int, int, int]) -> tuple:
    """Its model before the call, inputs and outputs: eval_kernel_against_ref, written out."""
    space: dict = {"__name__": "task"}
    exec(source, space)  # noqa: S102
    init, made, trial = seeds
    set_seed(init)
    args = space["get_init_inputs"]()
    with torch.no_grad():
        set_seed(made)
        model = space["Model"](*args)
        set_seed(trial)
        given = [x.to(dtype=dtype) for x in space["get_inputs"]()]
        set_seed(trial)
        model = model.to(dtype=dtype)
        before = {n: t.clone() for n, t in truth.state_of(model).items()}
        set_seed(trial)
        return before, given, model(*[x.clone() for x in given])


# In half precision the judge casts what a task makes in forward or keeps unregistered, too.
@pytest.mark.parametrize(
    "name, precision", [*((n, "fp32") for n in TASKS if n != "loose"), ("layers", "bf16")]
)
def test_trial_0_is_kernelbenchs_own_sequence_bit_for_bit(name: str, precision: str) -> None:
    if name == "numpy":
        pytest.importorskip("numpy")
    sheet = sheet_of(TASKS[name], precision)
    draw = sheet.draw(0)
    seeds = INIT, inputs.derive(SEED, "params-trial-0"), inputs.derive(SEED, "trial-0")
    state, given, output = as_kernelbench(TASKS[name], inputs.DTYPES[precision], seeds)
    assert {n: t.tolist() for n, t in draw.state.items()} == {n: t.tolist() for n, t in state.items()}
    assert all(torch.equal(a, b) for a, b in zip(draw.expected.args, given, strict=True))
    assert torch.equal(draw.expected.eager[0], output)


# ---- what trials draw again -----------------------------------------------------------


def test_masks_positions_and_tables_stay_and_random_buffers_are_drawn_again() -> None:
    sheet = sheet_of(MASKED)
    first, *others = (drawn(sheet, f"trial-{i}").state for i in range(3))
    for other in others:
        assert torch.equal(other["mask"], torch.tril(torch.ones(4, 4)))
        assert torch.equal(other["at"], torch.arange(4).flip(0))
        assert not torch.equal(other["table"], first["table"])
        assert not torch.equal(other["chosen"], first["chosen"])
        assert other["chosen"].dtype == torch.int64


def test_a_parameter_that_is_always_the_same_is_moved_but_keeps_signs_and_infinities() -> None:
    given = "torch.tensor([1.0, -2.0, 0.0, float('inf'), float('-inf')])"
    sheet = sheet_of(task(
        "return x[:, :5].exp() * self.b.sum() + self.w.exp().clamp(max=9) + self.frozen + self.many",
        setup=f"""
        self.w = torch.nn.Parameter({given})
        self.b = torch.nn.Parameter(torch.zeros(5))
        self.frozen = torch.nn.Parameter(torch.arange(5.0), requires_grad=False)
        self.many = torch.nn.Parameter(torch.randn(5), requires_grad=False)
        """,
    ))  # fmt: skip
    written, moved = (drawn(sheet, f"trial-{i}").state for i in range(2))
    as_built = torch.tensor([1, -2, 0, float("inf"), -float("inf")])
    assert torch.equal(written["w"], as_built) and not written["b"].any()
    assert torch.equal(moved["frozen"], torch.arange(5.0))
    assert not torch.equal(moved["many"], written["many"])
    assert torch.equal(moved["w"][3:], as_built[3:]) and 0 < moved["w"][2].abs() <= 0.05
    factors = moved["w"][:2] / as_built[:2]
    assert ((0.75 <= factors) & (factors <= 1.3) & (factors != 1)).all() and factors[0] != factors[1]
    assert moved["b"].all() and moved["b"].abs().max() <= 0.05


def test_tied_tensors_stay_tied_and_are_moved_once() -> None:
    sheet = sheet_of(TIED)
    state = drawn(sheet, "trial-1").state
    assert torch.equal(state["a.weight"], state["b.weight"])
    assert torch.equal(state["gain"], state["again"])
    assert ((0.75 <= state["gain"]) & (state["gain"] <= 1.3)).all()
    for model in (sheet.pair.eager, sheet.pair.twin):
        assert model.a.weight is model.b.weight and model.gain is model.again
    assert torch.equal(sheet.pair.eager.view, state["a.weight"].view(-1))


def test_tensors_that_are_not_registered_are_those_of_the_candidates_own_seed() -> None:
    """Both sides construct once under the seed that the candidate's process gets."""
    sheet = sheet_of(LOOSE)
    space: dict = {"__name__": "task"}
    exec(LOOSE, space)  # noqa: S102
    set_seed(INIT)
    with torch.no_grad():
        candidate = space["Model"]()
    for label in ("trial-0", "trial-3"):
        x = drawn(sheet, label).expected
        assert torch.equal(x.eager[0], candidate(*x.args))


RUNNING = task(
    "self.seen += x.abs().mean(0)\nreturn self.bn(x * self.seen)",
    setup="self.bn = torch.nn.BatchNorm1d(8)\nself.register_buffer('seen', torch.ones(8))",
)


@pytest.mark.parametrize("protocol", ["hardened", "kernelbench"])
def test_running_statistics_start_as_constructed_or_as_some_calls_left_them(protocol: str) -> None:
    sheet = sheet_of(RUNNING, protocol=protocol)
    assert set(sheet.reference.rules.running) == {
        "bn.running_mean", "bn.running_var", "bn.num_batches_tracked", "seen",
    }  # fmt: skip
    first, second, third = (drawn(sheet, f"trial-{i}").state for i in range(3))
    assert torch.equal(first["seen"], torch.ones(8)) and first["bn.num_batches_tracked"] == 0
    if protocol == "kernelbench":
        assert torch.equal(third["seen"], first["seen"])
        assert torch.equal(third["bn.weight"], first["bn.weight"])
        return
    assert (second["seen"] > 1).all() and not torch.equal(second["seen"], third["seen"])
    calls = [int(drawn(sheet, f"trial-{i}").state["bn.num_batches_tracked"]) for i in range(1, 5)]
    assert sorted(calls) == [1, 2, 3, 4]
    assert {sheet.calls("trial-1", f"{i:064x}") for i in range(40)} == {1, 2, 3, 4}


@pytest.mark.parametrize("room, most", [(1, 0), (2, 1), (3, 2), (5, 4), (9, 4)])
def test_trials_start_after_no_more_calls_than_the_reference_takes(room: int, most: int) -> None:
    """A cache with room for so many rows."""
    sheet = sheet_of(task(
        "self.rows[int(self.at)] = x[0]\nself.at += 1\nreturn x * self.rows.sum(0)",
        setup=f"self.register_buffer('rows', torch.zeros({room}, 8))\n"
        "self.register_buffer('at', torch.zeros((), dtype=torch.int64))",
    ))  # fmt: skip
    assert sheet.reference.rules.calls == most
    assert {int(drawn(sheet, f"trial-{i}").state["at"]) for i in range(5)} == set(range(most + 1))


def test_a_trial_is_the_same_whichever_trials_came_before() -> None:
    forwards, backwards = sheet_of(RUNNING), sheet_of(RUNNING)
    labels = ["trial-0", "trial-1", "other", "trial-2"]
    found = {label: drawn(forwards, label) for label in labels}
    for label in reversed(labels):
        again, before = drawn(backwards, label), found[label]
        assert torch.equal(again.expected.eager[0], before.expected.eager[0])
        assert all(torch.equal(t, before.state[n]) for n, t in again.state.items())
        assert all(torch.equal(t, before.expected.buffers[n]) for n, t in again.expected.buffers.items())


def test_a_large_model_is_constructed_twice_and_never_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MANY", 8)
    sheet = sheet_of(LAYERS)
    _ = sheet.reference.rules
    made: list[int] = []
    construct = truth.Reference.construct
    monkeypatch.setattr(truth.Reference, "construct",
                        lambda r, seed, device: made.append(seed) or construct(r, seed, device))  # fmt: skip
    weights = [sheet.draw(i).state["fc.weight"].clone() for i in range(5)]
    timed = sheet.start("timing-3", "another seed")["fc.weight"].clone()
    assert len(made) == 2
    assert not torch.equal(weights[0], weights[1])
    assert all(torch.equal(w, weights[1]) for w in (*weights[2:], timed))


# ---- moves that a reference does not take ----------------------------------------------


def test_only_what_breaks_the_reference_stays_and_the_record_names_it() -> None:
    source = task(
        "assert (self.fixed == 1).all()\nreturn (x + self.b) * self.w",
        setup="""
        self.fixed = torch.nn.Parameter(torch.ones(8))
        self.w = torch.nn.Parameter(torch.ones(8))
        self.b = torch.nn.Parameter(torch.zeros(8))
        """,
    )
    made = reference(source)
    assert made.rules.varied == ("w", "b") and made.rules.fixed == ("fixed",)
    assert "fails with other values of fixed" in made.notes()[0]
    assert truth.gate(made, SEED) == []


@pytest.mark.parametrize(
    "forward, fixed",
    [
        ("return x.abs().clamp(min=1) ** 2 * (1 - self.w).clamp(max=0).sqrt().add(1)", ("w",)),  # NaN
        ("return x + 1 / (self.w - 1 + 1e-9).clamp(min=0).mul(1e38)", ("w",)),  # infinite elsewhere
        ("return x * self.w + self.mask", ()),
    ],
)  # fmt: skip
def test_a_move_may_give_no_new_nan_and_no_other_infinity(forward: str, fixed: tuple) -> None:
    setup = """
    self.w = torch.nn.Parameter(torch.ones(8))
    self.mask = torch.nn.Parameter(torch.tensor([0.0, float("-inf")] * 4))
    """
    assert reference(task(forward, setup=setup)).rules.fixed == fixed


def test_the_reference_is_called_once_to_see_that_it_takes_all_moves() -> None:
    source = task("calls.append(1)\nreturn self.fc(x) * self.w", top="calls = []", setup="""
    self.fc = torch.nn.Linear(8, 8)
    self.w = torch.nn.Parameter(torch.ones(8))
    """)  # fmt: skip
    made = reference(source)
    _ = made.rules
    assert len(made.space["calls"]) == 1
    again = reference(source)
    _ = again.rules
    assert not again.space["calls"]


def test_a_constructor_that_makes_other_shapes_each_time_cannot_be_judged() -> None:
    source = task("return x * self.w.sum()", top="import random",
                  setup="self.w = torch.nn.Parameter(torch.ones(random.randrange(1, 10**6)))")  # fmt: skip
    with pytest.raises(truth.Unusable, match="other parameters or buffers each time"):
        _ = reference(source).rules


# ---- the self-test -------------------------------------------------------------------------


# The mean that the second norm sees is zero in trial 0: the first has centred its inputs.
CENTRED = task(
    "return self.second(self.fc(self.first(x)))",
    inputs="[torch.randn(64, 8)]",
    setup="""
    self.first = torch.nn.BatchNorm1d(8)
    self.fc = torch.nn.Linear(8, 8, bias=False)
    self.second = torch.nn.BatchNorm1d(8)
    """,
)


def test_a_buffer_that_is_zero_but_for_rounding_is_right_up_to_rounding() -> None:
    sheet = sheet_of(CENTRED)
    name = "second.running_mean"
    written, moved = (drawn(sheet, f"trial-{i}") for i in range(2))
    noise, honest = written.expected.buffers[name], moved.expected.buffers[name]
    assert written.expected.truth_buffers[name].abs().max() < 1e-12 < noise.abs().max()
    right = [written.expected.judge_buffer(name, x)[2] for x in (noise, -3 * noise, noise + 1e-3)]
    assert right == [True, True, False]
    stale = moved.state[name]  # a kernel that leaves the update out
    right = [moved.expected.judge_buffer(name, x)[2] for x in (honest, stale, 0 * honest, honest + 1e-4)]
    assert right == [True, False, False, False]


@pytest.mark.parametrize("name", [*TASKS, "running", "centred"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_task_as_written_passes_in_every_trial(name: str, precision: str) -> None:
    if name == "numpy":
        pytest.importorskip("numpy")
    source = (TASKS | {"running": RUNNING, "centred": CENTRED})[name]
    found = sheets.literal_trials({"seed": SEED}, reference(source, precision, INIT))
    assert found["passed"] == found["trials"] >= sheets.PLAIN
    assert found["failed"] == found["inexact"] == []


SATURATES = task("return sum(x.unbind(1))", inputs="[torch.rand(4, 2048)]")


def test_a_reference_whose_sums_saturate_is_called_inexact() -> None:
    """It adds in bf16 and stops growing; a kernel may not."""
    found = sheets.literal_trials({"seed": SEED}, reference(SATURATES, "bf16", INIT))
    assert found["failed"] == [] and {"trial-1", "trial-4"} <= set(found["inexact"])
    assert "trial-0" not in found["inexact"]  # which is judged as KernelBench judges it
    found = sheets.literal_trials({"seed": SEED}, reference(SATURATES, "fp32", INIT))
    assert found["passed"] == found["trials"]


@pytest.mark.parametrize("name", ["mask", "bn.running_var", "table"])
def test_noise_on_a_buffer_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The self-test fails where a judge changes what the task promises."""
    start = truth.Pair.start

    def noisy(pair: truth.Pair, seed: int | None, varied: bool, extra: int | None) -> None:
        start(pair, seed, varied, extra)
        if varied:
            for model in (pair.eager, pair.twin):
                dict(model.named_buffers())[name].mul_(1.1)

    monkeypatch.setattr(truth.Pair, "start", noisy)
    source = task(
        "return self.bn(x @ (self.mask * self.table))",
        setup="""
        self.bn = torch.nn.BatchNorm1d(8).eval()
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)))
        self.register_buffer("table", torch.arange(64.0).view(8, 8).cos())
        """,
    )
    found = sheets.literal_trials({"seed": SEED}, reference(source, seed=INIT))
    assert found["passed"] == 1 and "trial-1" in found["failed"]


# ---- kernels that compute what a buffer says ----------------------------------------------

CAUSAL = task(
    """
    t = q.shape[1]
    scores = (q @ k.transpose(1, 2)).masked_fill(self.bias[:, :t, :t] == 0, float("-inf"))
    return scores.softmax(-1) @ v
    """,
    inputs="[torch.randn(2, 6, 8) for _ in range(3)]",
    arguments="q, k, v",
    setup='self.register_buffer("bias", torch.tril(torch.ones(1, 16, 16)))',
)
CAUSAL_C = """
#include <math.h>
#include <stdint.h>
void attend(const float *q, const float *k, const float *v, float *y, int64_t b, int64_t t, int64_t d)
{
    for (int64_t at = 0; at < b * t; at++) {
        int64_t i = at % t, end = LAST, first = (at - i) * d;
        float most = -INFINITY, sum = 0, p[64];
        for (int64_t j = 0; j < end; j++) {
            p[j] = 0;
            for (int64_t c = 0; c < d; c++)
                p[j] += q[at * d + c] * k[first + j * d + c];
            most = fmaxf(most, p[j]);
        }
        for (int64_t c = 0; c < d; c++)
            y[at * d + c] = 0;
        for (int64_t j = 0; j < end; j++) {
            p[j] = expf(p[j] - most);
            sum += p[j];
        }
        for (int64_t j = 0; j < end; j++)
            for (int64_t c = 0; c < d; c++)
                y[at * d + c] += p[j] / sum * v[first + j * d + c];
    }
}
"""
ATTEND = """
        y = torch.empty_like(q)
        lib.attend(q, k, v, y, q.shape[0], q.shape[1], q.shape[2])
        return y
"""
PLACED = task(
    "return x + self.table[self.index] + self.mask",
    inputs="[torch.randn(4, 6, 6)]",
    setup="""
    self.table = torch.nn.Parameter(torch.zeros(11))
    torch.nn.init.trunc_normal_(self.table, std=2.0)
    at = torch.arange(6)
    self.register_buffer("index", at[:, None] - at[None, :] + 5)
    self.register_buffer("mask", torch.where(at[:, None] // 3 == at[None, :] // 3, 0.0, -100.0))
    """,
)
PLACED_C = """
#include <stdint.h>
void place(const float *x, const float *table, float *y, int64_t b, int64_t t)
{
    for (int64_t at = 0; at < b * t * t; at++) {
        int64_t j = at % t, i = at / t % t;
        y[at] = x[at] + table[i - j + t - 1] + (MASK ? -100.0f : 0.0f);
    }
}
"""
PLACE = """
        y = torch.empty_like(x)
        lib.place(x, self.table, y, x.shape[0], x.shape[1])
        return y
"""
TABLE = "self.table = torch.nn.Parameter(torch.zeros(11))"
BIAS = 'self.register_buffer("bias", torch.tril(torch.ones(1, 16, 16)))'


def in_c(source: str, takes: str, forward: str, init: str = "pass") -> str:
    return f"""
import torch
from c_cpu import build

lib = build('''{source}''')

class ModelNew(torch.nn.Module):
    def __init__(self, *args):
        super().__init__()
        {init}

    def forward(self, {takes}):
{forward}
"""


@pytest.mark.parametrize("init", ["pass", BIAS])
@pytest.mark.parametrize("last, right", [("i + 1", True), ("t", False)])
def test_a_kernel_that_masks_by_position_is_right_and_one_without_the_mask_is_not(
    last: str, right: bool, init: str
) -> None:
    found = verify(CAUSAL, in_c(CAUSAL_C.replace("LAST", last), "q, k, v", ATTEND, init), "c-cpu")
    assert said(found)[:1] == (("correct",) if right else ("wrong_values",)), found["feedback"]
    assert found["evidence"] == ("E3" if right else "E0")
    assert found["kernelbench_pass"] is right


@pytest.mark.parametrize("mask, right", [("i / 3 != j / 3", True), ("0", False)])
def test_positions_and_masks_that_a_kernel_computes_itself_are_right(mask: str, right: bool) -> None:
    found = verify(PLACED, in_c(PLACED_C.replace("MASK", mask), "x", PLACE, TABLE), "c-cpu")
    assert found["verdict"] == ("correct" if right else "wrong_values"), found["feedback"]
    assert found["evidence"] == ("E3" if right else "E0")


# What an initialiser promises of parameters, and a kernel that takes it for granted beside one
# that does not: (the constructor's lines, forward, hostile and honest y[i][j]).
PROMISES = {
    "columns that are orthogonal": (
        "self.w = torch.nn.Parameter(torch.nn.init.orthogonal_(torch.empty(8, 8)))",
        "x @ self.w @ self.w.T", "x[i * 8 + j]",
        "({ float s = 0; for (int k = 0; k < 8; k++) { float t = 0; for (int l = 0; l < 8; l++)"
        " t += x[i * 8 + l] * w[l * 8 + k]; s += t * w[j * 8 + k]; } s; })",
    ),
    "zeros beside the diagonal": (
        "self.w = torch.nn.Parameter(torch.eye(8))", "x @ self.w", "x[i * 8 + j] * w[j * 9]",
        "({ float s = 0; for (int k = 0; k < 8; k++) s += x[i * 8 + k] * w[k * 8 + j]; s; })",
    ),
    "halves that are equal": (
        "self.w = torch.nn.Parameter(torch.randn(8).repeat(2))",
        "x * self.w[:8] + x.abs() * self.w[8:]",
        "x[i * 8 + j] * w[j] + fabsf(x[i * 8 + j]) * w[j]",
        "x[i * 8 + j] * w[j] + fabsf(x[i * 8 + j]) * w[8 + j]",
    ),
    "a part that is constant": (
        "self.w = torch.nn.Parameter(torch.cat([torch.randn(4), torch.ones(4)]))", "x + self.w",
        "x[i * 8 + j] + (j < 4 ? w[j] : 1)", "x[i * 8 + j] + w[j]",
    ),
    "a scale that is next to nothing": (
        "self.w = torch.nn.Parameter(torch.full((8,), 1e-6))", "x + self.w * x.abs()",
        "x[i * 8 + j]", "x[i * 8 + j] + w[j] * fabsf(x[i * 8 + j])",
    ),
}  # fmt: skip
PROMISED_C = """
#include <math.h>
void f(const float *x, const float *w, float *y)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            y[i * 8 + j] = %s;
}
"""


@pytest.mark.parametrize("name", PROMISES)
def test_a_kernel_may_not_rest_on_what_an_initialiser_promises(name: str) -> None:
    setup, forward, hostile, honest = PROMISES[name]
    calls = """
        y = torch.empty_like(x)
        lib.f(x, self.w, y)
        return y
"""
    found = [
        verify(task(f"return {forward}", setup=setup), in_c(PROMISED_C % value, "x", calls, setup), "c-cpu")
        for value in (hostile, honest)
    ]  # fmt: skip
    assert [said(f) for f in found] == [("wrong_values", None, "E0"), ("correct", None, "E3")]


GAINED = task("return torch.relu(x) * self.gain", setup="self.gain = torch.nn.Parameter(torch.ones(8))")
GAINED_C = """
#include <stdint.h>
void relu(const float *x, const float *gain, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] > 0 ? x[i] : 0) * (GAIN);
}
"""


@pytest.mark.parametrize(
    "gain, protocol, wanted",
    [("gain[i % 8]", "hardened", ("correct", True)), ("1", "hardened", ("wrong_values", True)),
     ("2", "hardened", ("wrong_values", False)), ("1", "kernelbench", ("correct", True))],
)  # fmt: skip
def test_kernelbench_pass_is_said_of_the_task_as_written(gain: str, protocol: str, wanted: tuple) -> None:
    forward = """
        y = torch.empty_like(x)
        lib.relu(x, self.gain, y, x.numel())
        return y
"""
    init = "self.gain = torch.nn.Parameter(torch.ones(8))"
    made = in_c(GAINED_C.replace("GAIN", gain), "x", forward, init)
    found = verify(GAINED, made, "c-cpu", protocol=protocol)
    assert (found["verdict"], found["kernelbench_pass"]) == wanted


WIDE = task("return torch.relu(x)", inputs="[torch.randn(4, 1).expand(4, 8)]")


@pytest.mark.parametrize("count, wanted", [("32", "correct"), ("24", "not_finite")])
def test_inputs_that_expand_made_are_written_through_their_memory(count: str, wanted: str) -> None:
    forward = f"""
        x = x.contiguous()
        y = torch.empty_like(x)
        lib.relu(x, x, y, {count})
        return y
"""
    found = verify(WIDE, in_c(GAINED_C.replace("GAIN", "1"), "x", forward), "c-cpu")
    assert found["verdict"] == wanted, found["feedback"]


@pytest.mark.parametrize("drawn, wanted", [("torch.randn(8)", "correct"), ("torch.rand(8)", "wrong_values")])
def test_a_candidate_builds_the_same_unregistered_tensors(drawn: str, wanted: str) -> None:
    source = task("return torch.relu(x) * self.scale", setup="self.scale = torch.randn(8)")
    forward = """
        y = torch.empty_like(x)
        lib.relu(x, self.scale, y, x.numel())
        return y
"""
    made = in_c(GAINED_C.replace("GAIN", "gain[i % 8]"), "x", forward, f"self.scale = {drawn}")
    found = verify(source, made, "c-cpu", pool="one secret of many attempts")
    assert found["verdict"] == wanted, found["feedback"]
    assert wanted != "correct" or found["evidence"] == "E3"


FLAT = task("return self.norm(x).mean((1, 2))", setup="self.norm = torch.nn.GroupNorm(1, 8)",
            inputs="[torch.randn(4, 8, 256)]")  # fmt: skip


def test_an_output_that_is_zero_but_for_rounding_as_written_is_judged_by_its_other_trials() -> None:
    """The mean of what a norm with gains of one has centred."""
    sheet = sheet_of(FLAT)
    written, other = sheet.draw(0).expected, sheet.draw(1).expected
    assert written.truth[0].abs().max() < 1e-6 < 1e-4 < other.truth[0].abs().min()
    assert written.judge(0, written.eager[0] + 1e-7)[2] and written.judge(0, torch.zeros(4))[2]
    assert not written.judge(0, torch.full((4,), 1e-3))[2]
    assert other.judge(0, other.eager[0])[2] and not other.judge(0, torch.zeros(4))[2]


@pytest.mark.parametrize("persistent", [True, False])
def test_a_random_buffer_reaches_the_kernel_whether_a_state_dict_has_it_or_not(persistent: bool) -> None:
    register = f'self.register_buffer("table", torch.randn(8), persistent={persistent})'
    source = task("return torch.relu(x) * self.table", setup=register)
    forward = """
        y = torch.empty_like(x)
        lib.relu(x, self.table, y, x.numel())
        return y
"""
    found = verify(source, in_c(GAINED_C.replace("GAIN", "gain[i % 8]"), "x", forward, register), "c-cpu")
    assert (found["verdict"], found["evidence"]) == ("correct", "E3"), found["feedback"]
