"""Kernels in CUDA C++ that Python launches: what is recorded of them, and what nvcc makes
of them. No GPU is needed; tensors in the CPU's memory that say they are on cuda stand in
for the GPU's."""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "cuda")]

import cuda_build  # noqa: E402
from judge import launches, traces  # noqa: E402
from compiler import native_compiler  # noqa: E402
from native_run import Recorder, request  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native, native_cuda, program  # noqa: E402

try:
    NVCC = native_cuda.nvcc()
except native.ToolchainError as error:
    pytest.skip(f"nothing can be compiled: {error}", allow_module_level=True)

RELU = """
#include <cuda_runtime.h>
#include <cstdint>
__global__ void relu_kernel(const float *x, float *y, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        y[i] = fmaxf(x[i], 0.0f);
}
"""


class OnCuda(torch.Tensor):
    """In the CPU's memory, whatever it says."""

    device = torch.device("cuda:0")


def on_cuda(x: torch.Tensor) -> torch.Tensor:
    return x.as_subclass(OnCuda)


X, Y = on_cuda(torch.ones(16)), on_cuda(torch.ones(16))
CUDA = launches.FAMILIES["cuda"]


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(native_record, "_current", lambda: found)
    return found


@pytest.fixture(scope="module")
def relu() -> native_record.Library:
    return cuda_build.build(RELU)


def made(source: str, *kernels: list[str], target: str = "sm_90") -> tuple[list[str], bytes]:
    """The symbols and the cubin."""
    data = native_compiler.compile_cubins(native.launches(source, kernels), cuda_build.toolchain(target))
    head, _, cubin = data.partition(b"\n")
    assert cubin.startswith(b"\x7fELF")
    return [function["name"] for function in json.loads(head)["functions"]], cubin


def refused(source: str, *kernels: list[str]) -> str:
    with pytest.raises(native.BuildError) as caught:
        made(source, *(kernels or [["k", "P"]]))
    return str(caught.value)


# ---- recording ------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, grid, block, shared",
    [
        ((4, 256), [4, 1, 1], [256, 1, 1], 0),
        (((4,), (256,)), [4, 1, 1], [256, 1, 1], 0),
        (((4, 5), (16, 16), 1024), [4, 5, 1], [16, 16, 1], 1024),
        (([4, 5, 6], [8, 8, 4]), [4, 5, 6], [8, 8, 4], 0),
    ],
)
def test_a_launch_is_recorded(
    relu: native_record.Library,
    recorder: Recorder,
    shape: tuple,
    grid: list[int],
    block: list[int],
    shared: int,
) -> None:
    assert relu.relu_kernel[shape](X, Y, 16) is None
    assert recorder.texts == [RELU]
    assert recorder.kernels == [{"text": 0, "name": "relu_kernel", "params": "PPq"}]
    assert recorder.nodes == [
        {
            "op": "launch",
            "kernel": 0,
            "grid": grid,
            "options": {"block": block, "shared": shared},
            "args": {
                "p0": {"t": [0, "float32", 0, [16], [1]]},
                "p1": {"t": [1, "float32", 0, [16], [1]]},
                "p2": 16,
            },
        }
    ]


@pytest.mark.parametrize(
    "shape, words",
    [
        (4, r"relu_kernel\[…\] takes a grid, a block and"),
        ((4,), "takes a grid, a block and"),
        ((4, 256, 0, 0), "takes a grid, a block and"),
        ((16 / 4, 256), "the grid takes an int, got float"),
        ((True, 256), "the grid takes an int, got bool"),
        ((torch.tensor(4), 256), "the grid takes an int, got Tensor"),
        (((), 256), "the grid has one to three dimensions, got 0"),
        (((1, 1, 1, 1), 256), "the grid has one to three dimensions, got 4"),
        ((0, 256), "the grid is .* each dimension is 1 to"),
        (((1, 65536), 256), "the grid is .* each dimension is 1 to"),
        ((4, 1025), "the block is .* each dimension is 1 to"),
        ((4, (64, 32)), "the block has 2048 threads, at most 1024"),
        ((4, 256, 1 << 20), "1048576 bytes of shared memory, at most 232448"),
        ((4, 256, 1.0), "shared memory takes an int, got float"),
    ],
)
def test_an_impossible_shape_is_named(
    relu: native_record.Library, recorder: Recorder, shape: tuple, words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        relu.relu_kernel[shape](X, Y, 16)
    assert recorder.nodes == []


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((torch.ones(16), Y, 16), r"'x' \(const float \*x\): expected a tensor on cuda, got .* cpu"),
        ((on_cuda(X).half(), Y, 16), "'x' .* torch.float32, got torch.float16"),
        ((X[::2], Y, 8), "'x' .* contiguous"),
        ((7, Y, 16), "'x' .* expected a tensor, got int"),
        ((X, Y, 16.0), "'n' .* expected an int, got float"),
        ((X, Y, 2**63), "'n' .* does not fit into 64 bits"),
    ],
)
def test_a_wrong_argument_is_named(
    relu: native_record.Library, recorder: Recorder, arguments: tuple, words: str
) -> None:
    with pytest.raises(TypeError, match=r"relu_kernel\(\) parameter " + words):
        relu.relu_kernel[1, 16](*arguments)
    assert recorder.nodes == []


def test_a_kernel_is_not_called_like_a_function(relu: native_record.Library) -> None:
    with pytest.raises(TypeError, match=r"relu_kernel is a kernel and needs a grid and a block"):
        relu.relu_kernel(X, Y, 16)


def test_a_launch_outside_forward_is_refused(
    relu: native_record.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_record, "_current", lambda: None)
    with pytest.raises(RuntimeError, match=r"relu_kernel\(\) is called outside ModelNew.forward"):
        relu.relu_kernel[1, 16](X, Y, 16)


def test_host_functions_are_not_there_and_the_message_says_so() -> None:
    source = RELU + (
        "extern \"C\" void launch_relu(float *x, float *y, int64_t n, cudaStream_t s)\n"
        "{ relu_kernel<<<1, 256, 0, s>>>(x, y, n); }\nint main() { return 0; }\n"
    )
    lib = cuda_build.build(source)
    assert dir(lib) == ["relu_kernel"]
    words = "'launch_relu'; callable: relu_kernel .*host functions do not run here"
    with pytest.raises(AttributeError, match=words):
        lib.launch_relu(X, Y, 16)
    assert made(source, ["relu_kernel", "PPq"])  # and they do no harm


def test_a_source_for_torch_is_refused_when_it_is_built() -> None:
    with pytest.raises(native.BuildError, match="torch/extension.h: No such file"):
        cuda_build.build("#include <torch/extension.h>\n" + RELU)
    with pytest.raises(native.BuildError, match="only __global__ functions are"):
        cuda_build.build('extern "C" void launch(int n) { }')


def test_templates_overloads_and_structs_are_refused_with_a_way_out() -> None:
    lib = cuda_build.build(
        "struct pair { int a, b; };\n"
        "template <class T> __global__ void t(T *x) { }\n"
        "__global__ void twice(float *x) { }\n__global__ void twice(int *x) { }\n"
        "__global__ void by_struct(pair p) { }\n"
    )
    with pytest.raises(TypeError, match="t is a template, .* make it a __device__ function"):
        lib.t
    with pytest.raises(TypeError, match="twice has more than one definition"):
        lib.twice
    with pytest.raises(TypeError, match="'p': the type of 'pair p' cannot be passed"):
        lib.by_struct


# ---- compiling ------------------------------------------------------------------


def test_what_is_recorded_compiles_and_is_planned(
    relu: native_record.Library, recorder: Recorder
) -> None:
    relu.relu_kernel[4, 256](X, Y, 16)
    trace = recorder.trace()
    launches.check_launches(trace, CUDA)
    asked = request(trace, "cuda")
    data = native_compiler.compile_cubins(asked, cuda_build.toolchain(asked["target"]))
    built, [call] = launches.Built.parse(data, trace, CUDA), trace.calls
    [made] = launches.Maker(built, CUDA, 0).nodes(call.launches()[0], call, [512, 1024], 0)
    assert built.functions[made.function].name == "_Z11relu_kernelPKfPfl"
    assert made.params == (program.Pointer(512), program.Pointer(1024), program.Number(8, 16))


@pytest.mark.parametrize("code, right", [
    ("x[0] = (float)clock64();", False), ("x[0] = (float)clock();", False),
    ("unsigned s; asm(\"mov.u32 %0, %\" \"%smid;\" : \"=r\"(s)); x[0] = s;", False),
    ("unsigned long long t; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t)); x[0] = t;", False),
    ("unsigned s; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(s)); x[0] = s + threadIdx.x / warpSize;", True),
])  # fmt: skip
def test_a_kernel_does_not_learn_when_and_where_it_runs(code: str, right: bool) -> None:
    text = f"__global__ void k(float *x) {{ {code} }}"
    if right:
        made(text, ["k", "P"])
    else:
        assert "a kernel must not read %" in refused(text)


def test_parameters_are_those_of_the_cubin(recorder: Recorder) -> None:
    """Also where the text does away with the compiler's own check of them."""
    text = "__global__ void k(float *x{}) {{ x[0] = 1; }}\n#define static_assert(...)\n"
    cuda_build.build(text.format("")).k[1, 1](X)
    trace = recorder.trace()
    launches.check_launches(trace, CUDA)
    for more, right in (("", True), (", long n", False), (", float *a, int b", False)):
        asked = request(trace, "cuda") | {"texts": [text.format(more)]}
        data = native_compiler.compile_cubins(asked, cuda_build.toolchain(asked["target"]))
        if right:
            launches.Built.parse(data, trace, CUDA)
        else:
            with pytest.raises(traces.BadTrace, match="does not have"):
                launches.Built.parse(data, trace, CUDA)


@pytest.mark.parametrize(
    "text, right",
    [
        ("__device__ int calls;\n__global__ void k(float *x) { x[0] = calls++; }", False),
        ("__device__ float t[2] = {1, 2};\n__global__ void k(float *x) { x[0] = t[0]++; }", False),
        ("__constant__ float t[2] = {1, 2};\n__global__ void k(float *x) { x[0] = t[1]; }", True),
        ("__global__ void k(float *x) { __shared__ float s[8]; s[0] = 1; x[0] = sinf(s[0]); }", True),
        ("__global__ void k(float *x) { x[0] = 1; }\n__global__ void idle(float *x) {}", True),
    ],
)  # fmt: skip
def test_memory_that_outlives_a_launch_is_refused(recorder: Recorder, text: str, right: bool) -> None:
    cuda_build.build(text).k[1, 1](X)
    trace = recorder.trace()
    launches.check_launches(trace, CUDA)
    asked = request(trace, "cuda")
    data = native_compiler.compile_cubins(asked, cuda_build.toolchain(asked["target"]))
    if right:
        launches.Built.parse(data, trace, CUDA)
    else:
        with pytest.raises(traces.Refused, match="outlives a launch"):
            launches.Built.parse(data, trace, CUDA)


# Kernels that each are found by their name in one source, and sources that are their own.
KINDS = {
    "plain": "__global__ void plain(float *x) { x[0] = 1; }",
    "one_file": "static __global__ void one_file(float *x) { x[0] = 1; }",
    "nameless": "namespace { __global__ void nameless(float *x) { x[0] = 1; } }",
    "in_c": 'extern "C" __global__ void in_c(float *x) { x[0] = 1; }',
    "assembly": '__global__ void assembly(float *x) { asm volatile("wgmma.fence.sync.aligned;"); }',
    "of_template": "template <class T> __device__ void f(T *x) { x[0] = T(1); }\n"
    "__global__ void f_other(double *x) { f(x); }\n__global__ void of_template(float *x) { f(x); }",
}


@pytest.fixture(scope="module")
def kinds() -> dict[str, str]:
    """The symbol of each."""
    symbols, _ = made("\n".join(KINDS.values()), *([name, "P"] for name in KINDS))
    return dict(zip(KINDS, symbols, strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_honest_kernels_compile(kinds: dict[str, str], name: str) -> None:
    assert native_compiler.unmangled(kinds[name]) == name


def test_host_code_beside_a_kernel_does_no_harm() -> None:
    source = (
        "#include <cstdio>\n#include <cstdlib>\n#include <vector>\n"
        "#define CHECK(x) do { if ((x) != cudaSuccess) { std::exit(1); } } while (0)\n"
        "__device__ int calls;\n__global__ void k(float *x) { calls++; printf(\"x\"); }\n"
        "void run(float *x) { k<<<1, 1>>>(x); CHECK(cudaGetLastError()); }"
    )
    [symbol], _ = made(source, ["k", "P"])
    assert native_compiler.unmangled(symbol) == "k"


@pytest.mark.parametrize(
    "symbol, name",
    [
        ("relu", "relu"),
        ("_Z4reluPf", "relu"),
        ("_ZN36_GLOBAL__N__07bed5f9_4_k_cu_bee6b2e44reluEPf", "relu"),
        ("_Z4reluILi256EEvPf", "_Z4reluILi256EEvPf"),
    ],
)
def test_a_kernel_is_found_by_its_name_in_the_source(symbol: str, name: str) -> None:
    assert native_compiler.unmangled(symbol) == name


WRONG = ("", "P", "PPPP", "PPi", "PPQ", "PPd", "qPq", "PP?")


@pytest.fixture(scope="module")
def complaints() -> str:
    """What is said of kernels that take PPq: recorded as each of WRONG, and rightly."""
    body = RELU.partition("__global__")
    copies = [f"{body[1]}{body[2]}".replace("relu_kernel", f"relu_{n}") for n in range(len(WRONG) + 1)]
    asked = [[f"relu_{n}", params] for n, params in enumerate((*WRONG, "PPq"))]
    return refused(body[0] + "\n".join(copies), *asked)


@pytest.mark.parametrize("number", range(len(WRONG)), ids=WRONG)
def test_recorded_types_that_are_not_the_real_ones_do_not_compile(
    complaints: str, number: int
) -> None:
    assert f"relu_{number}: signature" in complaints


def test_recorded_types_that_are_the_real_ones_are_no_reason_to_complain(complaints: str) -> None:
    assert f"relu_{len(WRONG)}: signature" not in complaints


def test_every_type_of_a_number_has_its_letter() -> None:
    source = (
        "#include <cstdint>\n__global__ void k(void *a, float4 *b, bool c, int8_t d, uint8_t e, "
        "short f, uint16_t g, int h, unsigned i, long j, size_t k, float l, double m) { }"
    )
    made(source, ["k", "PP?bBhHiIqQfd"])


@pytest.mark.parametrize("target, arch", [("sm_80", "80"), ("sm_90", "90a"), ("sm_90a", "90a")])
def test_the_target_is_the_requests(target: str, arch: str) -> None:
    assert native_cuda.architecture(target) == arch
    assert f"-arch=sm_{arch}" in cuda_build.toolchain(target).flags


@pytest.mark.parametrize(
    "words, source",
    [
        (r'kernel\.cu\(2\): error: identifier "q" is undefined', "__global__ void k(float *x)\n{ x[0] = q; }"),
        (r"ptxas kernel\.ptx, line \d+; error", '__global__ void k(float *x) { asm("no.such;"); }'),
        (r"Unresolved extern function", "extern __device__ float f(); __global__ void k(float *x) { x[0] = f(); }"),
        (r"kernel\.cu:1:\d*:? error: #error no", "#error no\n__global__ void k(float *x) { }"),
    ],
)  # fmt: skip
def test_errors_name_the_source_and_no_other_path(words: str, source: str) -> None:
    text = refused(source)
    assert re.search(words, text), text
    assert "/tmp" not in text and "tmpxft" not in text and "ptxas info" not in text


def test_includes_from_elsewhere_are_refused(tmp_path: Path) -> None:
    header = tmp_path / "finished.h"
    header.write_text("__device__ float finished(float x) { return x; }\n")
    text = refused(f'#include "{header}"\n__global__ void k(float *x) {{ x[0] = finished(1); }}')
    assert re.match("#include of .*finished.h is not allowed", text)


def test_a_missing_compiler_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(native_cuda, "USUAL_NVCC", "/nonexistent/nvcc")
    with pytest.raises(native.ToolchainError, match="neither on PATH nor at /nonexistent/nvcc"):
        cuda_build.build(RELU)
