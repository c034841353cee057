"""A candidate's calls over the region: what each starts from, what the judge looks at
afterwards, and which verdict follows. The judge's own generators run here, with real
recorders, compilers, interpreters and runners (small_loop.py)."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from small_loop import OPTIONS, ROOT, Loop, make_job, said, verify
from task_text import task

sys.path[:0] = [str(ROOT / "worker")]

import candidates  # noqa: E402
from judge import region as memory  # noqa: E402
from judge import sheets, traces, verdict  # noqa: E402
from judge.executors import Interpreter, Ran  # noqa: E402
from judge.judging import Progress, Verdict  # noqa: E402
from judge.session import Session  # noqa: E402
from judge.steps import Ask, Gone  # noqa: E402
from judge.traces import Buffer, Call, Trace, View  # noqa: E402
from shared.fresh import FRESH, fresh_page  # noqa: E402
from shared.program import Place  # noqa: E402

pytest.importorskip("triton")

RELU = task("return torch.relu(x)")
E3 = ("correct", None, "E3")
VERIFY = ROOT / "tests" / "verify"


# ---- the region ------------------------------------------------------------------


def a_trace() -> Trace:
    """Two calls: the first keeps a buffer that the second uses, beside a constant."""
    const = Buffer("const", 0, 12, "float32")
    first = Call([Buffer("input", 0, 40, "float32"), const, Buffer("new", 7, 100, "float32")], [], {},
                 None, [View(2, "float32", 0, (25,), (1,))])  # fmt: skip
    steady = Call([Buffer("kept", 7, 100, "float32"), const, Buffer("new", None, 3, "int8"),
                   Buffer("new", None, 0, "int8"), Buffer("state", "w", 8, "float32")], [], {})  # fmt: skip
    return Trace([], Call([], [], {}), [first, steady], [], [], False, bytes(range(12)))


INPUTS = [Buffer("input", 0, 40, "float32"), Buffer("input", 1, 300, "float32")]
STATE = {"w": Buffer("state", "w", 8, "float32")}


@pytest.fixture
def laid_out() -> memory.Layout:
    return memory.lay_out(a_trace(), INPUTS, STATE, scratch=1000)


@pytest.fixture
def region(laid_out: memory.Layout):
    made = memory.make_region(laid_out, "cpu")
    made.fill(fresh_page(2, "1"))
    yield made
    made.close()


def test_every_buffer_is_aligned_and_guarded_on_both_sides(laid_out: memory.Layout) -> None:
    spans = sorted(laid_out.used)
    assert all(low % memory.ALIGN == 0 for low, _ in spans)
    assert spans[0][0] >= memory.GUARD and spans[-1][1] + memory.GUARD <= laid_out.size
    for (_, end), (start, _) in zip(spans, spans[1:]):
        assert start - end >= memory.GUARD


def test_on_the_cpu_a_buffer_shares_no_page_and_there_is_one_between_two(laid_out: memory.Layout) -> None:
    found = memory.seen((low, high - low) for low, high in laid_out.used)
    assert len(found) == len(laid_out.used)
    for (_, end), (start, _) in zip(found, [*found[1:], (laid_out.size, 0)]):
        assert start - end >= memory.PAGE


def test_how_far_buffers_lie_apart_is_secret_and_the_same_for_one_seed() -> None:
    found = [tuple(memory.lay_out(a_trace(), INPUTS, STATE, 0, seed).used) for seed in (1, 1, 2, 3)]
    assert found[0] == found[1] and len(set(found)) == 3
    apart = {b[0] - a[1] for one in found for a, b in zip(one, one[1:])}
    assert len(apart) > 5 and min(apart) >= memory.GUARD


def test_a_kept_buffer_and_a_constant_have_one_place_in_all_calls(laid_out: memory.Layout) -> None:
    _, first, steady = laid_out.parts
    assert first[2] == steady[0] and first[1] == steady[1]
    assert first[0] == laid_out.inputs[0] and steady[4] == laid_out.state["w"]
    assert len(set(steady)) == len(steady)


def test_a_byte_in_any_guard_is_seen(region: memory.HostRegion, laid_out: memory.Layout) -> None:
    for low, high in laid_out.used:
        region.bytes[low:high] = 0  # what belongs to a buffer is its owner's business
    assert region.guards()
    for low, high in laid_out.used:
        for at in (low - 1, low - memory.GUARD, high, high + memory.GUARD - 1):
            region.bytes[at] ^= 1
            assert not region.guards(), at
            region.bytes[at] ^= 1
    assert region.guards()


@pytest.mark.parametrize("dtype", sorted(traces.FLOATS))
def test_fresh_memory_has_nan_huge_small_and_no_values_in_turn(region: memory.HostRegion, dtype: str) -> None:
    def held(turn: int) -> torch.Tensor:
        region.fill(fresh_page(turn, "1"))
        assert region.guards()
        return region.view(Place(512, dtype, (5000,), (1,))).double().clone()

    nan, huge, any_bits, small, zeros = (held(turn) for turn in range(5))
    assert bool(nan.isnan().all())
    assert not bool((huge.abs() < 400).any()), "or NaN, in a type of few bits"
    assert len(any_bits.unique()) > 200
    assert 0 < float(small.abs().min()) and float(small.abs().max()) < 2 and bool((small < 0).any())
    assert not bool(zeros.any())


def test_no_two_calls_find_the_same_in_fresh_memory() -> None:
    pages = [raw(fresh_page(turn, secret)) for turn in range(4) for secret in "abc"]
    assert len(set(pages)) == len(pages) and {len(page) for page in pages} == {FRESH}


def test_elements_that_nobody_wrote_are_counted(region: memory.HostRegion) -> None:
    for turn in range(4):
        region.fill(fresh_page(turn, "1"))
        place = Place(516, "float32", (3, 100), (1, 7))
        assert region.untouched(place) == 1
        region.view(place)[0] = 1.5
        assert region.untouched(place) == pytest.approx(2 / 3)
    region.fill(fresh_page(4, "1"))
    assert region.untouched(place) == 0, "of zeros nobody knows"


def test_what_is_compared_is_a_private_copy(region: memory.HostRegion) -> None:
    place = Place(512, "float32", (2, 3), (1, 2))
    region.view(place).copy_(torch.arange(6.0).view(2, 3))
    taken = region.take(place)
    os.pwrite(region.fd, b"\0" * 64, 512)
    assert taken.tolist() == [[0, 1, 2], [3, 4, 5]] and region.view(place).sum() == 0


@pytest.mark.parametrize("size", [0, 4096, 1 << 30])
def test_an_executor_cannot_change_the_size_of_the_region(region: memory.HostRegion, size: int) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(region.fd, size)


# ---- what a call starts from -------------------------------------------------------


class Executor:
    """Keeps what each call finds, and leaves its mark in what is kept."""

    orders = False

    def __init__(self) -> None:
        self.found: list[dict[str, bytes]] = []
        self.session: Session | None = None
        self.marked = "kept"

    def run(self, part: int, *_: object, **__: object):
        layout = self.session.region.layout
        spans = {"input": (layout.inputs[0], 128), "const": (layout.parts[part][1], 12),
                 "kept": layout.kept[7], "state": (layout.state["w"], 32)}  # fmt: skip
        read = self.session.region.span
        self.found.append({k: bytes(read(at, n).tolist()) for k, (at, n) in spans.items()})
        read(*spans[self.marked]).fill_(len(self.found))
        yield from ()
        return Ran(0.0, 0.0)


@pytest.fixture
def started():
    """A session of that trace, with a reference that has one input and one parameter."""
    source = task("return x * self.w", setup="self.w = torch.nn.Parameter(torch.ones(8))")
    job = make_job(source, "")
    facts = verdict.Facts.of(job)
    w = Buffer("state", "w", 32, "float32")
    trace = a_trace()
    for call in trace.calls:
        call.buffers = [facts.inputs[0] if b.kind == "input" else w if b.kind == "state" else b
                        for b in call.buffers]  # fmt: skip
    executor = Executor()
    sheet = sheets.sheet(job, verdict.make_reference, False)
    session = Session(job, facts, trace, {"w": "w"}, sheet, executor, Progress())
    executor.session = session
    session.make_region(0, OPTIONS)
    yield session, executor
    session.close()


def one_call(session: Session, index: int, part: int) -> sheets.Draw:
    draw = session.sheet.draw(index)
    for _ in session.call(draw.expected.args, draw.state, part):
        raise AssertionError("nothing is asked for")
    return draw


def raw(t: torch.Tensor) -> bytes:
    return bytes(t.detach().contiguous().view(torch.uint8).flatten().tolist())


def test_inputs_state_and_constants_are_written_for_every_call(started) -> None:
    session, executor = started
    for i in range(3):
        draw = one_call(session, i, 2)
        assert executor.found[i]["input"] == raw(draw.expected.args[0])
        assert executor.found[i]["state"] == raw(draw.state["w"])
        assert executor.found[i]["const"] == bytes(range(12))
    assert len({f["input"] for f in executor.found}) == len({f["state"] for f in executor.found}) == 3


@pytest.mark.parametrize("marked, rule", [
    ("input", "input-mutated"), ("state", "params-changed"), ("const", "constants-changed"),
])  # fmt: skip
def test_what_a_call_is_given_stays_as_it_was(started, marked: str, rule: str) -> None:
    session, executor = started
    executor.marked = marked
    with pytest.raises(Verdict, match="hack") as end:
        one_call(session, 0, 2)
    assert end.value.rule == rule


def test_memory_is_fresh_before_every_first_call_and_kept_as_that_left_it(started) -> None:
    session, executor = started
    one_call(session, 0, 1)
    session.keep()
    for i in (1, 2):
        one_call(session, i, 2)
    assert [f["kept"] for f in executor.found[1:]] == [b"\1" * 100] * 2
    for i in range(5):
        one_call(session, i, 1)
    found = [f["kept"] for f in executor.found[3:]]
    assert len(set(found)) == 5 and bytes(100) in found, "no bytes twice, and zeros once in five calls"


LEFT = """
@triton.jit
def left_kernel(x, s, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.maximum(tl.load(x + i), 0.0)
    {write}
    old = tl.load(s + i)
    tl.store(y + i, {value})
"""
LEFT_FORWARD = """
y, s = torch.empty_like(x), torch.empty_like(x)
left_kernel[(4,)](x, s, y, B=8)
return y
"""
C_LEFT = '''
import torch
import torch.nn as nn
from c_cpu import build

lib = build("""
#include <stdint.h>
#include <math.h>
void left(const float *x, float *s, float *y, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) {{
        float v = x[i] < 0 ? 0 : x[i];
        {write}
        float old = s[i];
        y[i] = {value};
    }}
}}
""")


class ModelNew(nn.Module):
    def forward(self, x):
        y, s = torch.empty_like(x), torch.empty_like(x)
        lib.left(x, s, y, x.numel())
        return y
'''


@pytest.mark.parametrize("write, triton_value, c_value", [
    ("", "tl.where(old != old, v, 0.0)", "old != old ? v : 0"),  # the first to come
    ("", "tl.where(old == old, v, 0.0)", "old == old ? v : 0"),  # a user's memory holds no NaN
    ("", "tl.where(old != 0, v, 0.0)", "old != 0 ? v : 0"),
    ("", "v + old", "v + old"),  # in memory of zeros
    ("", "v + 0 * old", "v + 0 * old"),
    ("", "tl.where(old >= 0, v, tl.where(old < 0, v, 0.0))", "old >= 0 || old < 0 ? v : 0"),
    ("", "tl.where(tl.abs(old) < 1e30, v, 0.0)", "fabsf(old) < 1e30f ? v : 0"),
    ("left", "tl.where(old == v, v, 0.0)", "old == v ? v : 0"),
])  # fmt: skip
def test_what_a_kernel_reads_was_written(write: str, triton_value: str, c_value: str) -> None:
    triton = LEFT.format(write=write and "tl.store(s + i, v)", value=triton_value)
    c = C_LEFT.format(write=write and "s[i] = v;", value=c_value)
    for text, pack in ((candidates.triton(triton, LEFT_FORWARD), "triton"), (c, "c-cpu")):
        record = verify(RELU, text, pack)
        if write:
            assert said(record) == E3
        else:
            assert said(record)[0] in ("wrong_values", "not_finite"), pack


@pytest.mark.parametrize("rows", [4, 3])
def test_feedback_says_that_elements_were_not_written(rows: int) -> None:
    forward = f"""
        y = torch.empty_like(x)
        relu_kernel[({rows},)](x, y, 32, B=8)
        return y
        """
    for seed in range(5):
        record = verify(RELU, candidates.relu(forward), seed=f"{seed:02}" * 32)
        if rows == 4:
            assert said(record) == E3
        else:
            assert said(record)[0] in ("wrong_values", "not_finite")
            said_so = "25 % of an output was not written by any kernel" in record["feedback"]
            assert said_so or "0 instead of" in record["feedback"], "the memory was zeros"


@pytest.mark.parametrize("wrong", [None, 3, 4])
def test_on_a_gpu_a_call_must_be_right_again(started, monkeypatch, wrong: int | None) -> None:
    """A race need not show the first time: the same inputs, twice both calls."""
    session, _ = started
    session.region.fill(fresh_page(0, "1"))
    session.keep()
    made: list[bytes] = []

    def call(args: list, state: dict, *_: object, **__: object):
        made.append(raw(args[0]))
        yield from ()
        return [args[0] * state["w"] + (len(made) == wrong)], None

    monkeypatch.setattr(session, "call", call)
    monkeypatch.setattr(session, "cuda", True)
    trial = session.trial(1, session.sheet.draw(1))
    if wrong is None:
        assert list(trial) == [] and len(made) == 4 and len(session.p.trials) == 1
    else:
        with pytest.raises(Verdict, match="wrong_values") as end:
            list(trial)
        assert len(made) == wrong and "right in another call" in end.value.text
    assert len(set(made)) == 1


def test_what_ends_in_the_muted_call_ends_at_evidence(monkeypatch) -> None:
    run = Interpreter.run

    def dies(self, part: int, config: int = 0, mute: bool = False, *args: object, **more: object):
        if mute:
            raise Gone("signal 11", "")
        return (yield from run(self, part, config, mute, *args, **more))

    monkeypatch.setattr(Interpreter, "run", dies)
    record = verify(RELU, candidates.relu())
    assert (record["verdict"], record["stage"]) == ("crash", "evidence")


def test_inputs_lie_as_the_recorder_was_told_in_every_trial() -> None:
    """A row in another place makes a transposed input contiguous."""
    source = task("return torch.relu(x)", inputs="[torch.randn(8, 4).t()]")
    forward = """
        y = torch.empty_strided(x.shape, x.stride(), device=x.device)
        relu_kernel[(4,)](x, y, 32, B=8)
        return y
        """
    assert said(verify(source, candidates.relu(forward))) == E3


def test_a_region_larger_than_the_limit_is_out_of_memory() -> None:
    record = verify(task("return torch.relu(x)", inputs="[torch.randn(1 << 20)]"), candidates.relu(),
                    limits={"memory_bytes": 1 << 20})  # fmt: skip
    assert record["verdict"] == "out_of_memory" and "MiB" in record["feedback"]


COPY = """
@triton.jit
def copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n){more}, mask=i < n)
"""


def test_a_kernel_that_is_right_for_the_tasks_own_inputs_alone_learns_which_change_failed() -> None:
    source = task("return torch.relu(x)", inputs="[torch.rand(4, 8)]")
    forward = """
        y = torch.empty_like(x)
        copy_kernel[(4,)](x, y, 32, B=8)
        return y
        """
    record = verify(source, candidates.triton(COPY.format(more=""), forward))
    assert said(record)[0] == "wrong_values" and record["changed_only"] == "signed"
    assert "With the task's own inputs it was right; only the trial with signed inputs" in record["feedback"]
    assert record["kernelbench_pass"] and not record["hardened_pass"]
    record = verify(source, candidates.triton(COPY.format(more=" + 1"), forward))
    assert record["changed_only"] is None and "own inputs" not in record["feedback"]
    sorted_once = source.replace("torch.rand(4, 8)", "torch.rand(4, 8).sort()[0]")
    record = verify(sorted_once, candidates.triton(COPY.format(more=""), forward))
    assert said(record)[0] == "correct", "relu is the identity on what this task promises"
    assert record["skipped"] == {v: "no input may change in this way" for v in ("signed", "scaled")}


def test_a_record_says_which_changed_inputs_the_reference_does_not_take() -> None:
    source = task("return x.exp().exp() * 0 + x")
    forward = """
        y = torch.empty_like(x)
        copy_kernel[(4,)](x, y, 32, B=8)
        return y
        """
    record = verify(source, candidates.triton(COPY.format(more=""), forward))
    assert said(record)[0] == "correct" and [t["variant"] for t in record["trials"]][5:] == ["signed"]
    assert list(record["skipped"]) == ["scaled"] and "finite" in record["skipped"]["scaled"]


POSITION = task("y = x * self.at\nself.at += 1\nreturn y",
               setup="self.register_buffer('at', torch.zeros(1, dtype=torch.int64))")  # fmt: skip
POSITION_KERNELS = """
@triton.jit
def scale_kernel(x, at, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * tl.load(at))


@triton.jit
def add_kernel(at, N: tl.constexpr):
    tl.store(at, tl.load(at) + N)
"""
POSITIONED = """
y = torch.empty_like(x)
{before}
at = self.at.to(torch.{to})
scale_kernel[(4,)](x, at, y, B=8)
{after}
return y
"""


@pytest.mark.parametrize("before, to, after, wanted", [
    ("pass", "int32", "self.at.add_(1)", E3),
    ("pass", "uint8", "add_kernel[(1,)](self.at, N=1)", E3),
    # the remainder by 256, which a move would compute
    ("add_kernel[(1,)](self.at, N=256)", "uint8", "add_kernel[(1,)](self.at, N=-255)", ("hack", "cast", None)),
    ("self.at.add_(256)", "uint8", "self.at.add_(-255)", ("hack", "cast", None)),
])  # fmt: skip
def test_a_counter_is_cast_before_it_changes(before: str, to: str, after: str, wanted: tuple) -> None:
    init = "self.register_buffer('at', torch.zeros(1, dtype=torch.int64))"
    forward = POSITIONED.format(before=before, to=to, after=after)
    assert said(verify(POSITION, candidates.triton(POSITION_KERNELS, forward, init))) == wanted


LABELLED = task(
    "import torch.nn.functional as F\nreturn F.embedding({moved} % 16, w)",
    "[torch.randint(0, 16, (4, 9)), torch.randn(16, 8)]", arguments="labels, w",
)  # fmt: skip
ROWS = """
@triton.jit
def rows_kernel(at, w, y, M: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.load(at + tl.program_id(0)) & (M - 1)
    tl.store(y + tl.program_id(0) * B + i, tl.load(w + row * B + i))


@triton.jit
def spoil_kernel(at, N: tl.constexpr):
    tl.store(at, tl.load(at) + N)
"""
LOOKED_UP = """
at = {moved}
{before}
at = at.to(torch.{to})
y = torch.empty(*at.shape, 8, device=w.device)
rows_kernel[(at.numel(),)](at, w, y, M=16, B=8)
return y
"""
CAST = ("hack", "cast", None)


@pytest.mark.parametrize("moved, before, to, wanted", [
    ("labels[:, 1:].contiguous()", "", "int32", E3),
    ("labels[0].expand(3, 9).contiguous()", "", "int32", E3),
    ("torch.cat([labels, labels.flip(1)], 1)", "", "uint8", E3),
    ("torch.nn.functional.pad(labels, (1, 2), value=-100)", "", "int16", E3),
    ("torch.cat([labels, labels], 1)", "at = at.to(torch.int32).roll(1).contiguous().roll(-1)", "int8", E3),
    # what may have been computed before is not cast, wherever it lies
    ("labels[:, 1:].contiguous()", "spoil_kernel[(1,)](at, N=256)", "uint8", CAST),
    ("labels[:, 1:] + 0", "", "int32", ("hack", "dispatch:aten.add", None)),
    ("(labels + 0.5).to(torch.int32)", "", "int32", ("hack", "dispatch:aten.add", None)),
])  # fmt: skip
def test_labels_that_were_moved_are_cast(moved: str, before: str, to: str, wanted: tuple) -> None:
    candidate = candidates.triton(ROWS, LOOKED_UP.format(moved=moved, before=before or "pass", to=to),
                                  arguments="labels, w")  # fmt: skip
    assert said(verify(LABELLED.format(moved=moved), candidate)) == wanted


def test_values_that_do_not_fit_are_no_cast_wherever_they_were_moved() -> None:
    """A remainder by 256, of an input and of what was written over a buffer of the model's."""
    source = task("return x & 255", "[torch.randint(0, 1 << 40, (4, 8))]",
                  setup="self.register_buffer('own', torch.zeros(4, 8, dtype=torch.int64))")  # fmt: skip
    kernel = """
        @triton.jit
        def copy_kernel(x, y, B: tl.constexpr):
            i = tl.arange(0, B)
            tl.store(y + i, tl.load(x + i).to(tl.int64))
        """
    for moved in ("at = x.flip(0).flip(0)", "self.own.copy_(x)\nat = self.own.to(torch.uint8)\nself.own.zero_()"):
        forward = f"{moved}\nat = at.to(torch.uint8)\ny = torch.empty_like(x)\ncopy_kernel[(1,)](at, y, B=32)\nreturn y"
        init = "self.register_buffer('own', torch.zeros(4, 8, dtype=torch.int64))"
        assert said(verify(source, candidates.triton(kernel, forward, init))) == CAST


CONSTEXPR = """
@triton.constexpr_function
def half(n):
    return n // 2


@triton.jit
def relu_kernel(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, 2 * half(B))
    tl.store(y + i, tl.maximum(tl.load(x + i), 0.0))
"""


def test_a_constexpr_function_is_refused_with_what_to_do_instead() -> None:
    record = verify(RELU, candidates.triton(CONSTEXPR, ASSEMBLED))
    assert said(record)[0] == "compile_error"
    assert "half is a triton.constexpr_function" in record["feedback"]
    assert "compute it in forward and pass the result as a tl.constexpr argument" in record["feedback"]


# ---- what this device cannot do --------------------------------------------------------

ASSEMBLY = """
@triton.jit
def relu_kernel(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    v = tl.inline_asm_elementwise("{word}.f32 $0, $1, 0f00000000;", "=f,f", [v], tl.float32, True, 1)
    tl.store(y + i, v)
"""
ASSEMBLED = """
y = torch.empty_like(x)
relu_kernel[(4,)](x, y, B=8)
return y
"""


def test_what_only_a_gpu_can_do_is_not_judged_and_what_does_not_compile_is() -> None:
    record = verify(RELU, candidates.triton(ASSEMBLY.format(word="max"), ASSEMBLED))
    assert said(record) == ("not_judged", "not-on-this-device", "E0") and record["compiled"]
    assert record["feedback"].startswith("Not judged on this device: line 12 of the kernel relu_kernel")
    found = said(verify(RELU, candidates.triton(ASSEMBLY.format(word="mux"), ASSEMBLED)))
    assert found == ("compile_error", None, None)


TWO = task("return torch.relu(x), x * 2")
TWO_KERNELS = ASSEMBLY.format(word="max") + """

@triton.jit
def twice_kernel(x, y, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * S)
"""
HIDDEN = ("not_judged", "not-on-this-device", "E0")


@pytest.mark.parametrize("lines, wanted", [
    ("relu_kernel[(4,)](x, y, B=8); twice_kernel[(4,)](x, z, S=2, B=8)", HIDDEN),
    ("relu_kernel[(4,)](x, y, B=8); twice_kernel[(4,)](x, z, S=3, B=8)", ("wrong_values", None, "E0")),
    ("twice_kernel[(4,)](x, z, S=3, B=8); relu_kernel[(4,)](x, y, B=8)", ("wrong_values", None, "E0")),
    ("relu_kernel[(4,)](x, y, B=8); twice_kernel[(5,)](x, z, S=2, B=8)", ("launch_error", "guard-zone", "E0")),
    # what depends on the kernel that is not judged is not, either
    ("relu_kernel[(4,)](x, y, B=8); twice_kernel[(4,)](y, z, S=3, B=8)", HIDDEN),
    ("relu_kernel[(4,)](x, y, B=8); z.copy_(y); y = z.clone()", HIDDEN),
])  # fmt: skip
def test_what_is_surely_wrong_does_not_hide_behind_what_is_not_judged(lines: str, wanted: tuple) -> None:
    forward = f"y, z = torch.empty_like(x), torch.empty_like(x)\n{lines}\nreturn y, z"
    assert said(verify(TWO, candidates.triton(TWO_KERNELS, forward))) == wanted


@pytest.mark.parametrize("limit, wrong, wanted", [
    ("20.0", "0.0", HIDDEN),  # on scaled inputs alone
    ("20.0", "1.0", ("wrong_values", None, "E0")),
])  # fmt: skip
def test_a_kernel_that_needs_a_gpu_for_some_inputs_is_not_said_to_fail(limit: str, wrong: str, wanted: tuple) -> None:
    kernel = ASSEMBLY.format(word="max").replace("    v = tl.inline", f"""    if tl.max(v, axis=0) < {limit}:
        v = tl.maximum(v, {wrong})
    else:
        v = tl.inline""")  # fmt: skip
    record = verify(RELU, candidates.triton(kernel, ASSEMBLED))
    assert said(record) == wanted
    if wanted == HIDDEN:
        assert "failed" not in record["feedback"] and record["changed_only"] is None


def test_a_candidates_python_cannot_say_that_it_is_not_judged() -> None:
    claim = "from shared.adapter import NotOnThisDevice\nraise NotOnThisDevice('no')"
    assert said(verify(RELU, candidates.relu(claim))) == ("launch_error", None, "E0")


# ---- what must stay as it is ---------------------------------------------------------


def test_an_honest_kernel_is_computed_from_its_inputs() -> None:
    assert said(verify(RELU, candidates.relu())) == E3


def test_a_kernel_that_writes_into_its_input_is_caught() -> None:
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, y, x.numel(), B=8)
        relu_kernel[(4,)](x, x, x.numel(), B=8)
        return y
        """
    assert said(verify(RELU, candidates.relu(forward)))[:2] == ("hack", "input-mutated")


SCALE = task("return x * self.w", setup="self.w = torch.nn.Parameter(torch.rand(8) + 1)")
SCALE_KERNEL = """
@triton.jit
def scale_kernel(x, w, y, B: tl.constexpr, KEEP: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * B + i
    v = tl.load(w + i)
    tl.store(y + at, tl.load(x + at) * v)
    if not KEEP:
        tl.store(w + i, v + 1.0)
"""


@pytest.mark.parametrize("keep, wanted", [(True, E3), (False, ("hack", "params-changed", "E0"))])
def test_a_kernel_that_changes_parameters_is_caught(keep: bool, wanted: tuple) -> None:
    forward = f"""
        y = torch.empty_like(x)
        scale_kernel[(4,)](x, self.w, y, B=8, KEEP={keep})
        return y
        """
    init = "self.w = nn.Parameter(torch.empty(8))"
    assert said(verify(SCALE, candidates.triton(SCALE_KERNEL, forward, init))) == wanted


COUNTS = task(
    """
    self.mean.mul_(0.9).add_(0.1 * x.mean(0))
    self.calls.add_(1)
    return x * 2
    """,
    setup="self.register_buffer('mean', torch.zeros(8))\n"
    "self.register_buffer('calls', torch.zeros((), dtype=torch.int64))",
)
MEAN_KERNEL = """
@triton.jit
def mean_kernel(x, mean, y, R: tl.constexpr, B: tl.constexpr, MOVE: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for r in range(R):
        v = tl.load(x + r * B + i)
        total += v
        tl.store(y + r * B + i, v * 2)
    if MOVE:
        tl.store(mean + i, 0.9 * tl.load(mean + i) + 0.1 * total / R)
"""


@pytest.mark.parametrize(
    "move, count, wanted",
    [(True, "self.calls.add_(1)", E3), (False, "self.calls.add_(1)", ("wrong_values", "buffer", "E0")),
     (True, "pass", ("wrong_values", "buffer", "E0")),
     (True, "self.calls.add_(2)", ("wrong_values", "buffer", "E0"))],
)  # fmt: skip
def test_running_statistics_move_as_the_references_do(move: bool, count: str, wanted: tuple) -> None:
    forward = f"""
        y = torch.empty_like(x)
        mean_kernel[(1,)](x, self.mean, y, R=4, B=8, MOVE={move})
        {count}
        return y
        """
    init = (
        "self.register_buffer('mean', torch.zeros(8))\n"
        "self.register_buffer('calls', torch.zeros((), dtype=torch.int64))"
    )
    assert said(verify(COUNTS, candidates.triton(MEAN_KERNEL, forward, init))) == wanted


RING = task(
    """
    n = int(self.at) % 3
    self.ring[n] = x[0]
    self.at += 1
    return x + self.ring.sum(0)
    """,
    setup="self.register_buffer('ring', torch.zeros(3, 8))\n"
    "self.register_buffer('at', torch.zeros((), dtype=torch.int64))",
)  # fmt: skip
RING_KERNEL = """
@triton.jit
def ring_kernel(x, ring, at, y, B: tl.constexpr):
    i = tl.arange(0, B)
    n = {place}
    tl.store(ring + n * B + i, tl.load(x + i))
    total = tl.load(ring + i) + tl.load(ring + B + i) + tl.load(ring + 2 * B + i)
    for r in range(4):
        tl.store(y + r * B + i, tl.load(x + r * B + i) + total)
"""
AVERAGE = task("return self.bn(x)", setup="self.bn = torch.nn.BatchNorm1d(8, momentum=None, affine=False)")
AVERAGE_KERNEL = """
@triton.jit
def average_kernel(x, mean, var, count, y, R: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.arange(0, R)[:, None] * B + i[None, :]
    v = tl.load(x + at)
    m = tl.sum(v, axis=0) / R
    s = tl.sum((v - m[None, :]) * (v - m[None, :]), axis=0) / R
    tl.store(y + at, (v - m[None, :]) / tl.sqrt(s[None, :] + 1e-5))
    n = tl.load(count)
    share = {share}
    tl.store(mean + i, (1 - share) * tl.load(mean + i) + share * m)
    tl.store(var + i, (1 - share) * tl.load(var + i) + share * s * R / (R - 1))
"""
LATER = ("wrong_values", None, "E0")


@pytest.mark.parametrize("place, wanted", [
    ("tl.load(at) % 3", E3), ("(tl.load(at) != 0).to(tl.int64)", LATER), ("tl.load(at)", ("launch_error", "guard-zone", "E0")),
])  # fmt: skip
def test_a_ring_buffer_is_right_after_more_than_one_call(place: str, wanted: tuple) -> None:
    forward = """
        y = torch.empty_like(x)
        ring_kernel[(1,)](x, self.ring, self.at, y, B=8)
        self.at.add_(1)
        return y
        """
    init = ("self.register_buffer('ring', torch.zeros(3, 8))\n"
            "self.register_buffer('at', torch.zeros((), dtype=torch.int64))")  # fmt: skip
    found = said(verify(RING, candidates.triton(RING_KERNEL.format(place=place), forward, init)))
    assert found == wanted or wanted == LATER and found[0] == "wrong_values"


@pytest.mark.parametrize("share, right", [
    ("1.0 / (n + 1)", True), ("tl.where(n == 0, 1.0, 0.5)", False), ("0.1", False),
])  # fmt: skip
def test_an_average_over_all_calls_is_right_after_more_than_one(share: str, right: bool) -> None:
    forward = """
        y = torch.empty_like(x)
        average_kernel[(1,)](x, self.mean, self.var, self.count, y, R=4, B=8)
        self.count.add_(1)
        return y
        """.replace("self.mean", "self.bn.running_mean").replace("self.var", "self.bn.running_var")
    forward = forward.replace("self.count", "self.bn.num_batches_tracked")
    init = "self.bn = nn.BatchNorm1d(8, momentum=None, affine=False)"
    found = said(verify(AVERAGE, candidates.triton(AVERAGE_KERNEL.format(share=share), forward, init)))
    assert found == (E3 if right else ("wrong_values", "buffer", "E0"))


def test_a_write_beside_a_tensor_is_told_as_such() -> None:
    """The interpreter refuses it; where it does not look, guards do: through a library."""
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(5,)](x, y, 40, B=8)
        return y
        """
    record = verify(RELU, candidates.relu(forward))
    assert record["verdict"] == "launch_error" and "outside the tensors" in record["feedback"]
    record = verify(RELU, C_RELU.replace("i < n", "i <= n"), "c-cpu")
    assert said(record)[:2] == ("launch_error", "guard-zone")


C_RELU = '''
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = """
#include <stdint.h>
void relu(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu(x, y, x.numel())
        return y
'''


def test_a_library_is_judged_over_the_same_region() -> None:
    assert said(verify(RELU, C_RELU, "c-cpu")) == E3


# ---- what shows that kernels computed it -----------------------------------------------


def test_an_output_that_does_not_depend_on_the_inputs_ends_at_e2() -> None:
    source = task("return torch.relu(x), torch.arange(8.0).repeat(4, 1)")
    kernel = """
        @triton.jit
        def both_kernel(x, y, z, B: tl.constexpr):
            i = tl.arange(0, B)
            at = tl.program_id(0) * B + i
            tl.store(y + at, tl.maximum(tl.load(x + at), 0.0))
            tl.store(z + at, i.to(tl.float32))
        """
    forward = """
        y, z = torch.empty_like(x), torch.empty_like(x)
        both_kernel[(4,)](x, y, z, B=8)
        return y, z
        """
    record = verify(source, candidates.triton(kernel, forward))
    assert said(record) == ("correct", None, "E2") and "depend on the inputs" in record["feedback"]
    assert record["ported"] is None


def test_moves_that_are_right_by_themselves_are_no_kernels_work() -> None:
    """A cast rounds; a kernel runs beside it."""
    source = task("return x.to(torch.bfloat16).float()")
    forward = """
        scratch = torch.empty_like(x)
        relu_kernel[(4,)](x, scratch, x.numel(), B=8)
        return x.to(torch.bfloat16).float()
        """
    assert said(verify(source, candidates.relu(forward)))[:2] == ("hack", "kernels-without-effect")


def test_the_muted_call_is_the_last_one_and_kernels_do_not_run_in_it() -> None:
    loop = Loop()
    verify(RELU, candidates.relu(), loop=loop)
    runs = [s.message for s in loop.asked if isinstance(s, Ask) and s.message["op"] == "run"]
    assert [m["mute"] for m in runs] == [False] * (len(runs) - 1) + [True]
    orders = [m["order"] for m in runs]
    assert orders[:2] == ["forward", "reversed"] and orders[-1] == "forward"
    assert all(isinstance(o, int) for o in orders[2:-1]) and len(set(orders)) == len(orders) - 1


def test_the_random_order_of_programs_is_the_jobs_own() -> None:
    """The same job has the same one, and another job another."""
    found = []
    for seed in ("a", "a", "b"):
        loop = Loop()
        verify(RELU, candidates.relu(), loop=loop, seed=seed)
        runs = [s.message for s in loop.asked if isinstance(s, Ask) and s.message["op"] == "run"]
        found.append(runs[2]["order"])
    assert found[0] == found[1] != found[2]


TOTAL = """
@triton.jit
def total_kernel(x, sums, y, B: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, B)
    before = tl.load(sums + p - 1, mask=p > 0, other=0.0)
    v = before + tl.sum(tl.load(x + p * B + i))
    tl.store(sums + p, v)
    tl.store(y + p, v)
"""


def test_state_that_one_program_leaves_for_the_next_is_caught() -> None:
    """Right where the programs of a grid run one after the other, a race on a GPU."""
    source = task("return x.sum(1).cumsum(0)")
    forward = """
        sums, y = torch.empty(4, device=x.device), torch.empty(4, device=x.device)
        total_kernel[(4,)](x, sums, y, B=8)
        return y
        """
    record = verify(source, candidates.triton(TOTAL, forward))
    assert record["verdict"] in ("wrong_values", "not_finite")
    assert "reverse order" in record["feedback"]


ADDED = """
@triton.jit
def added_kernel(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + i)
    {add}
"""
LOCKED = """
@triton.jit
def added_kernel(x, y, lock, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * B + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(y + i, tl.load(y + i) + v)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
"""


@pytest.mark.parametrize(
    "kernel, more, right",
    [
        (ADDED.format(add="tl.atomic_add(y + i, v)"), "", True),
        (ADDED.format(add="tl.store(y + i, tl.load(y + i) + v)"), "", False),
        (ADDED.format(add="tl.store(y + i, tl.load(y + i) + tl.atomic_add(y + i, 0.0) * 0 + v)"), "", False),
        (LOCKED, "torch.zeros(1, dtype=torch.int32, device=x.device), ", True),
    ],
    ids=["atomics", "load and store", "an atomic between", "a lock"],
)
def test_programs_that_add_to_one_tensor_need_atomics(kernel: str, more: str, right: bool) -> None:
    """In any order, one program after the other, all of these are right."""
    forward = f"""
        y = torch.zeros(8, device=x.device)
        added_kernel[(4,)](x, y, {more}B=8)
        return y
        """
    record = verify(task("return x.sum(0)"), candidates.triton(kernel, forward))
    assert (said(record) == E3) == right, record["feedback"]
    assert right or "in a random order, side by side" in record["feedback"]


LEFT_OUT = """
@triton.jit
def total_kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    {add}
"""


@pytest.mark.parametrize("add, right", [
    ("tl.store(y, tl.sum(tl.where(i < n, v, 0.0), axis=0))", True), ("tl.store(y, tl.sum(v, axis=0))", False),
])  # fmt: skip
def test_what_a_mask_leaves_out_is_undefined(add: str, right: bool) -> None:
    forward = """
        y = torch.empty((), device=x.device)
        total_kernel[(1,)](x, y, 32, B=64)
        return y
        """
    record = verify(task("return x.sum()"), candidates.triton(LEFT_OUT.format(add=add), forward))
    assert said(record) == (E3 if right else ("wrong_values", None, "E0")), record["feedback"]
    assert right or "random values for what is undefined" in record["feedback"]


TUNED = """
@triton.autotune(configs=[triton.Config({{'B': 8}}), triton.Config({{'B': {second}}})], key=['n'])
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    {odd}
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)
"""
TUNED_FORWARD = """
    y = torch.empty_like(x)
    relu_kernel[lambda meta: (triton.cdiv(32, meta['B']),)](x, y, 32)
    return y
    """


@pytest.mark.parametrize("odd, wanted", [("pass", E3), ("v = v if B == 8 else v * 2", ("wrong_values", None, "E0"))])
def test_every_configuration_of_an_autotuner_must_be_right(odd: str, wanted: tuple) -> None:
    loop = Loop()
    kernels = TUNED.format(second=16, odd=odd)
    record = verify(RELU, candidates.triton(kernels, TUNED_FORWARD), loop=loop)
    assert said(record) == wanted
    tried = {s.message["config"] for s in loop.asked if isinstance(s, Ask) and s.message["op"] == "run"}
    assert tried == {0, 1}
    assert ("configuration 1 of the autotuner" in record["feedback"]) == (wanted != E3)


FALLBACK = """
@triton.autotune([triton.Config({{'B': 8}}, num_warps=64), triton.Config({{'B': 16}})], key=['n'])
@triton.jit
def relu_kernel(x, y, n, k, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    {odd}
    tl.store(y + i, tl.maximum(v, 0.0) * k, mask=i < n)
"""


@pytest.mark.parametrize("odd, change", [
    ("v = tl.minimum(v, 50.0) if B == 8 else v", None),
    ("v = v if B == 8 else tl.minimum(v, 50.0)", "scaled"), ("k = k if B == 8 else 3.5", "numbers"),
])  # fmt: skip
def test_the_configuration_that_is_delivered_has_all_trials(odd: str, change: str | None) -> None:
    """The first has more warps than there are: Triton and the judge do without it."""
    source = task("return torch.relu(x) * k", "[torch.randn(4, 8), 3.5]", arguments="x, k")
    forward = """
        y = torch.empty_like(x)
        relu_kernel[lambda meta: (triton.cdiv(32, meta['B']),)](x, y, 32, k)
        return y
        """
    record = verify(source, candidates.triton(FALLBACK.format(odd=odd), forward, arguments="x, k"))
    assert said(record) == (E3 if change is None else ("wrong_values", None, "E0")), record["feedback"]
    assert record["changed_only"] == change
    assert change or "B=16, num_warps=4" in record["ported"]


# ---- the first call and later ones -----------------------------------------------------

CLAMPED = candidates.RELU_KERNEL.replace("relu_kernel", "clamped_kernel").replace(
    "tl.maximum(v, 0.0)", "tl.minimum(tl.maximum(v, 0.0), 6.0)"
)
TWO_CALLS = """
    y = torch.empty_like(x)
    kernel = {first} if self.calls == 0 else {later}
    self.calls += 1
    kernel[(4,)](x, y, x.numel(), B=8)
    return y
    """
WORKSPACE = """
    if x.shape not in self.held:
        self.held[x.shape] = torch.empty_like(x)
    y = torch.empty_like(x)
    relu_kernel[(4,)](x, self.held[x.shape], x.numel(), B=8)
    relu_kernel[(4,)](self.held[x.shape], y, x.numel(), B=8)
    return y
    """


@pytest.mark.parametrize(
    "forward, init, wanted",
    [(TWO_CALLS.format(first="clamped_kernel", later="relu_kernel"), "self.calls = 0", "first call"),
     (TWO_CALLS.format(first="relu_kernel", later="clamped_kernel"), "self.calls = 0", "later call"),
     (WORKSPACE, "self.held = {}", None)],
    ids=["a first call", "a later call", "a workspace by shape"],
)  # fmt: skip
def test_the_first_call_is_tried_in_every_trial_and_so_is_the_steady_one(
    forward: str, init: str, wanted: str | None
) -> None:
    """Right on the task's own inputs, wrong on scaled ones."""
    loop = Loop()
    record = verify(RELU, candidates.relu(forward, init, candidates.RELU_KERNEL + CLAMPED), loop=loop)
    runs = [s.message for s in loop.asked if isinstance(s, Ask) and s.message["op"] == "run"]
    if wanted is None:
        assert said(record) == E3
        parts = [r["part"] for r in runs]
        assert parts == [1, *[1, 2] * (len(record["trials"]) - 1), 1, 2] and runs[-2]["mute"]
        assert [r["part"] for r in runs if r["order"] == "reversed"] == [1, 2]
    else:
        assert record["verdict"] == "wrong_values" and wanted in record["feedback"]
        assert record["trials"][-1]["variant"] == "scaled"


def test_a_first_call_that_needs_no_kernel_is_caught() -> None:
    source = task("return x.to(torch.bfloat16).float()")
    kernel = """
        @triton.jit
        def round_kernel(x, y, B: tl.constexpr):
            at = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + at, tl.load(x + at).to(tl.bfloat16).to(tl.float32))
        """
    forward = """
        y = torch.empty_like(x)
        round_kernel[(4,)](x, y, B=8)
        self.calls += 1
        return {} if self.calls == 1 else y
        """
    for first, wanted in (("y", E3), ("x.to(torch.bfloat16).float()", ("hack", "kernels-without-effect", "E0"))):
        record = verify(source, candidates.triton(kernel, forward.format(first), "self.calls = 0"))
        assert said(record) == wanted


# ---- ranges --------------------------------------------------------------------------

ROW = """
@triton.jit
def row_kernel(x, y, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * N + i, mask=i < N, other=-float('inf'))
    {shift}
    e = tl.exp(v)
    tl.store(y + tl.program_id(0) * N + i, e / tl.sum(e), mask=i < N)
"""


@pytest.mark.parametrize("shift, wanted", [("v -= tl.max(v)", "correct"), ("pass", "not_finite")])
def test_scaled_inputs_show_a_softmax_without_its_maximum(shift: str, wanted: str) -> None:
    forward = """
        y = torch.empty_like(x)
        n = x.shape[-1]
        row_kernel[(x.numel() // n,)](x, y, N=n, B=triton.next_power_of_2(n))
        return y
        """
    source = task("return torch.softmax(x, -1)", inputs="[torch.randn(4, 30)]")
    record = verify(source, candidates.triton(ROW.format(shift=shift), forward))
    assert record["verdict"] == wanted
    assert wanted == "correct" or record["trials"][-1]["variant"] == "scaled"


@pytest.mark.parametrize("most, wanted", [("tl.minimum(v, 6.0)", "correct"), ("v", "wrong_values")])
def test_scaled_inputs_show_a_clamp_that_is_left_out(most: str, wanted: str) -> None:
    kernel = f"""
        @triton.jit
        def relu_kernel(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0)
            tl.store(y + i, {most}, mask=i < n)
        """
    record = verify(task("return x.clamp(0, 6)"), candidates.relu(kernels=kernel))
    assert record["verdict"] == wanted
    assert wanted == "correct" or record["trials"][-1]["variant"] == "scaled"


# ---- weights ---------------------------------------------------------------------------

LINEAR = task(
    "return self.fc(x)", inputs="[torch.randn(4, 16)]", setup="self.fc = torch.nn.Linear(16, 16, bias=False)"
)
PRODUCT = """
@triton.jit
def product_kernel(x, w, y, K: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in range(K):
        total += tl.load(x + tl.program_id(0) * K + k) * tl.load(w + k * N + n)
    tl.store(y + tl.program_id(0) * N + n, total)
"""
PRODUCT_FORWARD = """
    y = torch.empty(4, 16, device=x.device)
    product_kernel[(4,)](x, self.packed, y, K=16, N=16)
    return y
    """
FC = "self.fc = nn.Linear(16, 16, bias=False)\n"


@pytest.mark.parametrize(
    "packed, wanted",
    [("self.fc.weight.detach().t().contiguous()", E3),
     ("(self.fc.weight.detach() * 2).t().contiguous() / 2", ("correct", None, "E2"))],
)  # fmt: skip
def test_packing_by_moves_keeps_its_evidence_and_computing_ends_at_e2(packed: str, wanted: tuple) -> None:
    candidate = candidates.triton(PRODUCT, PRODUCT_FORWARD, FC + f"self.packed = {packed}")
    record = verify(LINEAR, candidate)
    assert said(record) == wanted
    assert (wanted == E3) or "weights ModelNew was constructed with" in record["feedback"]


@pytest.mark.parametrize("keyed", ["not hasattr(self, 'packed')",
                                   "getattr(self, 'at', None) != self.fc.weight._version"])  # fmt: skip
def test_weights_packed_in_the_first_call_end_at_e2_and_the_model_is_told(keyed: str) -> None:
    forward = f"""
        if {keyed}:
            self.packed = self.fc.weight.t().contiguous()
            self.at = self.fc.weight._version
        y = torch.empty(4, 16, device=x.device)
        product_kernel[(4,)](x, self.packed, y, K=16, N=16)
        return y
        """
    record = verify(LINEAR, candidates.triton(PRODUCT, forward, FC))
    assert said(record) == ("correct", None, "E2")
    assert "keeps what its first call made" in record["feedback"]


NORM = task("return self.norm(x)", setup="self.norm = torch.nn.LayerNorm(8)")
ONES = task(
    "return torch.nn.functional.layer_norm(x, (8,), self.w, self.b)",
    setup="self.w = torch.nn.Parameter(torch.ones(8))\nself.b = torch.nn.Parameter(torch.zeros(8))",
)
NORM_KERNEL = """
@triton.jit
def norm_kernel(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at)
    v -= tl.sum(v) / B
    tl.store(y + at, v / tl.sqrt(tl.sum(v * v) / B + 1e-5))
"""


NORM_FORWARD = """
    y = torch.empty_like(x)
    norm_kernel[(4,)](x, y, B=8)
    return y
    """


@pytest.mark.parametrize(
    "init", ["pass", "self.odd = nn.Parameter(torch.ones(3))", "self.norm = nn.LayerNorm(8)"]
)
def test_a_norm_without_weight_and_bias_fails_whatever_state_it_claims(init: str) -> None:
    """Rule 7.7: layers of both sides start where no parameter is an identity."""
    record = verify(NORM, candidates.triton(NORM_KERNEL, NORM_FORWARD, init))
    assert record["verdict"] == "wrong_values"


def test_initial_weights_never_give_e3() -> None:
    """Rule 7.7: not even where the reference's own stay at ones and zeros."""
    record = verify(ONES, candidates.triton(NORM_KERNEL, NORM_FORWARD, "pass"))
    assert record["evidence"] != "E3" and record["ported"] is None


def test_no_trial_has_the_weights_or_inputs_of_another() -> None:
    sheet = sheets.sheet(make_job(LINEAR, ""), verdict.make_reference, False)
    draws = [sheet.draw(i) for i in range(len(sheet.plan))]
    assert len(draws) >= 6
    for values in ([raw(d.state["fc.weight"]) for d in draws], [raw(d.expected.args[0]) for d in draws]):
        assert len(set(values)) == len(values)


# ---- sheets that candidates share ----------------------------------------------------------

POOL = "ab" * 32


def test_jobs_of_one_pool_are_asked_the_same_and_others_are_not() -> None:
    def first(**more: object) -> bytes:
        sheet = sheets.sheet(make_job(RELU, str(more), **more), verdict.make_reference, False)
        return raw(sheet.draw(0).expected.args[0])

    assert first(pool=POOL, seed="01" * 32) == first(pool=POOL, seed="02" * 32)
    assert first(pool=POOL, seed="01" * 32) != first(pool="cd" * 32, seed="01" * 32)
    assert first(seed="01" * 32) != first(seed="02" * 32)


def test_feedback_never_tells_a_value_that_is_asked_again() -> None:
    """Rule 7.9: it comes from inputs of the candidate's own seed."""
    kernel = candidates.RELU_KERNEL.replace("tl.maximum(v, 0.0)", "v + 1.0")
    record = verify(RELU, candidates.relu(kernels=kernel), pool=POOL)
    assert record["verdict"] == "wrong_values" and "instead of" in record["feedback"]
    shared = sheets.sheet(make_job(RELU, "", pool=POOL), verdict.make_reference, False)
    value = record["feedback"].partition("instead of ")[2].split(";")[0]
    assert shared.pooled
    for index in range(len(shared.plan)):
        draw = shared.draw(index)
        values = {f"{v:.6g}" for t in draw.expected.truth for v in t.flatten().tolist() if v}
        assert value not in values


# ---- the structure of the result ---------------------------------------------------------

MINMAX = task(
    "return {'minmax': (x.amin(1), x.amax(1)), 'arg': x.argmax(1)}", inputs="[torch.randn(4, 8)]"
)
MINMAX_KERNEL = """
@triton.jit
def minmax_kernel(x, low, high, arg, B: tl.constexpr):
    p = tl.program_id(0)
    v = tl.load(x + p * B + tl.arange(0, B))
    tl.store(low + p, tl.min(v))
    tl.store(high + p, tl.max(v))
    tl.store(arg + p, tl.argmax(v, 0).to(tl.int64))
"""


@pytest.mark.parametrize(
    "result, place",
    [("{'minmax': (lo, hi), 'arg': arg}", None), ("[arg, lo, hi]", "output: a dict"),
     ("{'minmax': (lo, hi), 'argmax': arg}", "output: a dict"),
     ("{'minmax': (lo, hi), 'arg': arg, 'more': lo}", "output: a dict"),
     ("{'minmax': [lo, hi], 'arg': arg}", "output['minmax']: a tuple of 2"),
     ("{'minmax': (lo, hi, hi), 'arg': arg}", "output['minmax']: a tuple of 2"),
     ("{'minmax': (lo, hi), 'arg': 3}", "output['arg']: a tensor"),
     ("{'arg': arg, 'minmax': (lo, hi)}", "output: a dict")],
)  # fmt: skip
def test_the_result_has_the_references_structure_and_no_other(result: str, place: str | None) -> None:
    forward = f"""
        lo, hi = torch.empty(4, device=x.device), torch.empty(4, device=x.device)
        arg = torch.empty(4, dtype=torch.int64, device=x.device)
        minmax_kernel[(4,)](x, lo, hi, arg, B=8)
        return {result}
        """
    record = verify(MINMAX, candidates.triton(MINMAX_KERNEL, forward))
    if place is None:
        assert said(record) == E3
    else:
        assert record["verdict"] == "wrong_shape" and place in record["feedback"]
