"""The twenty rules that a red team's attack led to: each is broken here for real, by a whole
candidate or by a recorder that lies. docs/VERIFIER-catalogue.md lists the tests of every rule;
those of one part alone stand with that part."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from judge.judging import Progress
from judge.steps import Ask, NoChild
from runner_client import Client
from runner_client import Region as RunnerRegion
from small_loop import ROOT, Loop, make_job, said, verify
from task_text import task

import candidates
from forged_c import ANSWER, RAW

sys.path[:0] = [str(ROOT / "worker")]

from judge import launches, ported, sheets, verdict  # noqa: E402
from shared import inputs  # noqa: E402

pytest.importorskip("triton")

RELU = task("return torch.relu(x)")
POOL = "ab" * 32
E3 = ("correct", None, "E3")
CATALOGUE = ROOT / "docs" / "VERIFIER-catalogue.md"


def with_line(line: str) -> str:
    """The honest kernel with one line more."""
    return candidates.relu(kernels=candidates.RELU_KERNEL.replace("    v = tl", f"    {line}\n    v = tl", 1))


def lying(change: Callable[[dict, bytes], bytes | None], tells: str = "record") -> Loop:
    """A loop whose recorder (or compiler) changes its answer: the JSON line in place, or all of it."""
    loop = Loop()

    def answer(wanted: Ask) -> dict | None:
        if wanted.message["op"] != tells:
            return None
        reply = loop.child.ask(wanted.message, wanted.fds)
        head, _, blob = os.pread(wanted.fds[0], reply["size"], 0).partition(b"\n")
        header = json.loads(head)
        data = change(header, blob) or json.dumps(header).encode() + b"\n" + blob
        os.pwrite(wanted.fds[0], data, 0)
        return {"ok": True, "size": len(data)}

    loop.instead = answer
    return loop


def test_a_recorder_that_does_not_lie_is_believed() -> None:
    assert said(verify(RELU, candidates.relu(), loop=lying(lambda header, blob: None))) == E3


# ---- 7.1 Python in the executor --------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["tl.math.wraps(tl.load)", "tl.core.builtins.open('x')", "tl.__dict__", "x.__class__",
     "f = [c for c in ().__class__.__base__.__subclasses__()]", "tl.load.__globals__['os'].system('x')"],
)  # fmt: skip
def test_7_1_a_kernel_does_not_reach_python(line: str) -> None:
    record = verify(RELU, with_line(line))
    assert record["verdict"] == "compile_error" and record["trials"] == []


@pytest.mark.parametrize(
    "bind",
    [{"__builtins__": {"value": 1}}, {"__loader__": {"module": "triton.language"}},
     {"tl": {"module": "os"}}, {"tl": {"module": "triton.language.core.builtins"}},
     {"tl": {"from": ["builtins", "exec"]}}, {"tl": {"pickle": "gASVAAAA"}},
     {"tl": {"value": {"tuple": [{"module": "os"}]}}}],
)  # fmt: skip
def test_7_1_a_kernel_is_given_plain_values_alone(bind: dict) -> None:
    def change(header: dict, blob: bytes) -> None:
        header["kernels"][0]["bind"].update(bind)

    record = verify(RELU, candidates.relu(), loop=lying(change))
    assert record["verdict"] in ("hack", "compile_error") and record["trials"] == []


def test_7_1_no_part_of_the_judge_reads_pickles() -> None:
    """Nor does a child: what they say to each other is JSON or a layout of bytes."""
    for path in (ROOT / "worker").rglob("*.py"):
        used = {n.name.partition(".")[0] for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Import) for n in node.names}  # fmt: skip
        assert not used & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path
        assert not re.search(r"torch\.load\(|np\.load\(|from pickle", path.read_text()), path


@pytest.mark.parametrize("answer", [{"ok": True}, {"size": 1 << 40}, {"size": "1"}, {"error": "pickle"}, {}])
def test_7_1_an_answer_of_another_form_is_a_forgery(answer: dict) -> None:
    loop = Loop()
    loop.instead = lambda wanted: answer if wanted.message["op"] == "record" else None
    assert said(verify(RELU, candidates.relu(), loop=loop))[:2] == ("hack", "forged-answer")


# ---- 7.2 Python in the compiler --------------------------------------------------------


def test_7_2_the_language_is_checked_before_anything_compiles(tmp_path: Path) -> None:
    """Triton's code generator would call it; so would its interpreter."""
    mark = tmp_path / "mark"
    line = f"tl.core.builtins.exec(\"open({str(mark)!r}, 'w')\")"
    record = verify(RELU, with_line(line))
    assert record["verdict"] == "compile_error" and not mark.exists()


def test_7_2_a_compiler_checks_for_itself(tmp_path: Path) -> None:
    """Asked by a judge that has not looked: the executor's check is not the only one."""
    mark = tmp_path / "mark"
    bad = with_line(f"tl.core.builtins.exec(\"open({str(mark)!r}, 'w')\")")
    loop = Loop()

    def answer(wanted: Ask) -> dict | None:
        if wanted.message["op"] == "compile":
            wanted.message["request"]["source"] = bad
        return None

    loop.instead = answer
    record = verify(RELU, candidates.relu(), loop=loop)
    assert record["verdict"] == "compile_error" and not mark.exists()


def test_7_2_what_a_compiler_says_of_its_binaries_is_checked() -> None:
    def change(header: dict, blob: bytes) -> None:
        header["functions"][0]["name"] = "another"

    record = verify(RELU, candidates.relu(), loop=lying(change, "compile"))
    assert said(record)[:2] == ("hack", "bad-trace")


# ---- 7.3 memory that outlives a launch ---------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["} .global .u32 counter; .func f() {", ".global .u32 counter; mov.u32 $0, 1;",
     "mov.u32 $0, 1; } .visible .entry other() {", ".extern .func f;", "{ mov.u32 $0, 1;"],
)  # fmt: skip
def test_7_3_inline_assembly_stays_in_its_function(text: str) -> None:
    line = f"c = tl.inline_asm_elementwise({text!r}, '=r', [], dtype=tl.int32, is_pure=False, pack=1)"
    record = verify(RELU, with_line(line))
    assert record["verdict"] == "compile_error" and "assembly" in record["feedback"]


# ---- 7.4 no kernel at all --------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "y = x.double().view(torch.int64).add_(1 << 52).view(torch.float64).float()",
        "y = torch.linspace(0, x[0, 0], 32).view(4, 8)",
        "y = x.to(torch.int32).float()",
        "y = x.bool().float()", "y = x.view(torch.int32).to(torch.float32)",
        "y = x.view(torch.int16).to(torch.int32).view(torch.float32)[:, :8]",
        "y = x.add(1)", "y = x.cumsum(0)", "y = x.clamp(0)",
        "y = torch.where(x > 0, x, 0)", "y = x[x[:, 0].long()]", "y = torch.full((4, 8), x.sum().item())",
    ],
)  # fmt: skip
def test_7_4_moves_do_not_compute(line: str) -> None:
    forward = f"""
        {line}
        z = torch.empty_like(x)
        relu_kernel[(4,)](y, z, 32, B=8)
        return z
        """
    record = verify(RELU, candidates.relu(forward))
    assert record["verdict"] == "hack" and record["trials"] == []
    assert re.match(r"dispatch:|readback:|cast|move-reinterprets", record["rule"])


def test_7_4_a_grid_without_programs_is_a_refusal() -> None:
    forward = """
        y = torch.relu_ if False else torch.empty_like(x)
        relu_kernel[(0,)](x, y, 32, B=8)
        return y
        """
    record = verify(RELU, candidates.relu(forward))
    assert record["verdict"] != "correct" and record["trials"] == []


def test_7_4_a_muted_replay_that_fails_is_not_correct() -> None:
    loop = Loop()

    def answer(wanted: Ask) -> dict | None:
        if wanted.message.get("mute"):
            return {"error": {"stage": "call", "type": "ValueError", "text": "no"}}
        return None

    loop.instead = answer
    assert verify(RELU, candidates.relu(), loop=loop)["verdict"] == "launch_error"


def test_7_4_a_task_that_only_moves_is_not_done_by_moves() -> None:
    source = task("return torch.cat([x.flip(1), x.t().reshape(4, 8)])")
    forward = """
        z = torch.empty_like(x)
        relu_kernel[(4,)](x, z, 32, B=8)
        return torch.cat([x.flip(1), x.t().reshape(4, 8)])
        """
    assert said(verify(source, candidates.relu(forward)))[:2] == ("hack", "moves")


# ---- 7.5 one trace ---------------------------------------------------------------------


def test_7_5_one_recording_serves_all_trials() -> None:
    """The other recording is of the file that is delivered."""
    loop = Loop()
    verify(RELU, candidates.relu(), loop=loop)
    messages = [s.message for s in loop.asked if isinstance(s, Ask)]
    ops = [m["op"] for m in messages]
    assert [m["source"] == candidates.relu() for m in messages if m["op"] == "record"] == [True, False]
    assert ops.count("load") == 1 and ops.count("run") >= 8


def test_7_5_a_forward_that_counts_its_calls_is_refused() -> None:
    forward = """
        self.calls += 1
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, y, 32 if self.calls < 3 else 16, B=8)
        return y
        """
    record = verify(RELU, candidates.relu(forward, "self.calls = 0"))
    assert said(record)[:2] == ("hack", "trace-varies")


TIMES = task("return x * k", inputs="[torch.randn(4, 8), 3.5]", arguments="x, k")
TIMES_KERNEL = """
@triton.jit
def times_kernel(x, y, k, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * k)


@triton.jit
def other_kernel(x, y, k, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i) * k)
"""


@pytest.mark.parametrize(
    "kernel, by, wanted",
    [("times_kernel", "k", ("correct", None)),
     ("(times_kernel if k == 3.5 else other_kernel)", "k", ("hack", "trace-varies")),
     ("times_kernel", "3.5", ("wrong_values", None))],
)  # fmt: skip
def test_7_5_for_other_numbers_only_numbers_may_differ(kernel: str, by: str, wanted: tuple) -> None:
    forward = f"""
        y = torch.empty_like(x)
        {kernel}[(4,)](x, y, {by}, B=8)
        return y
        """
    record = verify(TIMES, candidates.triton(TIMES_KERNEL, forward, arguments="x, k"))
    assert said(record)[:2] == wanted


# ---- 7.6 compiler and interpreter ----------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["v = tl.load(x)\n    z = f'{v}'", "z = 'a%s' % n", "z = str(tl.load(x))", "z = int(tl.load(x))",
     "z = [0, 1][tl.load(x).to(tl.int32)]"],
)  # fmt: skip
def test_7_6_data_does_not_become_python(line: str) -> None:
    assert verify(RELU, with_line(line))["verdict"] in ("compile_error", "launch_error")


def test_7_6_a_number_means_what_the_compiler_makes_of_it() -> None:
    """1 is a constant, divided as Python divides; other numbers are divided as C does. A
    kernel that is right only where an interpreter thinks otherwise is not right here."""
    kernel = """
        @triton.jit
        def relu_kernel(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.maximum(tl.load(x + i), 0.0)
            if n // -2 == {wanted}:
                tl.store(y + i, v)
        """

    def found(n: int, wanted: int) -> str:
        forward = f"""
            y = torch.empty_like(x)
            relu_kernel[(4,)](x, y, {n}, B=8)
            return y
            """
        return verify(RELU, candidates.relu(forward, kernels=kernel.format(wanted=wanted)))["verdict"]

    assert (found(1, -1), found(3, -1)) == ("correct", "correct")
    assert found(3, -2) in ("wrong_values", "not_finite")


# ---- 7.8 sizes that do not agree -----------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["state"].append(["w", [1 << 40], "float32", "parameter"]),
        lambda header: header["calls"][0]["buffers"].append(
            {"kind": "const", "at": 0, "bytes": 1 << 40, "dtype": "float32"}),
        lambda header: header["calls"][0]["buffers"].append({"kind": "state", "name": "w"}),
        lambda header: header["calls"][0]["buffers"].append({"kind": "input", "index": 1}),
        lambda header: header["calls"][0].update(output={"tensor": [1, "float32", 0, [1 << 20, 8], [8, 1]]}),
    ],
)  # fmt: skip
def test_7_8_what_a_recorder_claims_makes_nothing_grow(change: Callable[[dict], object]) -> None:
    def lie(header: dict, blob: bytes) -> None:
        change(header)

    record = verify(RELU, candidates.relu(), loop=lying(lie))
    assert (record["peak_bytes"] or 0) < 1 << 20
    assert record["verdict"] in ("hack", "wrong_shape") or record["trials"]


@pytest.mark.parametrize("size", [1 << 41, 1 << 42])
def test_7_8_room_that_nobody_has_is_not_made(size: int) -> None:
    def lie(header: dict, blob: bytes) -> None:
        header["calls"][0]["buffers"].append({"kind": "new", "bytes": size, "dtype": "uint8"})

    record = verify(RELU, candidates.relu(), loop=lying(lie), limits={"memory_bytes": 1 << 30})
    assert record["verdict"] == "out_of_memory"


# ---- 7.9 known seeds -------------------------------------------------------------------------


def test_7_9_answers_of_one_secret_are_wrong_for_another() -> None:
    """Constants that hold right answers, as if the seed had leaked, under a new seed."""
    job = make_job(RELU, "", seed="11" * 32)
    reference = verdict.make_reference(job)
    args = inputs.make(reference.space, inputs.derive(job["seed"], "trial-0"), "plain", "cpu", torch.float32)
    held = torch.relu(args[0]).flatten().tolist()
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](self.held, y, 32, B=8)
        return y
        """
    leaked = candidates.relu(forward, f"self.held = torch.tensor({held!r}, device='cuda')")
    assert verify(RELU, leaked, seed="22" * 32)["verdict"] == "wrong_values"


# ---- 7.10 bounds that wrap ----------------------------------------------------------------------


@pytest.mark.parametrize("at", ["y + 2305843009213693951", "y - 64", "y + 4611686018427387903"])
def test_7_10_bounds_do_not_wrap(at: str) -> None:
    record = verify(RELU, with_line(f"tl.store({at}, 1.0)"))
    assert record["verdict"] == "launch_error" and "outside the tensors" in record["feedback"]


# ---- 7.11 a language that is poisoned -------------------------------------------------------------


@pytest.mark.parametrize("line", ["tl.zeros = tl.load", "tl.core.load = tl.zeros", "tl.load.fn = 1", "del tl.load"])
def test_7_11_a_kernel_assigns_to_no_attribute(line: str) -> None:
    assert verify(RELU, with_line(line))["verdict"] == "compile_error"
    assert said(verify(RELU, candidates.relu())) == E3


def test_7_11_a_module_that_poisons_the_language_does_so_to_its_recording_alone() -> None:
    wrong = candidates.relu(kernels=candidates.RELU_KERNEL.replace("tl.maximum(v, 0.0)", "tl.zeros([B], tl.float32)"))
    poisoned = wrong.replace("@triton.jit", "tl.zeros = lambda shape, dtype: 1\ntl.load = None\n\n\n@triton.jit")
    assert verify(RELU, poisoned)["verdict"] in ("wrong_values", "compile_error")
    assert said(verify(RELU, candidates.relu())) == E3


# ---- 7.12 native code ---------------------------------------------------------------------------

C = '''
import torch
import torch.nn as nn
from c_cpu import build

SOURCE = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
{above}
void relu(const float *x, float *y, int64_t n)
{{
    {body}
}}
"""
lib = build(SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu(x, y, x.numel())
        return y
'''
def native(body: str, above: str = "", **more: object) -> dict:
    return verify(RELU, C.format(above=above, body=body), "c-cpu", **more)


RIGHT = "for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;"


def test_7_15_no_library_runs_beside_data_on_a_gpu() -> None:
    """A pack that asks for it is at fault, not its candidates."""
    job = make_job(RELU, "", "c-cpu") | {"device": "cuda:0"}
    with pytest.raises(NoChild, match="the pack is broken: its family, native"):
        next(verdict.attempt(job, None, Progress(), None, None))


def test_7_12_an_honest_library_is_right() -> None:
    assert said(native(RIGHT)) == E3


@pytest.mark.parametrize("code, names", [
    ("static int calls; y[0] = ++calls;", "calls"), ("y[0] = early;", "early"), ("y[0] = own++;", "thread-local"),
    ("unsigned long t; pthread_create(&t, 0, run, 0);", "pthread_create"), ("write(3, y, 4);", "write"),
    ("y[0] = rand();", "rand"), ("y[0] = errno++;", "errno"), ("free(real(8));", "inline assembler"),
    ("begin();", "constructor"), ("y[0] = chosen();", "ifunc"),
])  # fmt: skip
def test_7_12_a_library_keeps_nothing_and_calls_nothing_that_does(code: str, names: str) -> None:
    """Nor does any of it run before it is called. Each is named, with what to do instead."""
    above = {
        "early": "float early = 1;",
        "thread-local": "static __thread int own;",
        "pthread_create": "int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);"
                          "static void *run(void *p) { return p; }",
        "write": "long write(int, const void *, size_t);",
        "errno": "#include <errno.h>",
        "inline assembler": 'void *real(size_t) __asm__("__real_malloc");',
        "constructor": "__attribute__((constructor)) void begin(void) { __asm__ volatile(\"\"); }",
        "ifunc": "static int one(void) { return 1; } static void *choose(void) { return one; }"
                 'int chosen(void) __attribute__((ifunc("choose")));',
    }  # fmt: skip
    if names == "early":
        code += " early = x[0];"
    record = native(f"{code} {RIGHT}", above.get(names, ""))
    assert record["verdict"] == "compile_error" and names in record["feedback"], record["feedback"]


def test_7_12_scratch_memory_tables_and_structs_are_no_memory_between_calls() -> None:
    above = """
static const float table[] = {0, 1};
static const char *const names[] = {"no", "yes"};
static float steps[] = {1, 2};
struct pair { float a, b; };
static struct pair both(float v) { return (struct pair){v, v > 0}; }
static int by_size(const void *a, const void *b) { return *(const float *)a < *(const float *)b; }
"""
    body = """
    static const double one[] = {1};
    float *all = malloc(4 * n), *more = aligned_alloc(64, 64), *some = calloc(n, 4);
    int same = (uintptr_t)more % 64 == 0;
    for (int64_t i = 0; i < n; i++)
        same &= all[i] != all[i] && some[i] == 0;
    memcpy(all, x, 4 * n);
    all = realloc(all, 8 * n);
    for (int64_t i = 0; i < n; i++) {
        struct pair p = both(all[i]);
        same &= all[n + i] != all[n + i];
        y[i] = p.a * table[(int)p.b] * (names[(int)p.b][0] == 'y') * steps[0] * one[0] * same;
    }
    qsort(all, n, 4, by_size);
    free(all); free(more); free(some); free(NULL);
    """
    assert said(native(body, above)) == E3


def test_7_12_an_answer_that_code_writes_itself_is_no_result() -> None:
    """C has no word for a system call, and the process of a call no descriptor to write one to (test_runner.py)."""
    record = native("answer(0); " + RIGHT, ANSWER)
    assert record["verdict"] == "compile_error" and "is not there" in record["feedback"]


@pytest.mark.parametrize("call", ["SYS_clone, 17, 0, 0", "SYS_clone, 0x50f00, 0, 0", "SYS_execve, 0, 0, 0",
                                  "SYS_memfd_create, (long)\"\", 0, 0", "SYS_nanosleep, 0, 0, 0"])  # fmt: skip
def test_7_12_no_other_process_or_thread_stays_to_change_results(call: str) -> None:
    """C has no word for a system call. What the system refuses besides is tried in test_runner.py."""
    record = native(f"if (raw({call}) == -1) {{ {RIGHT} }}", RAW)
    assert record["verdict"] == "compile_error" and "is not there" in record["feedback"]


def test_7_12_nothing_of_one_call_is_there_in_the_next() -> None:
    """On the stack, far below all that the runner's own functions have there."""
    body = """
    volatile int64_t here = (int64_t)&here - 100000;
    volatile float *stack = (volatile float *)here;
    int found = *stack == 4711;
    *stack = 4711;
    for (int64_t i = 0; i < n; i++)
        y[i] = !found && x[i] > 0 ? x[i] : 0;
    """
    assert said(native(body)) == E3


# What a process fails with may be a number that inputs chose.


def first_input(job: dict) -> torch.Tensor:
    """Of a job's first trial."""
    return sheets.sheet(job, verdict.make_reference, False).draw(0).expected.args[0].flatten()[:1]


def test_7_9_what_a_library_ends_with_comes_from_inputs_of_its_own() -> None:
    job = make_job(RELU, "", "c-cpu", pool=POOL)
    own, shared = (int(first_input(j).view(torch.uint8)[0]) for j in (job | {"own_draws": True}, job))
    bit = next(1 << i for i in range(8) if (own ^ shared) >> i & 1)
    body = f"unsigned char byte; memcpy(&byte, x, 1); if (byte & {bit}) __builtin_abort(); *(volatile int *)0 = 1;"
    record = native(body, pool=POOL)
    assert record["verdict"] == "crash" and f"signal {6 if own & bit else 11} " in record["feedback"]


def test_7_9_a_failure_on_shared_inputs_alone_is_told_in_fixed_words() -> None:
    value = float(first_input(make_job(RELU, "", pool=POOL))[0])
    feedback = "A kernel fails on some of the task's inputs, not on all."
    record = native(f"if (x[0] == {value.hex()}f) __builtin_trap(); " + RIGHT, pool=POOL)
    assert (record["verdict"], record["feedback"]) == ("crash", feedback)
    line = f"tl.store(y + tl.where(tl.load(x + i) == {value!r}, 12345, i), 0.0)"
    record = verify(RELU, with_line(line), pool=POOL)
    assert (record["verdict"], record["feedback"]) == ("launch_error", feedback)


# ---- 7.13 caches --------------------------------------------------------------------------------


def test_7_13_a_kept_output_is_not_there_in_the_next_call() -> None:
    """A kernel that computes only where nothing was computed yet, which it tells from NaN."""
    kernel = """
        @triton.jit
        def once_kernel(x, kept, y, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            old = tl.load(kept + i)
            v = tl.where(old == old, old, tl.maximum(tl.load(x + i), 0.0))
            tl.store(kept + i, v)
            tl.store(y + i, v)
        """
    forward = """
        if self.kept is None:
            self.kept = torch.empty_like(x)
        y = torch.empty_like(x)
        once_kernel[(4,)](x, self.kept, y, B=8)
        return y
        """
    record = verify(RELU, candidates.triton(kernel, forward, "self.kept = None"))
    assert record["verdict"] == "wrong_values"


MEAN = task(
    "self.mean.mul_(0.5).add_(x.mean(), alpha=0.5)\nreturn torch.relu(x)",
    setup="self.register_buffer('mean', torch.zeros(()))",
)
MEAN_MODULE = """

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))

    def forward(self, x):
        y = torch.empty_like(x)
        lib.relu(x, y, self.mean, x.numel())
        return y
"""


def test_7_13_a_buffer_is_updated_in_timed_calls_too() -> None:
    """Of one that leaves it out: test_timing.py."""
    above = """
void relu(const float *x, float *y, float *mean, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        y[i] = x[i] > 0 ? x[i] : 0;
    }
    *mean = 0.5 * *mean + 0.5 * sum / n;
}
"""
    head = C.partition("void relu")[0].format(above=above)
    record = verify(MEAN, head + '"""\nlib = build(SOURCE)\n' + MEAN_MODULE, "c-cpu", timing=True)
    assert said(record) == E3 and record["timing"]


# ---- 7.14 truths ----------------------------------------------------------------------------------


def test_7_14_a_runner_has_the_region_and_no_other_memory_of_the_judges() -> None:
    """Every file that it has mapped is its own program, libc, or the region."""
    region = RunnerRegion()
    truth = RunnerRegion()  # another one of ours, that it was not given
    with Client() as client:
        assert client.do(region).status == 0
        maps = Path(f"/proc/{client.process.pid}/maps").read_text()
        held = [os.readlink(f) for f in Path(f"/proc/{client.process.pid}/fd").iterdir()]
    names = {line.split(None, 5)[5] for line in maps.splitlines() if len(line.split(None, 5)) > 5}
    files = {n for n in names if n.startswith("/") and "/memfd:region" not in n}
    assert all(re.search(r"/(monkeys-runner|ld-linux.*|lib[cm]\.so.*|lib[cm]-.*|libdl.*)$", f) for f in files), files
    assert len([h for h in held if "memfd" in h]) == 0  # closed once it is mapped
    truth.close()
    region.close()


def test_7_14_an_interpreter_has_the_region_and_no_other_memory_of_the_judges() -> None:
    loop, found = Loop(), {}

    def look(wanted: Ask) -> None:
        if wanted.message["op"] == "run":
            for pid in loop.child.pids():
                with contextlib.suppress(OSError):  # one that has just ended
                    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
                    found.setdefault(pid, set()).update(n.split()[4] for n in lines if "memfd:" in n)

    loop.instead = look
    assert said(verify(RELU, candidates.relu(), loop=loop)) == E3
    assert max(len(shared) for shared in found.values()) == 1


def test_7_14_a_child_is_never_sent_what_is_expected() -> None:
    """All that the judge says to any of them, for a task with a mark in its answer. The file that is
    delivered has the task's text: it is recorded last, in a process of its own."""
    source = task("return torch.relu(x)  # the answer")
    loop = Loop()
    verify(source, candidates.relu(), loop=loop)
    *others, last = [s.message for s in loop.asked if isinstance(s, Ask) and s.message["op"] != "ping"]
    assert last["op"] == "record" and "the answer" in last["source"]
    sent = json.dumps(others)
    assert "the answer" not in sent and "class Model(" not in sent and "get_inputs" not in sent


# ---- 7.16 finished code -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch", "libm"])
def test_7_16_a_library_cannot_load_another(name: str) -> None:
    """Torch's own library is on this machine."""
    path = "libm.so.6" if name == "libm" else os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    body = f"void *found = dlopen(\"{path}\", RTLD_NOW); {RIGHT} if (found) y[0] = 1e6f;"
    record = native(body, "void *dlopen(const char *, int);\n#define RTLD_NOW 2")
    assert record["verdict"] == "compile_error" and "dlopen" in record["feedback"], record["feedback"]


# ---- 7.18 constants as results ----------------------------------------------------------------------


def test_7_18_an_output_that_is_a_constant_is_refused() -> None:
    source = task("return torch.relu(x), torch.arange(8.0)")
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, y, 32, B=8)
        return y, self.table
        """
    record = verify(source, candidates.relu(forward, "self.table = torch.arange(8.0, device='cuda')"))
    assert record["verdict"] == "hack" and record["rule"].startswith("output-")


# ---- 7.19 export -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x; import os", "a b", "", "é", "1a", "a\nb", "__import__('os')", None, 3])
def test_7_19_names_are_plain_identifiers(name: object) -> None:
    with pytest.raises(ported.CannotPort):
        ported.plain_word(name)


@pytest.mark.parametrize("value", [1, True, None, 2.5, float("inf"), "1; import os", "a'\nimport os\n'", '\\"'])
def test_7_19_values_are_literals(value: object) -> None:
    text = ported.spelled(value)
    assert "\n" not in text and eval(text, {"__builtins__": {"float": float}}) == value


@pytest.mark.parametrize("value", [{"float": "__import__('os')"}, [1], {"a": 1}, b"x"])
def test_7_19_nothing_else_is_a_value(value: object) -> None:
    with pytest.raises((ported.CannotPort, ValueError, KeyError)):
        ported.spelled(value)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["calls"][0]["nodes"][-1]["args"].update({"n); import os; (": 32}),
        lambda header: header["kernels"][0].update(name="relu_kernel\nimport os"),
        lambda header: header["kernels"][0]["bind"].update({"a = __import__('os')": {"value": 1}}),
        lambda header: header["calls"][0]["nodes"][-1]["options"].update({"num_warps=4); import os; (": 1}),
        lambda header: header["calls"][0]["nodes"][-1]["args"].update({"n": "32); import os"}),
    ],
)  # fmt: skip
def test_7_19_an_exported_file_holds_no_text_of_a_recorders(change: Callable[[dict], object]) -> None:
    def lie(header: dict, blob: bytes) -> None:
        change(header)

    record = verify(RELU, candidates.relu(), loop=lying(lie))
    assert "import os" not in (record["ported"] or "")
    if record["ported"]:
        ast.parse(record["ported"])


# ---- 7.20 autotune ---------------------------------------------------------------------------------------


def test_7_20_a_record_says_that_configurations_were_left_out() -> None:
    kernel = candidates.RELU_KERNEL.replace(
        "@triton.jit", "@triton.autotune([triton.Config({'B': 8})] * 20, key=[])\n@triton.jit"
    )
    record = verify(RELU, candidates.relu(kernels=kernel).replace(", B=8)", ")"))
    assert record["verdict"] == "correct", record["feedback"]
    assert "20 configurations; the first 16 were tried" in record["feedback"]


def test_7_20_configurations_are_bounded() -> None:
    def lie(header: dict, blob: bytes) -> None:
        node = header["calls"][0]["nodes"][-1]
        one = {k: node[k] for k in ("grid", "args", "options")}
        node["tuned"] = [one] * (launches.CONFIGURATIONS + 1)

    record = verify(RELU, candidates.relu(), loop=lying(lie))
    assert record["verdict"] == "hack" and record["trials"] == []


# ---- the table -----------------------------------------------------------------------------------------


def rows() -> dict[str, list[str]]:
    """Of the catalogue's "The twenty rules": tests by rule."""
    text = CATALOGUE.read_text().partition("## The twenty rules")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (7\.\d+) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    return {rule: re.findall(r"`([\w./]+)`", tests) for rule, tests in found}


def test_every_rule_has_tests_and_each_of_them_exists() -> None:
    assert list(rows()) == [f"7.{i}" for i in range(1, 21)]
    here = Path(__file__).parent
    for rule, tests in rows().items():
        assert tests, rule
        for name in tests:
            file, _, function = name.rpartition(".")
            if file == "gpu":
                assert f"def {function}(" in (ROOT / "tests" / "gpu" / "run.py").read_text()
                continue
            texts = [(here / f"test_{file}.py").read_text()]
            assert any(f"def test_{function}(" in t for t in texts), f"{rule}: {name}"
