"""What native_source.py reads from CUDA C++: which host functions can be called and which
kernels can be launched. No compiler is needed: the text is as a preprocessor leaves it."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker")]

from shared import native_cuda, native_source  # noqa: E402
from shared.native_source import CType  # noqa: E402



def functions(text: str) -> dict[str, native_source.Function]:
    return native_source.functions(text, native_cuda.HOST)


def kernels(text: str) -> dict[str, native_source.Function]:
    return native_source.functions(text, native_cuda.KERNELS)


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
        ("const float4 *x", "void"),
        ("struct pair *x", "void"),
        ("const char *x", "void"),
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
    assert function.returns
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
        "__half x",
        "__nv_bfloat16 x",
        "std::array<float, 4> *x",
        "gl<bf16, 1> x",
        "void (*x)(int)",
        "dim3 x",
        "float4 x",
    ],
)
def test_what_python_cannot_pass_has_no_type(spelling: str) -> None:
    [parameter] = functions(f'extern "C" void f({spelling}) {{ }}')["f"].parameters
    assert parameter.type is None


def test_kernels_are_found_wherever_they_have_a_plain_name() -> None:
    found = kernels(
        """
        namespace inner { __attribute__((global)) void a(float *x) { } }
        namespace { __attribute__((global)) void hidden(float *x) { } int n() { return 1; } }
        static __attribute__((global)) void own(float *x) { }
        void __attribute__((global)) __attribute__((launch_bounds(256))) odd(int n) { }
        extern "C" __attribute__((global)) void c(float *x) { }
        extern "C" { __attribute__((global)) void also_c(float *x) { if (x) { } } }
        __attribute__((device)) float f(float x) { return x; }
        void host(float *x) { own<<<1, 1>>>(x); }
        extern "C" int launch(float *x) { return 0; }
        struct s { int a; };
        __attribute__((global)) void last(const float *__restrict__ x, std::int64_t n) { }
        int main() { return 0; }
        """
    )
    assert list(found) == ["hidden", "own", "odd", "c", "also_c", "last"]
    assert found["last"].signature == "last(const float *__restrict__ x, int64_t n)"
    assert not any(function.problem for function in found.values())


def test_a_kernel_without_a_name_of_its_own_is_listed_with_the_reason() -> None:
    found = kernels(
        "template <class T, int N = 4> __attribute__((global)) void t(T *x) { }\n"
        "__attribute__((global)) void twice(float *x) { }\n"
        "__attribute__((global)) void twice(int *x) { }\n"
    )
    assert {name: f.problem for name, f in found.items()} == {
        "t": "is a template",
        "twice": "has more than one definition",
    }


def test_a_long_table_is_read_in_a_moment() -> None:
    table = "__attribute__((constant)) float t[] = {" + "1.0f, " * 20000 + "};\n"
    assert list(functions(table + 'extern "C" int f(int a) { return a; }')) == ["f"]
