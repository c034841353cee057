"""C source becomes functions: recorded without a compiler's output, built apart from the
recording, and called over memory by words. What a kernel may not bring along is refused
by trying it."""
from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT / "worker"), str(ROOT / "packs" / "c-cpu")]
sys.path[:0] = PATHS

import c_cpu  # noqa: E402
from compiler import native_compiler  # noqa: E402
from native_run import Recorder, Runner, load_library  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native  # noqa: E402

ADD_ONE = """
#include <stdint.h>
void add_one_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + 1.0f;
}
"""


@pytest.fixture(params=["cc", "gcc", "clang"])
def toolchain(request: pytest.FixtureRequest) -> native.Toolchain:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return dataclasses.replace(c_cpu.TOOLCHAIN, compiler=(request.param,))


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """What is recorded is executed at once."""
    runner = Runner(lambda request: native_compiler.compile_libraries(request, c_cpu.TOOLCHAIN))
    monkeypatch.setattr(native_record, "_current", lambda: runner)
    return runner


def made(source: str, *launches: list[str], toolchain: native.Toolchain = c_cpu.TOOLCHAIN) -> bytes:
    """The library."""
    return native_compiler.compile_libraries(native.calls(source, launches), toolchain).partition(b"\n")[2]


def refused(source: str) -> str:
    with pytest.raises(native.BuildError) as caught:
        made(source, ["f", ""])
    return str(caught.value)


# ---- recording ------------------------------------------------------------------


def test_recording_compiles_and_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_: pytest.fail("loaded"))
    recorder = Recorder()
    monkeypatch.setattr(native_record, "_current", lambda: recorder)
    lib = c_cpu.build(ADD_ONE)
    x, y = torch.ones(3), torch.empty(3)
    assert lib.add_one_kernel(x, y, 3) is None
    assert recorder.texts == [ADD_ONE]
    assert recorder.nodes == [
        {
            "op": "call",
            "text": 0,
            "function": "add_one_kernel",
            "args": [{"t": [0, "float32", 0, [3], [1]]}, {"t": [1, "float32", 0, [3], [1]]}, 3],
        }
    ]


def test_a_call_outside_forward_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_record, "_current", lambda: None)
    lib = c_cpu.build(ADD_ONE)
    words = r"add_one_kernel\(\) is called outside ModelNew.forward"
    with pytest.raises(RuntimeError, match=words):
        lib.add_one_kernel(torch.ones(1), torch.ones(1), 1)


def test_structs_scratch_and_channels_last_are_taken_and_an_unused_result_is_no_mistake() -> None:
    lib = c_cpu.build(
        "#include <stdlib.h>\nstruct pair { float a, b; };\ntypedef struct { const float *x; } span_t;\n"
        "static struct pair both(float v) { struct pair p = {v, 2 * v}; return p; }\n"
        "int twice_kernel(const float *x, float *y, long n) {\n"
        "    span_t s = {x}; float *t = malloc(n * sizeof(float)); if (!t) return -1;\n"
        "    for (long i = 0; i < n; i++) t[i] = both(s.x[i]).b;\n"
        "    for (long i = 0; i < n; i++) y[i] = t[i];\n    free(t);\n    return 0;\n}\n"
    )
    for shape, order in (((2, 3, 4, 5), torch.channels_last), ((1, 2, 3, 2, 2), torch.channels_last_3d)):
        x = torch.randn(shape).to(memory_format=order)
        y = torch.empty_like(x)
        lib.twice_kernel(x, y, x.numel())
        assert torch.equal(y, 2 * x)


def test_a_result_does_not_reach_python() -> None:
    lib = c_cpu.build("int f_kernel(float *x) { return x[0] > 0; }")
    result = lib.f_kernel(torch.ones(1))
    words = r"the result of f_kernel\(\) does not reach Python; make the function void"
    for use in (bool, int, float, str, lambda r: r == 0, lambda r: r + 1, torch.tensor):
        with pytest.raises(TypeError, match=words):
            use(result)


def test_a_source_may_hold_several_functions_and_static_ones_are_private() -> None:
    lib = c_cpu.build(
        "static float twice(float x) { return 2 * x; }\n"
        "inline float thrice(float x) { return 3 * x; }\n"
        "void first_kernel(float *x) { x[0] = twice(x[0]); }\n"
        "void second_kernel(float *x) { x[0] = twice(twice(x[0])); }\n"
    )
    x = torch.tensor([1.5])
    lib.first_kernel(x)
    lib.second_kernel(x)
    assert x.item() == 12
    for name in ("twice", "thrice", "absent"):
        with pytest.raises(AttributeError, match="callable: first_kernel, second_kernel"):
            getattr(lib, name)


def test_a_function_that_is_not_found_for_a_syntax_error_shows_the_error() -> None:
    lib = c_cpu.build("void f_kernel(float *x) { x[0] = 1;\nvoid g_kernel(float *x) {}\n")
    with pytest.raises(native.BuildError, match="error: expected declaration or statement"):
        lib.g_kernel
    lib = c_cpu.build("void f_kernel(float *x) {}\nvoid f_kernel(float *x) {}\n")
    with pytest.raises(native.BuildError, match="redefinition of 'f_kernel'"):
        lib.f_kernel


@pytest.mark.parametrize(
    "words, source",
    [
        ("no function that can be called", "static void f(void) {}"),
        ("no function that can be called", ""),
        ("kernel.c:1:2: error: #error no", "#error no"),
        ("NUL byte", "void f(void) {}\0"),
        ("not valid Unicode", "/* \ud800 */ void f(void) {}"),
        ("longer than 1048576 bytes", " " * (1 << 20) + "void f(void) {}"),
    ],
)
def test_what_cannot_be_a_source_is_said_when_it_is_built(words: str, source: str) -> None:
    with pytest.raises(native.BuildError, match=words):
        c_cpu.build(source)
    with pytest.raises(TypeError, match="takes the source as a str, got bytes"):
        c_cpu.build(source.encode(errors="replace"))


# ---- calls ----------------------------------------------------------------------


def test_source_becomes_functions(toolchain: native.Toolchain) -> None:
    lib = native_record.library(ADD_ONE, toolchain, "cpu")
    x, y = torch.randn(1000), torch.empty(1000)
    lib.add_one_kernel(x, y, 1000)
    assert torch.equal(y, x + 1)


def test_every_scalar_arrives_as_it_was_passed(toolchain: native.Toolchain) -> None:
    lib = native_record.library(
        """
        #include <stdbool.h>
        #include <stddef.h>
        #include <stdint.h>
        void sum_kernel(double *y, int a, long b, int64_t c, size_t d, float e, double f, bool g,
                        int8_t h, uint8_t i, unsigned j, uint64_t k)
        {
            y[0] = a + (double)b + c + d + e + f + (g ? 0.125 : 0) + h + i + j;
            y[1] = (double)(k >> 32);
        }
        """,
        toolchain,
        "cpu",
    )
    y = torch.empty(2, dtype=torch.float64)
    lib.sum_kernel(y, -1, 2**40, -(2**41), 3, 0.5, 0.25, True, -128, 255, 2**32 - 1, 2**64 - 1)
    assert y[0] == -1 + 2**40 - 2**41 + 3 + 0.5 + 0.25 + 0.125 - 128 + 255 + 2**32 - 1
    assert y[1] == 2**32 - 1


@pytest.mark.parametrize(
    "c_type, dtype",
    [
        ("float", torch.float32),
        ("double", torch.float64),
        ("int8_t", torch.int8),
        ("signed char", torch.int8),
        ("int16_t", torch.int16),
        ("int", torch.int32),
        ("int32_t", torch.int32),
        ("long", torch.int64),
        ("long long int", torch.int64),
        ("int64_t", torch.int64),
        ("uint8_t", torch.uint8),
        ("bool", torch.bool),
    ],
)
def test_pointers_take_tensors_of_their_dtype(c_type: str, dtype: torch.dtype) -> None:
    lib = c_cpu.build(
        "#include <stdbool.h>\n#include <stdint.h>\n"
        f"void copy_kernel(const {c_type} *restrict x, {c_type} y[], int n)\n"
        "{ for (int i = 0; i < n; i++) y[i] = x[i]; }\n"
    )
    x, y = torch.tensor([0, 1, 1, 0]).to(dtype), torch.ones(4).to(dtype)
    lib.copy_kernel(x, y, 4)
    assert torch.equal(x, y)
    other = torch.int32 if dtype == torch.float32 else torch.float32
    with pytest.raises(TypeError, match=f"expected a tensor of dtype {dtype}, got {other}"):
        lib.copy_kernel(x.to(other), y, 4)


def test_other_pointers_take_any_dtype_and_none_is_null() -> None:
    lib = c_cpu.build(
        "struct pair { float a, b; };\n"
        "typedef float quad __attribute__((vector_size(16)));\n"
        "void f_kernel(const void *p, struct pair *x, quad *y)\n"
        "{ x->b = p ? 1 : 2; if (y) *y *= 2; }\n"
    )
    x, y = torch.zeros(2), torch.ones(4)
    lib.f_kernel(None, x, None)
    assert x.tolist() == [0, 2]
    lib.f_kernel(torch.zeros(3, dtype=torch.float16), x, y)
    assert x.tolist() == [0, 1] and y.tolist() == [2, 2, 2, 2]


def test_arrays_with_sizes_of_their_own_are_pointers_to_what_they_consist_of() -> None:
    lib = c_cpu.build(
        "void f_kernel(int n, int d, const float a[n][d], const float (*restrict b)[d], float y[static n],\n"
        "              [[maybe_unused]] int unused)\n"
        "{ for (int i = 0; i < n; i++) y[i] = a[i][d - 1] + b[i][0]; }\n"
    )
    x, y = torch.arange(6.0).reshape(2, 3), torch.empty(2)
    lib.f_kernel(2, 3, x, 10 * x, y, 0)
    assert y.tolist() == [2, 35]
    with pytest.raises(TypeError, match=r"'b' \(const float \( ?\*restrict b ?\)\[d\]\): expected a tensor of dtype torch.float32"):
        lib.f_kernel(2, 3, x, x.double(), y, 0)


def test_views_arrive_at_their_own_address() -> None:
    x, y = torch.arange(10.0), torch.zeros(10)
    c_cpu.build(ADD_ONE).add_one_kernel(x[4:8], y.view(2, 5)[1], 4)
    assert y.tolist() == [0, 0, 0, 0, 0, 5, 6, 7, 8, 0]


def test_empty_tensors_and_sizes_of_one_are_accepted() -> None:
    lib = c_cpu.build(ADD_ONE)
    lib.add_one_kernel(torch.empty(0), torch.empty(0, 3), 0)
    y = torch.zeros(1, 1)
    lib.add_one_kernel(torch.ones(4, 2)[:1, :1], y, 1)
    assert y.item() == 2


def test_a_wrong_number_of_arguments_shows_the_signature() -> None:
    with pytest.raises(TypeError) as caught:
        c_cpu.build(ADD_ONE).add_one_kernel(torch.ones(1), torch.ones(1))
    assert str(caught.value) == (
        "add_one_kernel() takes 3 arguments, got 2: "
        "add_one_kernel(const float *x, float *y, int64_t n)"
    )


X, Y = torch.ones(16), torch.ones(16)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((X.double(), Y, 16), r"'x' \(const float \*x\): .* torch.float32, got torch.float64"),
        ((X, torch.ones(4, 4).t(), 16), r"'y' \(float \*y\): .* contiguous .* \(1, 4\)"),
        ((X[::2], Y, 8), "'x' .* contiguous"),
        ((X, torch.ones(1, 4, 2, 2).permute(0, 1, 3, 2), 16), "'y' .* contiguous"),
        ((X.to("meta"), Y, 16), "'x' .* on the CPU, got one on meta"),
        ((X.to_sparse(), Y, 16), "'x' .* dense tensor"),
        ((X.tolist(), Y, 16), "'x' .* expected a tensor, got list"),
        ((X.data_ptr(), Y, 16), "'x' .* expected a tensor, got int"),
        ((X, Y, 16.0), r"'n' \(int64_t n\): expected an int, got float"),
        ((X, Y, True), "'n' .* expected an int, got bool"),
        ((X, Y, None), "'n' .* expected an int, got NoneType"),
        ((X, Y, torch.tensor(16)), "'n' .* expected an int, got Tensor"),
        ((X, Y, 2**63), "'n' .* 9223372036854775808 does not fit into 64 bits"),
    ],
)
def test_a_wrong_argument_is_named(
    arguments: tuple[object, ...], words: str, recorder: Recorder
) -> None:
    lib = c_cpu.build(ADD_ONE)
    with pytest.raises(TypeError, match=r"add_one_kernel\(\) parameter " + words):
        lib.add_one_kernel(*arguments)
    assert recorder.nodes == []


@pytest.mark.parametrize(
    "c_type, dtype, good, bad",
    [
        ("int", torch.int32, [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 1.0, "1"]),
        ("int8_t", torch.int8, [127, -128], [128, -129]),
        ("uint8_t", torch.uint8, [0, 255], [256, -1]),
        ("bool", torch.bool, [True, False], [1, 0.0, None]),
        ("float", torch.float32, [1, 0.5, float("inf"), float("-inf")], [1e39, 10**400, True]),
        ("double", torch.float64, [1, 1e39, float("inf")], [10**400, None]),
    ],
)
def test_numbers_must_fit(
    c_type: str, dtype: torch.dtype, good: list[object], bad: list[object]
) -> None:
    lib = c_cpu.build(
        "#include <stdbool.h>\n#include <stdint.h>\n"
        f"void same_kernel({c_type} *y, {c_type} value) {{ *y = value; }}\n"
    )
    y = torch.empty(1, dtype=dtype)
    for value in good:
        lib.same_kernel(y, value)
        assert y.item() == value
    for value in bad:
        with pytest.raises(TypeError, match="'value'"):
            lib.same_kernel(y, value)


def test_not_a_number_arrives_as_such() -> None:
    y = torch.empty(1)
    c_cpu.build("void f_kernel(float *y, float v) { *y = v; }").f_kernel(y, float("nan"))
    assert y.isnan().all()


def test_types_python_cannot_pass_are_refused_when_called() -> None:
    lib = c_cpu.build(
        "struct pair { int a, b; };\n"
        "void by_struct(struct pair p) {}\n"
        "void by_double_pointer(float **x) {}\n"
        "void by_function(int (*f)(int)) {}\n"
        "void by_pointers(int n, float *x[n]) {}\n"
        "void by_pointer_to_pointers(float *(*x)[4]) {}\n"
    )
    for name in ("by_struct", "by_double_pointer", "by_function", "by_pointers", "by_pointer_to_pointers"):
        with pytest.raises(TypeError, match=rf"{name}\(\) parameter '\w+': the type of"):
            getattr(lib, name)


def test_types_are_seen_through_macros_and_typedefs() -> None:
    lib = c_cpu.build(
        "#include <stdint.h>\n"
        "#define KERNEL(T, name) void name##_kernel(T *x, index n) "
        "{ for (index i = 0; i < n; i++) x[i] *= 2; }\n"
        "typedef int64_t index;\n"
        "KERNEL(float, single)\n"
        "KERNEL(double, twice_as_long)\n"
        "#if 0\nKERNEL(int, never)\n#endif\n"
    )
    x = torch.ones(3, dtype=torch.float64)
    lib.twice_as_long_kernel(x, 3)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="torch.float32"):
        lib.single_kernel(x, 3)
    assert not hasattr(lib, "never_kernel")


FUNCTIONS = """
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static int by_first_byte(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }
void sort_kernel(void *items, long count, long size) { qsort(items, count, size, by_first_byte); }
void find_kernel(const uint8_t *items, int n, int64_t *found)
{
    for (int i = 0; i < 256; i++) {
        uint8_t key = i, *at = bsearch(&key, items, n, 1, by_first_byte);
        found[i] = at ? at - items : -1;
    }
}
void memory_kernel(const uint8_t *x, int64_t *y)
{
    void *p;
    y[0] = memcmp(x, x + 1, 2), y[1] = memcmp(x + 1, x, 2), y[2] = memcmp(x, x, 3), y[3] = memcmp(x, x + 1, 0);
    y[4] = posix_memalign(&p, 3, 8) == EINVAL && posix_memalign(&p, 64, 1l << 50) == ENOMEM;
    y[5] = posix_memalign(&p, 4096, 5) == 0 && (uintptr_t)p % 4096 == 0;
    free(p);
}
"""


def test_what_is_compiled_in_for_libc_does_what_libc_does(toolchain: native.Toolchain) -> None:
    lib = native_record.library(FUNCTIONS, toolchain, "cpu")
    for count, size in [(0, 4), (1, 4), (2, 1), (3, 8), (5, 3), (64, 16), (100, 7), (1000, 4)]:
        x = torch.randint(0, 20, (count, size), dtype=torch.uint8)
        wanted = sorted(x.tolist(), key=lambda row: row[0])
        lib.sort_kernel(x, count, size)
        assert x.tolist() == wanted  # equal ones stay in their order
    for items in ([], [7], [0, 3, 9], sorted({*range(1, 250, 3)})):
        found = torch.empty(256, dtype=torch.int64)
        lib.find_kernel(torch.tensor(items, dtype=torch.uint8), len(items), found)
        assert found.tolist() == [items.index(i) if i in items else -1 for i in range(256)]
    y = torch.empty(6, dtype=torch.int64)
    lib.memory_kernel(torch.tensor([3, 200, 4], dtype=torch.uint8), y)
    assert y.tolist() == [-197, 197, 0, 0, 1, 1]


# ---- building -------------------------------------------------------------------


def test_a_stub_takes_words(toolchain: native.Toolchain) -> None:
    source = "void f(float *y, int a, double b, _Bool c) { *y = c ? a * b : 0; }"
    library = load_library(made(source, ["f", "pidb"], toolchain=toolchain))
    y = ctypes.c_float()
    words = [ctypes.addressof(y), 2**64 - 3, 0x4000000000000000, 1]  # -3, 2.0
    library.monkeys_call_f((ctypes.c_uint64 * 4)(*words))
    assert y.value == -6


def test_a_recorded_signature_that_is_not_the_real_one_does_not_build() -> None:
    with pytest.raises(native.BuildError, match="too few arguments to function 'f'"):
        made("void f(float *y, int n) { *y = n; }", ["f", "p"])
    with pytest.raises(native.BuildError, match="makes integer from pointer"):
        made("void f(int n) { }", ["f", "p"])
    with pytest.raises(native.BuildError, match="implicit declaration of function 'g'"):
        made("void f(int n) { }", ["g", "i"])


@pytest.mark.parametrize(
    "source",
    [
        "#include <pthread.h>\n#include <stdio.h>\n#include <time.h>\nvoid f(void) { }",
        '#include <stdlib.h>\n#define CHECK(x) do { if (!(x)) exit(1); } while (0)\n'
        "void f(void) { CHECK(1); }",
        'void f(void) { __asm__ volatile("" ::: "memory"); }',
        "#pragma omp parallel for\nvoid f(void) { }",
        '#include <stdio.h>\nvoid f(void) { puts(".includes"); }',
        "#line 7\nvoid f(void) {\n#pragma GCC unroll 4\nfor (int i = 0; i < 8; i++) ; }",
    ],
)
def test_what_honest_code_has_is_no_reason_to_refuse_it(source: str) -> None:
    made(source, ["f", ""])


def test_compiler_errors_name_kernel_c_and_no_other_path(toolchain: native.Toolchain) -> None:
    with pytest.raises(native.BuildError) as caught:
        made("void f(float *x)\n{\n    x[0] = y;\n}\n", ["f", "p"], toolchain=toolchain)
    text = str(caught.value)
    assert "kernel.c:3:" in text and "error:" in text
    assert "/tmp" not in text


def test_errors_of_the_stubs_are_shown_only_where_there_are_no_others() -> None:
    text = refused("void f(void {}\n")
    assert "kernel.c:1" in text and "monkeys_call" not in text


def test_linker_errors_name_kernel_c_and_no_other_path() -> None:
    text = refused("int absent(void); int f(void) { return absent(); }")
    assert "undefined reference to `absent'" in text
    assert "kernel.c" in text and "/tmp" not in text


@pytest.mark.parametrize(
    "body, words",
    [
        ("void f(float *x) { x[0] = expf(x[0]); }", "implicit(ly)? declar"),
        ("int f(void) { }", "non-void function"),
        ("void g(int *); void f(float *x) { g(x); }", "incompatible pointer type"),
        ("void f(float *x) { x[0] = 1.5f }", "expected ';'"),
    ],
)
def test_what_c_would_only_warn_about_is_an_error(body: str, words: str) -> None:
    assert re.search(words, refused(body))


def test_the_environment_cannot_change_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "math.h").write_text("#error the wrong header\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    made("#include <math.h>\nvoid f(float *x) { x[0] = expf(x[0]); }", ["f", "p"])


def test_a_missing_compiler_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(native.ToolchainError, match="the compiler 'cc' is not on PATH; install"):
        c_cpu.build(ADD_ONE)


def test_a_compiler_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    slow = tmp_path / "slow-cc"
    slow.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {tmp_path}/child; wait\n")
    slow.chmod(0o755)
    toolchain = dataclasses.replace(c_cpu.TOOLCHAIN, compiler=(str(slow),), timeout_s=1)
    with pytest.raises(native.BuildError, match="longer than 1 s"):
        made(ADD_ONE, ["f", ""], toolchain=toolchain)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    assert not child.exists() or child.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_another_flag_or_another_compiler_is_another_identity() -> None:
    plain = c_cpu.TOOLCHAIN
    other = dataclasses.replace(plain, flags=(*plain.flags, "-O1"))
    assert native_compiler.native_identity(plain) == native_compiler.native_identity(plain)
    assert native_compiler.native_identity(plain) != native_compiler.native_identity(other)


# ---- files a kernel may not bring along --------------------------------------------

@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """Code that somebody else wrote."""
    path = tmp_path / "finished.h"
    path.write_text("static void finished(float *x) { x[0] = 1; }\n")
    return path


@pytest.mark.parametrize(
    "directive",
    [
        '#include "{}"',
        "#include <{}>",
        '#include "../../../../../../../..{}"',
        "#include <../../../../../../../..{}>",
        '%:include "{}"',
        '/* a\n */ # /* b */ inc\\\nlude "{}"',
        '#define FILE "{}"\n#include FILE',
        '#include_next "{}"',
        '#line 1 "/usr/include/math.h"\n#include "{}"',
    ],
)
def test_includes_from_elsewhere_are_refused(finished: Path, directive: str) -> None:
    source = directive.replace("{}", str(finished)) + "\nvoid f(float *x) { finished(x); }"
    with pytest.raises(native.BuildError, match="#include of .*finished.h is not allowed"):
        made(source, ["f", "p"])


def test_the_lines_of_a_file_from_elsewhere_are_not_shown(finished: Path) -> None:
    finished.write_text("a secret\n")
    text = refused(f'#include "{finished}"\nvoid f(void) {{ }}')
    assert "is not allowed" in text and "secret" not in text


def test_who_kills_a_compiler_says_nothing_about_the_source(tmp_path: Path) -> None:
    program = (
        f"import dataclasses, sys; sys.path[:0] = {PATHS!r}\n"
        "from pathlib import Path\nimport c_cpu\nfrom shared import native\n"
        "toolchain = dataclasses.replace(c_cpu.TOOLCHAIN, compiler=('sh', '-c', sys.argv[1]))\n"
        f"native.compile_in(Path({str(tmp_path)!r}), 'int x;', toolchain, [])\n"
    )
    argv = [sys.executable, "-c", program]
    ends = [
        subprocess.run([*argv, line], check=False, capture_output=True).returncode
        for line in ("exit 0", "exit 1", "kill -9 $$")
    ]
    assert ends == [0, 1, -signal.SIGKILL]


# ---- how long a compiler may take ------------------------------------------------------


def burning(seconds: float) -> list[str]:
    """All of them on one processor."""
    code = f"""
import os, time
os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])
while time.process_time() < {seconds}:
    pass
print(input())
"""
    return [sys.executable, "-S", "-c", code]


def test_a_compiler_that_waits_for_a_processor_is_not_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It computes for 0.4 of the second that it may take; there is a quarter of a processor for
    it."""
    monkeypatch.setattr(native, "SLOWEST", 1000)  # however busy the machine is besides
    others = [subprocess.Popen(burning(1000), start_new_session=True) for _ in range(3)]
    try:
        began = time.monotonic()
        assert native.run(burning(0.4), tmp_path, 1, b"done\n") == (0, "done\n")
        assert time.monotonic() - began > 1
    finally:
        for process in others:
            process.kill()
            process.wait()


@pytest.mark.parametrize("argv", [["sleep", "1000"], burning(1000)], ids=["idle", "busy"])
def test_a_compiler_that_does_not_end_is_stopped(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(native.BuildError, match="took longer than 0.5 s"):
        native.run(argv, tmp_path, 0.5)
