"""What native_source.py reads from CUDA C++: which functions can be called, and which
constructs are refused. No compiler is needed: the text is as a preprocessor leaves it."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

import native_cuda  # noqa: E402
import native_source  # noqa: E402
from native_source import CType  # noqa: E402

CUDA = native_cuda.LANGUAGE


def functions(text: str) -> dict[str, native_source.Function]:
    return native_source.functions(text, CUDA)


# ---- what can be called ---------------------------------------------------------


def test_only_host_functions_with_c_linkage_can_be_called() -> None:
    found = functions(
        """
        typedef unsigned int word;
        namespace inner { int a(int x) { return x; } struct s { void f() {} }; }
        struct max { float operator()(float a, float b) const { return a > b ? a : b; } };
        enum class kind { one, two };
        static constexpr int sizes[2] = {1, 2};
        auto lambda = [](int a) { return a; };
        bool operator==(max a, max b) { return true; }
        max::max() : a{1}, b(2) {}
        template <class T, int N = (1 > 0)> __attribute__((global)) void k(T *x) { }
        __attribute__((device)) static float f(float x) { return x; }
        float plain(float x) { return x; }
        extern "C" __attribute__((global)) void kernel(float *x) { }
        extern "C" __attribute__((device)) void on_device(float *x) { }
        extern "C" static int hidden(int a) { return a; }
        extern "C" inline int maybe(int a) { return a; }
        extern "C" int declared(int a);
        extern "C" __attribute__((host)) __attribute__((device)) int both(int a) { return a; }
        extern "C" int first(int a, word b) noexcept { return {a}; }
        extern "C" {
            struct pair { int a; };
            static int also_hidden(int a) { return a; }
            __attribute__((global)) void inner_kernel(float *x) { }
            void second(float *x) { if (x) { } }
            int third(void) { return 3; }
        }
        extern "C++" int not_c(int a) { return a; }
        int after(int a) { return a; }
        """
    )
    assert list(found) == ["both", "first", "second", "third"]


@pytest.mark.parametrize(
    "spelling, dtype",
    [
        ("const float *__restrict__ x", "float32"),
        ("double *x", "float64"),
        ("__half *x", "float16"),
        ("const half *x", "float16"),
        ("__nv_bfloat16 *x", "bfloat16"),
        ("const nv_bfloat16 x[]", "bfloat16"),
        ("std::int64_t *x", "int64"),
        ("const ::std::uint8_t *const x", "uint8"),
        ("unsigned long long *x", "uint64"),
        ("bool *x", "bool"),
        ("void *x", "void"),
        ("number *x", "float16"),
        ("other *x", "bfloat16"),
    ],
)
def test_pointers_are_known_by_their_elements(spelling: str, dtype: str) -> None:
    found = functions(
        "using number = __half; typedef const __nv_bfloat16 other;\n"
        f'extern "C" void f({spelling}) {{ }}'
    )
    [parameter] = found["f"].parameters
    assert (parameter.name, parameter.pointer) == ("x", True)
    assert parameter.type and parameter.type.name == dtype


def test_numbers_and_streams_are_known() -> None:
    found = functions(
        'extern "C" cudaError_t f(int a, std::size_t b = 4, float c, double d, bool e, '
        "cudaStream_t s = nullptr) { return cudaSuccess; }"
    )
    function = found["f"]
    assert function.result == CType("int", 32)
    assert [p.type for p in function.parameters] == [
        CType("int", 32),
        CType("uint", 64),
        CType("float", 32),
        CType("float", 64),
        CType("bool", 8),
        CType("stream"),
    ]
    assert [p.filled_in for p in function.parameters] == [False] * 5 + [True]
    assert function.signature == (
        "f(int a, size_t b, float c, double d, bool e, cudaStream_t s)"
    )


@pytest.mark.parametrize(
    "spelling",
    [
        "float &x",
        "const float **x",
        "float4 *x",
        "__half x",
        "__nv_bfloat16 x",
        "cudaStream_t *x",
        "std::array<float, 4> *x",
        "gl<bf16, 1> x",
        "struct pair *x",
        "void (*x)(int)",
        "dim3 x",
        "const char *x",
    ],
)
def test_what_python_cannot_pass_has_no_type(spelling: str) -> None:
    [parameter] = functions(f'extern "C" void f({spelling}) {{ }}')["f"].parameters
    assert parameter.type is None


# ---- what is refused ------------------------------------------------------------

DEVICE = "__attribute__((device)) "
ASM = '{ asm volatile("bar.sync 0;"); }'


@pytest.mark.parametrize(
    "text",
    [
        "__attribute__((global)) void __attribute__((launch_bounds(128))) k() " + ASM,
        'extern "C" __attribute__((global)) void k() ' + ASM,
        DEVICE + "static __inline__ void f() " + ASM,
        "struct s { " + DEVICE + "void f() const " + ASM + " };",
        "template <class T, int N = 2> " + DEVICE + "void f(T x) { for (;;) " + ASM + " }",
        "namespace a { " + DEVICE + "void f() { auto g = [&]() " + ASM + "; g(); } }",
        "#pragma unroll 4\n#pragma nv_diag_suppress 177\n",
        "[[maybe_unused]] static int x; [[nodiscard]] int f();",
        "const long n = 1'000'000; const char *s = \"asm [[gnu::x]]\"; /* asm */ // asm",
        "std::vector<::foo> v;",
        'struct R { int a; }; R x; const char *s = "R";',
        "__attribute__((shared)) __attribute__((aligned(16))) float tile[4];",
    ],
)
def test_what_kernels_need_is_accepted(text: str) -> None:
    native_source.check_constructs(text, CUDA)


@pytest.mark.parametrize(
    "words, text",
    [
        ("host code", 'asm(".section .init_array");'),
        ("host code", "void f() " + ASM),
        ("host code", "__attribute__((host)) " + DEVICE + "void f() " + ASM),
        ("host code", DEVICE + "int x = 1; void f() " + ASM),
        ("host code", DEVICE + "void f(); void g() " + ASM),
        ("host code", DEVICE + "void f() { } void g() " + ASM),
        ("host code", DEVICE + "int (*f)() = +[]() " + ASM + ";"),
        ("host code", "struct " + DEVICE + "s : decltype(f()) { void g() " + ASM + " };"),
        ("host code", "auto f = [] " + DEVICE + "() " + ASM + ";"),
        ("host code", DEVICE + "void f() { const int n = 1'0; } void g() " + ASM),
        ("digraph %>", DEVICE + "void f() { %> void g() " + ASM),
        ("digraph <:", "int x<:2]; "),
        ("raw string", 'const char *x = R"(\\\\")"; void f() ' + ASM),
        ("raw string", 'auto x = u8R"(a)";'),
        ("__attribute__((constructor))", "__attribute__((constructor)) void f() { }"),
        ("__attribute__((section))", '__attribute__((section(".x"))) int x;'),
        ("__attribute__((alias))", 'void f() __attribute__((alias("g")));'),
        ("[[gnu]]", "[[gnu::constructor]] void f() { }"),
        ("[[using]]", "[[using gnu: constructor]] void f() { }"),
        ("[[constructor]]", "[[nodiscard, constructor]] void f();"),
        ("#pragma omp parallel", "#pragma omp parallel\n"),
        ("#pragma GCC optimize", '#pragma GCC optimize("fast-math")\n'),
    ],
)
def test_what_kernels_have_no_need_for_is_refused(words: str, text: str) -> None:
    with pytest.raises(native_source.SourceError) as caught:
        native_source.check_constructs(text, CUDA)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "#include <cuda_runtime.h>",
        '#include "cuda_fp16.h"',
        "#  include <cooperative_groups/reduce.h>",
        "#include <cuda/std/array>",
        "#include <cuda/barrier>",
        "#include <cstdint>  // fixed widths",
        "#define N 1'000",
        "#pragma once",
    ],
)
def test_plain_preprocessor_lines_are_accepted(line: str) -> None:
    native_source.check_directives(line + "\nint x;\n", native_cuda.HEADERS, CUDA)


@pytest.mark.parametrize(
    "words, line",
    [
        ("#include <cublas_v2.h>", "#include <cublas_v2.h>"),
        ('#include "torch/extension.h"', '#include "torch/extension.h"'),
        ("#include <thrust/sort.h>", "#include <thrust/sort.h>"),
        ("#include <iostream>", "#include <iostream>"),
        ("#include <thread>", "#include <thread>"),
        ("#include <cuda/../x.h>", "#include <cuda/../x.h>"),
        ("#include <cuda", "#include <cuda//etc/x>"),
        ('#include "/etc/cuda_runtime.h"', '#include "/etc/cuda_runtime.h"'),
        ("#include HEADER", "#define HEADER <cmath>\n#include HEADER"),
        ("#line", '#line 1 "x.h"'),
        ("#import", "#import <cmath>"),
        ("digraph %:", "%:include <thread>"),
        ("raw string", 'const char *x = R"(\\\\")"; /*\n#include <thread>\n*/'),
        ("#include <thread>", "const int n = 1'0; // '\n#include <thread>"),
    ],
)
def test_other_preprocessor_lines_are_refused(words: str, line: str) -> None:
    with pytest.raises(native_source.SourceError) as caught:
        native_source.check_directives(line + "\nint x;\n", native_cuda.HEADERS, CUDA)
    assert words in str(caught.value)


def test_a_long_table_is_read_in_a_moment() -> None:
    table = "__attribute__((constant)) float t[] = {" + "1.0f, " * 20000 + "};\n"
    text = table + 'extern "C" int f(int a) { return a; }'
    native_source.check_constructs(text, CUDA)
    assert list(functions(text)) == ["f"]
