"""What is delivered is what was verified: a file with the task's text and a ModelNew made from the
trace. It is recorded before it exists, runs in plain Python, and nothing of the candidate's own text
but its kernels is in it."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import candidates
import pytest
from small_loop import Loop, said, verify
from task_text import task
from worker_run import ROOT, VERIFY

from judge.steps import Ask  # isort: skip
from compiler import native_compiler  # isort: skip
from shared import native  # isort: skip

FILES = ["triton/09_batch_norm", "triton/11_linear_relu", "triton/14_cumsum", "c-cpu/17_max_pool2d",
         "c-cpu/11_linear_relu"]  # fmt: skip
RELU = task("return torch.relu(x)")
E3 = ("correct", None, "E3")


@functools.cache
def verified(name: str) -> dict:
    pack, _, stem = name.partition("/")
    source = (ROOT / "tasks" / "starter" / f"{stem}.py").read_text()
    return verify(source, (VERIFY / f"{name}.py").read_text(), pack)


@pytest.mark.parametrize("name", ["triton/09_batch_norm", "c-cpu/17_max_pool2d"])
def test_the_exported_file_is_correct_at_e3_and_holds_the_task(name: str) -> None:
    pack, _, stem = name.partition("/")
    source = (ROOT / "tasks" / "starter" / f"{stem}.py").read_text()
    record = verified(name)
    again = verify(source, record["ported"], pack)
    assert (record["evidence"], again["evidence"]) == ("E3", "E3"), again["feedback"]
    assert again["launches"] == record["launches"]
    assert source.strip() in record["ported"]


@pytest.mark.parametrize("name", FILES)
def test_it_allocates_and_launches_and_does_nothing_else(name: str) -> None:
    text = verified(name)["ported"].partition("class ModelNew(Model)")[2]
    forward = text.partition("def forward")[2]
    assert ("room.new(" if name.startswith("c-cpu") else "torch.empty(") in forward and "import os" not in text
    assert not any(word in forward for word in ("if ", "for ", "while ", "torch.nn.functional"))


# ---- in plain Python -----------------------------------------------------------------

USER = """
import importlib, json, sys
import torch
def wrong(model, args):
    try:
        model(*args)
    except (TypeError, ValueError) as problem:
        return str(problem)
result = {}
for name in sys.argv[1:]:
    file = importlib.import_module(name)
    models = []
    for made in (file.Model, file.ModelNew):
        torch.manual_seed(7)
        models.append(made(*file.get_init_inputs()))
    reference, own = models
    args = file.get_inputs()
    with torch.no_grad():
        same = []
        for given in (args, [a.mT.contiguous().mT for a in args], args):
            expected, got = reference(*args), own(*given)
            same.append(torch.allclose(expected, got, rtol=1e-3, atol=1e-4))
    state = all(torch.allclose(a.float(), b.float(), atol=1e-4) for a, b in
                zip(reference.state_dict().values(), own.state_dict().values()))
    result[name] = {"same": same, "state": state, "half": wrong(own, [a[: len(a) // 2] for a in args]),
                  "double": wrong(own, [a.double() for a in args]), "list": wrong(own, [[1]] * len(args))}
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What a user sees who has the files and nothing of this program."""
    folder = tmp_path_factory.mktemp("used")
    names = []
    for file in FILES:
        names.append(file.replace("/", "_").replace("-", "_"))
        (folder / f"{names[-1]}.py").write_text(verified(file)["ported"])
    (folder / "user.py").write_text(USER)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-B", "user.py", *names], cwd=folder, env=env,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", FILES)
def test_it_runs_in_plain_python_as_the_reference_does(used: dict, name: str) -> None:
    """With parameters as the task makes them, and with inputs that are not contiguous."""
    result = used[name.replace("/", "_").replace("-", "_")]
    assert result["same"] == [True] * 3 and result["state"]


@pytest.mark.parametrize("name", FILES)
def test_it_names_the_argument_and_the_shape_that_it_is_right_for(used: dict, name: str) -> None:
    result = used[name.replace("/", "_").replace("-", "_")]
    assert "must be a tensor, not a list" in result["list"]
    for way in ("half", "double"):
        assert "must have the shape (" in result[way] and "torch.float32" in result[way], result[way]


def test_its_head_says_what_it_is_right_for() -> None:
    text = verified("triton/09_batch_norm")["ported"]
    head = text.partition("\nimport")[0]
    assert all(line.startswith("#") for line in head.strip().splitlines())
    assert "evidence E3, fp32, interpreted on the CPU" in head and "x: float32 (8, 20, 14, 13)" in head


def test_its_head_names_what_no_trial_had_with_other_values() -> None:
    source = task("return torch.relu(x) * keep * self.scale * self.w", arguments="x, keep",
                  inputs="[torch.randn(4, 8), torch.ones(4, 8)]", setup="""
        self.register_buffer("scale", torch.ones(8))
        self.w = torch.nn.Parameter(torch.ones(()))
        """)  # fmt: skip
    kernel = candidates.RELU_KERNEL.replace("y, n,", "y, w, n,").replace("0.0), mask", "0.0) * tl.load(w), mask")
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, y, self.w, x.numel(), B=8)
        return y
        """
    init = "self.w = torch.nn.Parameter(torch.ones(()))"
    text = verify(source, candidates.triton(kernel, forward, init, "x, keep"))["ported"]
    assert "had the same keep, scale: with other values there nothing was judged" in text.replace("\n#", "")


# ---- what is recorded before it is delivered --------------------------------------------

CALLS = """
    y = torch.empty_like(x)
    kernel = {first} if self.calls == 0 else relu_kernel
    self.calls += 1
    kernel[(4,)](x, y, x.numel(), B=8)
    return y
    """
OTHER = candidates.RELU_KERNEL.replace("relu_kernel", "other_kernel").replace("0.0)\n    tl", "-0.0)\n    tl")


def test_the_first_call_is_what_is_delivered() -> None:
    """Both calls are right, in every trial, and a file has one of them."""
    record = verify(RELU, candidates.relu(CALLS.format(first="other_kernel"), "self.calls = 0",
                                          candidates.RELU_KERNEL + OTHER))  # fmt: skip
    assert said(record) == E3
    assert "other_kernel[" in record["ported"] and "def relu_kernel" not in record["ported"]


TABLES = """
@triton.jit
def add_kernel(x, table, t, y, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * B + i
    tl.store(y + at, tl.load(x + at) * tl.load(table + i) + tl.load(table + B + i) + tl.load(t + i))
"""


def test_constants_of_the_setup_and_of_a_call_are_kept_apart() -> None:
    digits = "torch.tensor([3.0, 1, 4, 1, 5, 9, 2, 6])"
    source = task(f"return x * self.w + {digits} + torch.arange(8.0)",
                  setup="self.w = torch.nn.Parameter(torch.rand(8))")  # fmt: skip
    init = f"self.w = nn.Parameter(torch.empty(8))\nself.table = torch.stack([self.w.detach(), {digits}])"
    forward = """
        y = torch.empty_like(x)
        add_kernel[(4,)](x, self.table, torch.arange(8.0, device=x.device), y, B=8)
        return y
        """
    record = verify(source, candidates.triton(TABLES, forward, init))
    assert said(record) == E3 and record["ported"], record["ported_why"]
    assert "_CONSTANT_1" in record["ported"]


TWO_HELPERS = """
def made(by):
    @triton.jit
    def helper(v):
        return v * by
    return helper

twice, thrice = made(tl.constexpr(2)), made(tl.constexpr(3))

@triton.jit
def six_kernel(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, twice(thrice(tl.load(x + at))))
"""


def test_two_helpers_of_one_name_make_no_file_that_does_something_else() -> None:
    forward = "y = torch.empty_like(x)\nsix_kernel[(4,)](x, y, B=8)\nreturn y"
    record = verify(task("return x * 6"), candidates.triton(TWO_HELPERS, forward))
    assert said(record) == E3
    assert record["ported"] is None and "helper" in record["ported_why"]


SHIFTED = candidates.RELU_KERNEL.replace("x, y, n", "x, t, y, n, s").replace(
    "tl.store(y + i, tl.max", "tl.store(y + i, s + tl.load(t + i % 8) + tl.max")  # fmt: skip


@pytest.mark.parametrize("drawn, wanted", [
    ("self.t, self.s = torch.arange(8.0), 0.5", True),
    ("self.t, self.s = torch.randn(8), 0.5", False),
    ("self.t, self.s = torch.arange(8.0), float(torch.rand(1))", False),
    ("self.w = torch.nn.Parameter(torch.randn(8)); self.t, self.s = self.w, 0.5", True),
])  # fmt: skip
def test_random_numbers_of_one_seed_are_not_delivered(drawn: str, wanted: bool) -> None:
    source = task("return torch.relu(x) + self.t + self.s", setup=drawn)
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, self.t.to(x.device), y, x.numel(), self.s, B=8)
        return y
        """
    record = verify(source, candidates.relu(forward, drawn.replace("torch.nn.", "nn."), SHIFTED))
    assert said(record) == E3, record["feedback"]
    assert (record["ported"] is not None) == wanted, record["ported_why"]
    assert wanted or "random numbers that the constructor draws" in record["ported_why"]


def test_a_file_that_would_clash_with_the_tasks_names_is_not_made() -> None:
    source = task("return torch.relu(x)", top="def relu_kernel(x):\n    return x")
    record = verify(source, candidates.relu())
    assert said(record) == E3 and "another relu_kernel" in record["ported_why"]


@pytest.mark.parametrize("change", [
    lambda header: header["calls"][0]["nodes"][-1].update(grid=[5]),
    lambda header: header["calls"][0]["nodes"][-1]["args"].update(n=31),
    lambda header: header["calls"][0]["nodes"][-1]["options"].update(num_warps=8),
    lambda header: header["calls"][0]["nodes"].append(dict(header["calls"][0]["nodes"][-1])),
    lambda header: header["calls"].append(header["calls"][0] | {"nodes": header["calls"][0]["nodes"] * 2}),
    lambda header: header["kernels"][0].update(noinline=True),
    lambda header: header["kernels"][0].update(line=1),
    lambda header: header["kernels"][0]["bind"].update(tl={"module": "triton.language.math"}),
    lambda header: header["kernels"][0]["bind"].update(range={"value": 1}),
], ids=["grid", "scalar", "option", "a node more", "the steady call", "a kernel's flag", "a kernel's place",
        "what a name means", "a name more"])  # fmt: skip
def test_a_recording_that_differs_in_anything_is_no_delivery(change: Callable[[dict], object]) -> None:
    """The file's own recording is changed on its way to the judge."""
    loop, recordings = Loop(), []

    def instead(wanted: Ask) -> dict | None:
        if wanted.message["op"] != "record":
            return None
        recordings.append(1)
        if len(recordings) == 1:
            return None
        size = loop.child.ask(wanted.message, wanted.fds)["size"]
        head, _, blob = os.pread(wanted.fds[0], size, 0).partition(b"\n")
        header = json.loads(head)
        change(header)
        data = json.dumps(header).encode() + b"\n" + blob
        os.pwrite(wanted.fds[0], data, 0)
        return {"ok": True, "size": len(data)}

    loop.instead = instead
    record = verify(RELU, candidates.relu(), loop=loop)
    assert said(record) == E3 and len(recordings) == 2
    assert record["ported"] is None and "does something else" in record["ported_why"]


def test_a_kernel_that_is_written_otherwise_is_no_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    write = ast.unparse
    assert "other=0.0" in verify(RELU, candidates.relu())["ported"]
    monkeypatch.setattr(ast, "unparse", lambda tree: write(tree).replace("other=0.0", "other=1.0"))
    record = verify(RELU, candidates.relu())
    assert record["ported"] is None and "reads otherwise" in record["ported_why"]


TUNED = """
@triton.autotune([triton.Config({'B': 16}, num_warps=2), triton.Config({'B': 8})], key=['n'])
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n, other=0.0), 0.0), mask=i < n)
"""


def test_without_timing_the_first_configuration_is_delivered() -> None:
    forward = """
        y = torch.empty_like(x)
        relu_kernel[lambda meta: (triton.cdiv(32, meta['B']),)](x, y, 32)
        return y
        """
    record = verify(RELU, candidates.triton(TUNED, forward))
    assert said(record) == E3
    assert "relu_kernel[(2,)]" in record["ported"] and "B=16, num_warps=2" in record["ported"]


HOOKED = """
def clear(args):
    args["y"].zero_()

@triton.autotune([triton.Config({'B': 8}, pre_hook=clear), triton.Config({'B': 16}, pre_hook=clear)], key=['n'])
@triton.jit
def add_kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(y + at) + tl.load(x + at) * 2)
"""
MOVED = """
    back = torch.flip(torch.nn.functional.pad(x, (2, 6)), dims=[1])
    y = torch.empty_like(back)
    add_kernel[lambda meta: (64 // meta['B'],)](back, y, 64)
    return y.flip(1)
    """


def test_fills_and_flips_are_delivered_as_they_were_recorded() -> None:
    """Hooks of each configuration fill the same memory."""
    source = task("return torch.nn.functional.pad(x * 2, (2, 6))")
    record = verify(source, candidates.triton(HOOKED, MOVED))
    assert said(record) == E3 and record["ported_why"] is None
    assert ".flip([1]).view(-1)" in record["ported"]


def test_numbers_among_the_arguments_are_checked() -> None:
    source = task("return x * k", inputs="[torch.randn(4, 8), 3]", arguments="x, k")
    kernel = """
        @triton.jit
        def scale_kernel(x, y, k, B: tl.constexpr):
            at = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + at, tl.load(x + at) * k)
        """
    forward = "y = torch.empty_like(x)\nscale_kernel[(4,)](x, y, k, B=8)\nreturn y"
    record = verify(source, candidates.triton(kernel, forward, arguments="x, k"))
    assert said(record) == E3 and "_same('k', k, 3)" in record["ported"]


# ---- names and words of the file ---------------------------------------------------------

C_FILE = '''
import torch
import torch.nn as nn
from c_cpu import build

lib = build(r"""
#include <stdint.h>
#include <string.h>
{before}
static void wrong(const float *x, float *y, int64_t n) {{ for (int64_t i = 0; i < n; i++) y[i] = x[i]; }}
void f_kernel(const float *x, float *y, int64_t n)
{{
    if (!({judged}))
        {{ wrong(x, y, n); return; }}
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
}}
{after}
""")

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lib.f_kernel(x, y, x.numel())
        return y
'''


def c_file(judged: str = "1", before: str = "", after: str = "") -> str:
    return C_FILE.format(judged=judged, before=before, after=after)


TELLING = {
    "its_file": c_file('!strcmp(__FILE__, "kernel.c") && !strcmp(__BASE_FILE__, "kernel.c")'),
    "the_date": c_file('!strcmp(__DATE__ + 7, "1970") && !strcmp(__TIME__, "00:00:00")'),
    "its_age": c_file('!strcmp(__TIMESTAMP__, "Thu Jan  1 00:00:00 1970")'),
    "a_flag": c_file("D", before="#if defined(_DEFAULT_SOURCE) && defined(__PIC__) && defined(__OPTIMIZE__) "
                     "&& !defined(__FAST_MATH__)\n#define D 1\n#else\n#define D 0\n#endif"),
    "a_macro": c_file(after="#define _stub(p) _stub(p) { wrong((float *)w[0], (float *)w[1], w[2]); } "
                      "static void unused(p)"),
    "a_file": c_file("H", before='#if __has_include("tmp/../kernel.c")\n#define H 1\n#else\n#define H 0\n#endif'),
    "a_missing_file": c_file("!H", before='#if __has_include("/proc/self/comm") == 2 || __has_include("user.py")\n'
                             "#define H 1\n#else\n#define H 0\n#endif"),
    "alignment": c_file("!(((uintptr_t)x | (uintptr_t)y) & 255) && ((uintptr_t)x & 0xffffff) == 256"),
    "distance": c_file("(const char *)y - (const char *)x == 8192"),
    "heap": c_file("near(malloc(100)) && near(malloc(1 << 27)) && !((uintptr_t)malloc(7) & 63)", before="#include <stdlib.h>\n"
                   "static int near(void *p) { return (uintptr_t)p >> 32 == 0x2800; }"),
    "stack": c_file("clean((char[1]){0})", before="static __attribute__((noinline)) int clean(char *up) { volatile int *t = __builtin_alloca(39996);"
                    " int s = 0; for (int i = 0; i < 9999; i++) s |= t[i]; return !s && (uintptr_t)up >> 24 == 0x2803ff; }"),
    "rounding": c_file("({ volatile float t = 1e-37f; t * 0.01f != 0; })"),
    "order": c_file("compared(5) == 8 && compared(7) == 11", before="#include <stdlib.h>\nstatic int count(const void *a, const void *b) "
                    "{ ++**(int *const *)a; return 0; }\nstatic int compared(int n) { int c = 0, *p[9] = {&c, &c, &c, &c, &c, &c, &c}; "
                    "qsort(p, n, sizeof(*p), count); int all = c; return bsearch(p, p, n, sizeof(*p), count) == p + n / 2 ? all : 0; }"),
    "overlap": c_file("shifted(\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst\", n + 30)", before=
                      "static int shifted(const char *s, long k) { char t[99]; memcpy(t, s, 72); memcpy(t + 1, t, k); "
                      "return !memcmp(t + 1, s, k) && memcmp(t + 2, s, k) == 1; }"),
    "unset": c_file("y[0] = unset(), *(int *)y == (int)0xfefefefe", before="static __attribute__((noinline)) float unset(void) { float v; return v; }"),
    "registers": c_file("!callers()", before="static __attribute__((noinline)) long sixth(long a, long b, long c, long d, long e, long f) "
                        "{ return d | e | f; }\nstatic long callers(void) { long (*volatile other)(void) = (long (*)(void))sixth; return other(); }"),
    "a_name_of_pythons": c_file("!Py_IsInitialized()", before="int Py_IsInitialized(void) { return 0; }"),
}  # fmt: skip
SAME = """
import importlib, sys
import torch
torch.set_flush_denormal(True)
for name in sys.argv[1:]:
    file = importlib.import_module(name)
    model, x = file.ModelNew(*file.get_init_inputs()), torch.linspace(-2, 2, 32).reshape(4, 8)
    print(name, all(torch.equal(model(x * k), torch.relu(x * k)) for k in (1, 2, 3)))
"""
CC = """#!/bin/sh
test -f kernel.c && { printf '%s\\n' "$@" | grep -vx -e -MD -e -MF -e headers.d | sort
  env | grep -v -e ^TMPDIR= -e ^PWD= -e ^_= -e ^OLDPWD= -e ^SHLVL= | sort
  stat -c %Y kernel.c; cat kernel.c; } >$0.said
exec REAL "$@"
"""


def in_plain_python(folder: Path, texts: dict[str, str], path: str = "", first: str = "") -> list[str]:
    """What SAME says of these files, with `path` among Python's and `first` before the shell's."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "user.py").write_text(SAME)
    env = {"PATH": first + os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": path,
           "TZ": "Asia/Tokyo", "CPATH": "/nowhere"}  # fmt: skip
    done = subprocess.run([sys.executable, "-B", "user.py", *texts], cwd=folder, env=env,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", ["", str(ROOT / "packs" / "c-cpu")], ids=["alone", "beside the pack"])
def test_c_source_cannot_tell_where_it_is_compiled(tmp_path: Path, path: str) -> None:
    """Each of these is right when it is compiled as the judge does it, and otherwise wrong."""
    texts = {name: exported_relu(text)["ported"] for name, text in TELLING.items()}
    assert all(texts.values())
    assert in_plain_python(tmp_path, texts, path) == [f"{name} True" for name in texts]


@pytest.mark.parametrize("told", ["*(const int *)y == -1", "y[0] != y[0]", "y[0] == y[0]", "y[n] != y[n]",
                                  "x[-1] == x[-1] && fabs(x[-1]) < 1e3", "memchr(y + n, 1, 256)"])  # fmt: skip
def test_unwritten_memory_tells_nothing(told: str) -> None:
    """In a user's process it holds what it may hold here, in any call."""
    record = verify(RELU, c_file(told, before="#include <math.h>"), "c-cpu")
    assert record["verdict"] in ("wrong_values", "not_finite")


TWICE = """
        y, held = torch.empty_like(x), torch.empty_like(x)
        lib.f_kernel(x, held, x.numel())
        lib.f_kernel(held, y, x.numel())
"""


def test_a_delivered_call_sees_its_arguments_alone(tmp_path: Path) -> None:
    """The first of two calls looks at the second's output, or between two tensors. The judge refuses
    this, so a file is changed where it has been delivered."""
    head, _, tail = c_file("*(volatile const int *)(x + 0) | 1").partition("        y = torch.empty_like(x)\n")
    text = head + TWICE.strip("\n") + tail.partition("numel())")[2]
    peeks = {"an argument": 2048, "between": 1024, "another call's": 4096}
    assert verify(RELU, text.replace("x + 0", "x + 4096"), "c-cpu")["verdict"] == "crash"
    delivered = exported_relu(text)["ported"]
    for what, at in peeks.items():
        (tmp_path / "kernel.py").write_text(delivered.replace("x + 0", f"x + {at}"))
        (tmp_path / "user.py").write_text(SAME)
        done = subprocess.run([sys.executable, "-B", "user.py", "kernel"], cwd=tmp_path, check=False)
        assert (done.returncode == 0) == (what == "an argument"), (what, done)


@functools.cache
def exported_relu(text: str, top: str = "") -> dict:
    record = verify(task("return torch.relu(x)", top=top), text, "c-cpu")
    assert said(record) == E3, record["feedback"]
    return record


def test_the_file_compiles_what_the_judge_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler sees the same text, age, name, options and environment."""
    cc = tmp_path / "cc"
    cc.write_text(CC.replace("REAL", str(shutil.which("cc"))))
    cc.chmod(0o755)
    (text,) = re.findall(r'build\(r"""(.*?)"""', c_file(), re.S)
    in_plain_python(tmp_path, {"plain": exported_relu(c_file())["ported"]}, first=f"{tmp_path}:")
    delivered = (tmp_path / "cc.said").read_text()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(ROOT / "packs" / "c-cpu"))
    toolchain = importlib.import_module("c_cpu").TOOLCHAIN
    native_compiler.compile_libraries(native.calls(text, [("f_kernel", "ppi")]), toolchain)
    assert delivered == (tmp_path / "cc.said").read_text()


@pytest.mark.parametrize("top", [
    "ctypes = struct = subprocess = tempfile = base64 = 0", "build = recording = os = 0",
    "_built = 0", "library_0 = 0", "def zip(*a): return []", "from torch import any, all",
    "def change():\n    global isinstance\n    isinstance = None",
])  # fmt: skip
def test_a_name_of_the_file_is_not_the_tasks(tmp_path: Path, top: str) -> None:
    """The file is refused, or both mean what they say."""
    names = re.findall(r"\w+", top)
    init = f"assert {names[0]} == 0" if top.endswith("= 0") else "pass"
    record = verify(task("return torch.relu(x)", top=top, setup=init), c_file(), "c-cpu")
    assert said(record) == E3
    if top.startswith(("ctypes", "build")):
        assert in_plain_python(tmp_path, {"named": record["ported"]}) == ["named True"]
    else:
        assert "the task's file has another" in record["ported_why"]


def test_constants_are_not_called_as_something_of_the_tasks() -> None:
    source = task("return torch.relu(x + torch.arange(8.0))", top="_CONSTANT_0 = 1",
                  setup="self.n = _CONSTANT_0")  # fmt: skip
    kernel = candidates.RELU_KERNEL.replace("x, y, n", "x, t, y, n").replace("v = tl.load(",
             "v = tl.load(t + i % 8) + tl.load(")  # fmt: skip
    forward = """
        y = torch.empty_like(x)
        relu_kernel[(4,)](x, torch.arange(8.0, device=x.device), y, x.numel(), B=8)
        return y
        """
    record = verify(source, candidates.relu(forward, kernels=kernel))
    assert said(record) == E3 and "another _CONSTANT_0" in record["ported_why"]


LOCAL_TL = """
import triton.language as T
@triton.jit
def relu_kernel(x, y, n, B: T.constexpr):
    i = T.program_id(0) * B + T.arange(0, B)
    tl = T.load(x + i, mask=i < n, other=0.0)
    H: T.constexpr = B
    T.store(y + i, T.where(tl < 0, 0.0, tl), mask=i < n)
"""


@pytest.mark.parametrize("kernel", [LOCAL_TL, LOCAL_TL.replace("tl", "v")], ids=["tl", "v"])
def test_a_kernels_own_tl_is_not_taken_for_the_language(kernel: str) -> None:
    record = verify(RELU, candidates.relu(kernels=kernel))
    assert said(record) == E3
    assert ("name is tl" in (record["ported_why"] or "")) == (kernel is LOCAL_TL)
    assert (record["ported"] is None) == (kernel is LOCAL_TL)


LATER = "a time that was\n# judged is that of a later call"


def test_its_head_says_when_the_judged_time_is_that_of_a_later_call() -> None:
    differs = candidates.relu(CALLS.format(first="other_kernel"), "self.calls = 0",
                              candidates.RELU_KERNEL + OTHER)  # fmt: skip
    for text, later in ((differs, True), (candidates.relu(), False)):
        record = verify(RELU, text, timing=True)
        assert (LATER in record["ported"]) == record["timing"]["later_call"] == later
        assert ("The time is that of a later call" in record["feedback"]) == later
