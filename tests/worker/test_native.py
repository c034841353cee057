"""What worker/native.py promises: source becomes functions, and what a kernel may
not do is refused by trying it."""
from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "c-cpu")]

import c_cpu  # noqa: E402
import native  # noqa: E402
import native_elf  # noqa: E402
import native_source  # noqa: E402

ADD_ONE = """
#include <stdint.h>
void add_one_kernel(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + 1.0f;
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MONKEYS_C_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["cc", "gcc", "clang"])
def toolchain(request: pytest.FixtureRequest) -> native.Toolchain:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return dataclasses.replace(c_cpu.TOOLCHAIN, compiler=(request.param,))


def refused(source: str) -> str:
    with pytest.raises(native.BuildError) as caught:
        c_cpu.build(source)
    return str(caught.value)


# ---- building -------------------------------------------------------------------


def test_source_becomes_functions(toolchain: native.Toolchain) -> None:
    lib = native.build(ADD_ONE, toolchain)
    x, y = torch.randn(1000), torch.empty(1000)
    lib.add_one_kernel(x, y, 1000)
    assert torch.equal(y, x + 1)


def test_every_scalar_arrives_as_it_was_passed(toolchain: native.Toolchain) -> None:
    lib = native.build(
        """
        #include <stdbool.h>
        #include <stddef.h>
        #include <stdint.h>
        double sum_kernel(int a, long b, int64_t c, size_t d, float e, double f, bool g,
                          int8_t h, uint8_t i, unsigned j)
        { return a + (double)b + c + d + e + f + (g ? 0.125 : 0) + h + i + j; }
        """,
        toolchain,
    )
    value = lib.sum_kernel(-1, 2**40, -(2**41), 3, 0.5, 0.25, True, -128, 255, 2**32 - 1)
    assert value == -1 + 2**40 - 2**41 + 3 + 0.5 + 0.25 + 0.125 - 128 + 255 + 2**32 - 1


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


def test_void_pointers_take_any_dtype_and_none_is_null() -> None:
    lib = c_cpu.build("int is_null_kernel(const void *p) { return p == 0; }")
    assert lib.is_null_kernel(None) == 1
    assert lib.is_null_kernel(torch.zeros(3, dtype=torch.float16)) == 0


def test_a_source_may_hold_several_functions_and_static_ones_are_private() -> None:
    lib = c_cpu.build(
        "static float twice(float x) { return 2 * x; }\n"
        "inline float thrice(float x) { return 3 * x; }\n"
        "float first_kernel(float x) { return twice(x); }\n"
        "float second_kernel(float x) { return twice(twice(x)); }\n"
    )
    assert (lib.first_kernel(1.5), lib.second_kernel(1.5)) == (3.0, 6.0)
    for name in ("twice", "thrice", "absent"):
        with pytest.raises(AttributeError, match="callable: first_kernel, second_kernel"):
            getattr(lib, name)


def test_launches_are_counted_and_offered_to_hooks() -> None:
    lib = c_cpu.build(ADD_ONE)
    seen: list[native.Launch] = []
    native.launch_hooks.append(seen.append)
    try:
        lib.add_one_kernel(torch.ones(1), torch.ones(1), 1)
        lib.add_one_kernel(torch.ones(1), torch.ones(1), 1)
        with pytest.raises(TypeError):
            lib.add_one_kernel()
    finally:
        native.launch_hooks.remove(seen.append)
    assert lib.calls == 2
    assert seen == [native.Launch(lib.key, "add_one_kernel")] * 2


# ---- the cache ------------------------------------------------------------------


def test_the_same_source_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = c_cpu.build(ADD_ONE)
    monkeypatch.setattr(native, "_make_entry", lambda *_: pytest.fail("compiled again"))
    second = c_cpu.build(ADD_ONE)
    assert first.key == second.key
    assert [p.name for p in cache.iterdir()] == [first.key]


def test_another_source_or_another_flag_is_another_entry() -> None:
    toolchain = c_cpu.TOOLCHAIN
    plain = dataclasses.replace(toolchain, compile_flags=(*toolchain.compile_flags, "-O1"))
    keys = {
        native.build(ADD_ONE, toolchain).key,
        native.build(ADD_ONE + "\n", toolchain).key,
        native.build(ADD_ONE, plain).key,
    }
    assert len(keys) == 3


def test_a_refused_source_leaves_nothing_in_the_cache(cache: Path) -> None:
    refused("void f(void) { syntax }")
    refused("int environ_kernel(void) { extern char **environ; return environ != 0; }")
    assert list(cache.iterdir()) == []


def test_eight_processes_build_the_same_source_at_once(cache: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from c_cpu import build\n"
        "sys.stdin.read()\n"
        "print(build(sys.argv[2]).answer_kernel())\n"
    )
    source = "int answer_kernel(void) { return 42; }"
    argv = [sys.executable, "-c", script, str(ROOT / "packs" / "c-cpu"), source]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) for _ in range(8)]
    for child in children:
        assert child.stdin
        child.stdin.close()
    answers = []
    for child in children:
        assert child.stdout
        answers.append(child.stdout.read())
        child.stdout.close()
        assert child.wait() == 0
    assert answers == ["42\n"] * 8
    assert len(list(cache.iterdir())) == 1


def test_the_cache_may_be_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MONKEYS_C_CACHE", "here")
    assert (tmp_path / "here" / c_cpu.build(ADD_ONE).key).is_dir()


def test_a_missing_compiler_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(native.ToolchainError, match="the compiler 'cc' is not on PATH; install"):
        c_cpu.build(ADD_ONE)


def test_the_environment_cannot_change_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "math.h").write_text("#error the wrong header\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    c_cpu.build("#include <math.h>\nfloat f_kernel(float x) { return expf(x); }")


def test_a_compiler_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    slow = tmp_path / "slow-cc"
    slow.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && exec echo 1\n'
        f"sleep 1000 & echo $! > {tmp_path}/child; wait\n"
    )
    slow.chmod(0o755)
    toolchain = dataclasses.replace(c_cpu.TOOLCHAIN, compiler=(str(slow),), timeout_s=1)
    with pytest.raises(native.BuildError, match="longer than 1 s"):
        native.build(ADD_ONE, toolchain)
    child = Path("/proc", (tmp_path / "child").read_text().strip(), "stat")
    assert not child.exists() or child.read_text().rsplit(")", 1)[1].split()[0] == "Z"


# ---- what the compiler says -----------------------------------------------------


def test_compiler_errors_name_kernel_c_and_no_other_path(
    toolchain: native.Toolchain, cache: Path
) -> None:
    with pytest.raises(native.BuildError) as caught:
        native.build("void f(float *x)\n{\n    x[0] = y;\n}\n", toolchain)
    text = str(caught.value)
    assert "kernel.c:3:" in text and "error:" in text
    assert str(cache) not in text and "/tmp" not in text


def test_linker_errors_name_kernel_c_and_no_other_path(cache: Path) -> None:
    toolchain = c_cpu.TOOLCHAIN
    strict = dataclasses.replace(toolchain, link_flags=(*toolchain.link_flags, "-Wl,-z,defs"))
    with pytest.raises(native.BuildError, match="undefined reference to `absent'") as caught:
        native.build("int absent(void); int f(void) { return absent(); }", strict)
    assert str(cache) not in str(caught.value)
    assert "kernel.c" in str(caught.value)


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


# ---- what a kernel may not do ---------------------------------------------------


@pytest.mark.parametrize(
    "symbol, source",
    [
        ("system", '#include <stdlib.h>\nvoid f(void) { system("true"); }'),
        ("fork", "int fork(void); int f(void) { return fork(); }"),
        ("dlopen", 'void *dlopen(const char *, int); void f(void) { dlopen("libc.so.6", 1); }'),
        ("open", 'int open(const char *, int, ...); int f(void) { return open("/", 0); }'),
        ("socket", "int socket(int, int, int); int f(void) { return socket(1, 1, 0); }"),
        ("syscall", "long syscall(long, ...); long f(void) { return syscall(39); }"),
        ("getenv", '#include <stdlib.h>\nint f(void) { return getenv("HOME") != 0; }'),
        ("puts", 'void f(void) { __builtin_printf("hello\\n"); }'),
        ("__environ", "int f(void) { extern char **environ; return environ != 0; }"),
        ("absent", "int absent(int); int f(int a) { return absent(a); }"),
        (
            "pthread_create",
            "int pthread_create(void *, void *, void *(*)(void *), void *);\n"
            "static void *g(void *p) { return p; }\n"
            "int f(void *p) { return pthread_create(p, 0, g, 0); }",
        ),
    ],
)
def test_symbols_outside_the_list_are_refused(symbol: str, source: str) -> None:
    text = refused(source)
    assert text.startswith(f"undefined symbol {symbol} is not allowed; a kernel may call")


PASTE = "#define PASTE(a, b) a##b\n"


@pytest.mark.parametrize(
    "words, source",
    [
        ("__attribute__((constructor))", "__attribute__((constructor)) void f(void) {}"),
        ("((constructor))", "__attribute__((unused, __constructor__)) void f(void) {}"),
        ("((constructor))", PASTE + "__attribute__((PASTE(const, ructor))) void f(void) {}"),
        ("__attribute__((destructor))", "__attribute__((destructor)) void f(void) {}"),
        ("((section))", '__attribute__((section(".text"))) int x = 1; void f(void) {}'),
        ("((target))", '__attribute__((target("avx512f"))) void f(void) {}'),
        ("((alias))", 'void f(void) {} void g(void) __attribute__((alias("f")));'),
        ("((section))", '__attribute__\n((section(".text"))) int x = 1; void f(void) {}'),
        ("[[…]]", "[\n[gnu::constructor]] void f(void) {}"),
        ("[[…]]", "[[gnu::constructor]] void f(void) {}"),
        ("code that runs when the library is loaded (DT_INIT)", "void _init(void) {}"),
        ("code that runs when the library is loaded (DT_FINI)", "void _fini(void) {}"),
        ("inline assembler", 'void f(void) { __asm__("nop"); }'),
        ("inline assembler", PASTE + 'void f(void) { PASTE(__as, m__)("nop"); }'),
        ("inline assembler", 'int f(int) __asm__("system"); int g(void) { return f(0); }'),
        ("#pragma omp parallel for", "#pragma omp parallel for\nvoid f(void) {}"),
        ("#pragma GCC optimize", '#pragma GCC optimize("fast-math")\nvoid f(void) {}'),
        ("#pragma omp simd", 'void f(void) { _Pragma("omp simd") for (;;) ; }'),
        ("#line", '#line 1 "/usr/include/math.h"\nvoid f(void) {}'),
        ("#33", '# 33 "/usr/include/math.h" 3\nvoid f(void) {}'),
        # Python ends a line at U+2028 and at a form feed, C does not.
        ("inline assembler", 'char x[] = "\u2028# 1 " "y"; void f(void) { __asm__("nop"); }'),
        ("inline assembler", 'char x[] = "\f# 1 " "y"; void f(void) { __asm__("nop"); }'),
        ("carriage return", '// \r# 1 "y" 3\nvoid f(void) { __asm__("nop"); }'),
        ("#33", '/* *\\\f\n/\n# 33 "y" 3\nvoid f(void) { __asm__("nop"); }'),
        ("trigraph ??=", "??=include <stdio.h>\nvoid f(void) {}"),
        ("#include <stdio.h>", "#include <stdio.h>\nvoid f(void) {}"),
        ("#include <stdio.h>", "%:include <stdio.h>\nvoid f(void) {}"),
        ('#include "/etc/x"', '/* a\n */ # /* b */ inc\\\nlude "/etc/x"\nvoid f(void) {}'),
        ("#include HEADER", "#define HEADER <math.h>\n#include HEADER\nvoid f(void) {}"),
        ("no function that can be called", "static void f(void) {}"),
        ("no function that can be called", ""),
        ("may not be called 'calls'", "void calls(void) {}"),
        ("NUL byte", "void f(void) {}\0"),
        ("not valid Unicode", "/* \ud800 */ void f(void) {}"),
        ("longer than 1048576 bytes", " " * (1 << 20) + "void f(void) {}"),
    ],
)
def test_constructs_a_kernel_has_no_need_for_are_refused(words: str, source: str) -> None:
    assert words in refused(source)


def test_ifuncs_thread_locals_and_trampolines_are_refused() -> None:
    assert "__attribute__((ifunc))" in refused(
        "static int g(void) { return 1; }\nstatic int (*pick(void))(void) { return g; }\n"
        'int f(void) __attribute__((ifunc("pick")));\nint h(void) { return f(); }'
    )
    assert "is not allowed" in refused("_Thread_local int x; int f(void) { return ++x; }")
    if "clang" not in native._compiler_version("cc", os.environ["PATH"]):
        assert "writable code" in refused(
            "__attribute__((noinline)) int call(int (*volatile g)(int)) { return g(1); }\n"
            "int f(int a) { int g(int b) { return a + b; } return call(g); }"
        )


def test_lines_may_end_with_carriage_return_and_newline() -> None:
    x, y = torch.ones(3), torch.empty(3)
    c_cpu.build(ADD_ONE.replace("\n", "\r\n")).add_one_kernel(x, y, 3)
    assert y.tolist() == [2, 2, 2]


def test_comments_and_strings_are_not_code() -> None:
    lib = c_cpu.build(
        "// __asm__ system( #include <stdio.h>\n"
        "/* __attribute__((constructor))\n#include <stdio.h>\n*/\n"
        'const char words[] = "__asm__ // /* #pragma omp";\n'
        "int f_kernel(void) { return '\"' == 34; }\n"
    )
    assert lib.f_kernel() == 1


def test_the_object_check_stands_without_the_source_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_source, "check_constructs", lambda *_: None)
    body = "void f(void) { count++; }"
    assert "DT_INIT_ARRAY" in refused("volatile int count; __attribute__((constructor)) " + body)
    assert "DT_FINI_ARRAY" in refused("volatile int count; __attribute__((destructor)) " + body)
    for linkage in ("static", ""):
        assert "an address that is computed when the library is loaded" in refused(
            "static int g(void) { return 1; }\nstatic int (*pick(void))(void) { return g; }\n"
            f'{linkage} int f(void) __attribute__((ifunc("pick")));\nint h(void) {{ return f(); }}'
        )


def test_an_object_without_a_symbol_count_is_the_machines_fault() -> None:
    toolchain = c_cpu.TOOLCHAIN
    gnu = dataclasses.replace(
        toolchain, link_flags=(*toolchain.link_flags, "-Wl,--hash-style=gnu")
    )
    with pytest.raises(native.ToolchainError, match="hash-style"):
        native.build(ADD_ONE, gnu)


def test_other_libraries_are_refused() -> None:
    toolchain = dataclasses.replace(c_cpu.TOOLCHAIN, libraries=frozenset(["libc.so.6"]))
    with pytest.raises(native.BuildError, match="the library libm.so.6 is not allowed"):
        native.build("#include <math.h>\nfloat f(float x) { return expf(x); }", toolchain)


@pytest.mark.parametrize("cut", [0, 10, 64, 200, 1000, -4096])
def test_a_damaged_object_is_an_error_and_not_a_crash(cache: Path, cut: int) -> None:
    data = (cache / c_cpu.build(ADD_ONE).key / "kernel.so").read_bytes()
    assert native_elf.read_shared_object(data).startup == ()
    damaged = data[:cut] if cut >= 0 else data[:64] + bytes(1000) + data[1064:]
    with pytest.raises(native_elf.ElfError):
        native_elf.read_shared_object(damaged)


# ---- calls ----------------------------------------------------------------------


@pytest.fixture
def add_one(cache: Path) -> native.Library:
    return c_cpu.build(ADD_ONE)


def test_a_wrong_number_of_arguments_shows_the_signature(add_one: native.Library) -> None:
    with pytest.raises(TypeError) as caught:
        add_one.add_one_kernel(torch.ones(1), torch.ones(1))
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
    add_one: native.Library, arguments: tuple[object, ...], words: str
) -> None:
    with pytest.raises(TypeError, match=r"add_one_kernel\(\) parameter " + words):
        add_one.add_one_kernel(*arguments)
    assert add_one.calls == 0


def test_empty_tensors_and_sizes_of_one_are_accepted(add_one: native.Library) -> None:
    add_one.add_one_kernel(torch.empty(0), torch.empty(0, 3), 0)
    y = torch.zeros(1, 1)
    add_one.add_one_kernel(torch.ones(4, 2)[:1, :1], y, 1)
    assert y.item() == 2


@pytest.mark.parametrize(
    "c_type, good, bad",
    [
        ("int", [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 1.0, "1"]),
        ("int8_t", [127, -128], [128, -129]),
        ("uint8_t", [0, 255], [256, -1]),
        ("size_t", [0, 2**64 - 1], [2**64, -1]),
        ("bool", [True, False], [1, 0.0, None]),
        ("float", [1, 0.5, float("inf"), float("-inf")], [1e39, 10**400, True, "1"]),
        ("double", [1, 1e39, float("inf")], [10**400, None]),
    ],
)
def test_numbers_must_fit(c_type: str, good: list[object], bad: list[object]) -> None:
    lib = c_cpu.build(
        "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        f"{c_type} same_kernel({c_type} value) {{ return value; }}\n"
    )
    for value in good:
        assert lib.same_kernel(value) == value
    for value in bad:
        with pytest.raises(TypeError, match="'value'"):
            lib.same_kernel(value)


def test_types_python_cannot_pass_are_refused_when_called() -> None:
    lib = c_cpu.build(
        "struct pair { int a, b; };\n"
        "void by_struct(struct pair *p) {}\n"
        "void by_double_pointer(float **x) {}\n"
        "void by_function(int (*f)(int)) {}\n"
        "void by_char(const char *text) {}\n"
        "float *returns_pointer(float *x) { return x; }\n"
    )
    for name in ("by_struct", "by_double_pointer", "by_function", "by_char"):
        with pytest.raises(TypeError, match=rf"{name}\(\) parameter '\w+': the type of"):
            getattr(lib, name)
    with pytest.raises(TypeError, match="must return void or a number"):
        lib.returns_pointer


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


def test_vector_types_are_not_taken_for_their_elements() -> None:
    lib = c_cpu.build(
        "typedef float quad __attribute__((vector_size(16)));\nvoid f_kernel(quad *x) {}\n"
    )
    with pytest.raises(TypeError, match="cannot be passed"):
        lib.f_kernel
