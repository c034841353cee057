"""Host functions that launch kernels, run without data: what becomes of their calls, what they
cannot do, and what the judge makes of a compiler that lies. Everything is compiled by nvcc; nothing
needs a GPU."""
from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import compiler_answers
from native_run import Recorder, request
from test_nvcc_seeds import expanded
from test_nvcc_seeds import needs as needs_pack
from worker_run import ROOT, Job, described, run

sys.path[:0] = [str(ROOT / "worker")]

from judge import launches, summary  # noqa: E402
from judge.executors import kernel_counts  # noqa: E402
from judge.judging import Verdict  # noqa: E402
from judge.traces import Refused, Trace  # noqa: E402
from compiler import hosted_compiler  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native, native_cuda  # noqa: E402
from shared.program import Launch, Pointer, Struct, TensorMap  # noqa: E402

SEEDS = ROOT / "packs" / "thunderkittens" / "seeds"
SOURCE = r"""
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

__global__ void plain(const float *x, float *y, int n) { if (n) y[0] = x[0]; }
template <int N> __global__ void templated(float *y) { y[N] = N; }
struct gappy { float *p; char c; double d; int n; float *q; };
__global__ void padded(gappy g) { g.p[0] = g.q[0] + g.c + g.d + g.n; }
__global__ void with_shared(float *y)
{
    extern __shared__ float room[];
    room[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = room[0];
}
struct mapped { alignas(64) CUtensorMap map; float *y; };
__global__ void with_map(const __grid_constant__ mapped m) { m.y[0] = *(const float *)&m.map; }
__global__ void numbers(float *y, int64_t n) { y[0] = n; }

extern "C" int two_kernels(float *x, float *y, int n, cudaStream_t stream)
{
    plain<<<dim3((n + 127) / 128, 2), dim3(64, 2), 0, stream>>>(x + 4, y, n);
    templated<3><<<1, 32, 0, stream>>>(y + n);
    return (int)cudaGetLastError();
}
extern "C" void nothing(float *x) { }
extern "C" void again(float *y, int n) { for (int i = 0; i < n; i++) templated<3><<<1, 1>>>(y); }
extern "C" cudaError_t clusters(float *x, float *y)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute[3] = {};

    config.gridDim = dim3(8);
    config.blockDim = dim3(64);
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = {4, 1, 1};
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    attribute[2].id = cudaLaunchAttributeCooperative;
    attribute[2].val.cooperative = 1;
    config.attrs = attribute;
    config.numAttrs = 3;
    return cudaLaunchKernelEx(&config, plain, (const float *)x, y, 5);
}
extern "C" cudaError_t uneven_clusters(float *x, float *y)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};

    config.gridDim = dim3(9);
    config.blockDim = dim3(64);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, plain, (const float *)x, y, 5);
}
extern "C" void asks_the_device(float *y)
{
    cudaDeviceProp p;
    int device = -1, count = 0, blocks = 0;

    cudaGetDevice(&device);
    cudaGetDeviceProperties(&p, device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared, 1024, 0);
    templated<1><<<dim3(p.multiProcessorCount, count, blocks), 32>>>(y);
    cudaDeviceSynchronize();
}
extern "C" void pads(float *x, float *y, int n)
{
    gappy g{x, 'c', 0.5, n, y + n};

    padded<<<1, 32>>>(g);
}
extern "C" int shared(float *y, int bytes, bool asks)
{
    if (asks)
        cudaFuncSetAttribute(with_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    with_shared<<<1, 32, bytes>>>(y);
    return (int)cudaGetLastError();
}
extern "C" void shape(float *y, int grid, int block) { templated<2><<<grid, block>>>(y); }
extern "C" void tensor_map(float *x, int64_t rows, int64_t cols, int box, int offset, int swizzle)
{
    mapped m{{}, x};
    cuuint64_t sizes[] = {(cuuint64_t)cols, (cuuint64_t)rows}, strides[] = {(cuuint64_t)cols * 4};
    cuuint32_t boxes[] = {(cuuint32_t)box, 8}, steps[] = {1, 1};
    CUresult code = cuTensorMapEncodeTiled(&m.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x + offset,
        sizes, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    const char *name;

    cuGetErrorName(code, &name);
    if (code)
        throw std::runtime_error(name);
    with_map<<<1, 32>>>(m);
}
extern "C" void by_entry_point(float *x)
{
    mapped m{{}, x};
    void *found = nullptr;
    cuuint64_t sizes[] = {64}, strides[] = {0};
    cuuint32_t boxes[] = {64}, steps[] = {1};

    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, 0, nullptr);
    ((decltype(&cuTensorMapEncodeTiled))found)(&m.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, x, sizes,
        strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    with_map<<<1, 32>>>(m);
}
extern "C" void differs(float *x, float *y) { numbers<<<1, 1>>>(x, y - x); }
extern "C" void same_buffer(float *x, float *y) { numbers<<<1, 1>>>(x, y - x); }
extern "C" void hashes(float *x) { numbers<<<1, 1>>>(x, (uintptr_t)x / 512 * 7); }
extern "C" void grid_of_address(float *x) { numbers<<<1 + (uintptr_t)x / 512 % 1009, 1>>>(x, 1); }
extern "C" void behind(float *x, int n) { templated<1><<<1, 1>>>(x + n); }
extern "C" void keeps(float *x)
{
    static float *first = x;

    templated<1><<<1, 1>>>(first);
}
extern "C" void random_number(float *x) { numbers<<<1, 1>>>(x, (int64_t)getpid() << 32); }

extern "C" void allocates() { void *p; cudaMalloc(&p, 16); }
extern "C" void copies(float *x) { float f; cudaMemcpy(&f, x, 4, cudaMemcpyDeviceToHost); }
extern "C" void fills(float *x) { cudaMemset(x, 0, 4); }
extern "C" void streams() { cudaStream_t s; cudaStreamCreate(&s); }
extern "C" void reads(float *x, float *y) { if (x[0] > 0) plain<<<1, 1>>>(x, y, 1); }
extern "C" void writes(float *x) { x[0] = 1; }
extern "C" void leaves() { exit(0); }
extern "C" void aborts() { abort(); }
extern "C" void loops() { for (volatile int i = 0;; i = 1); }
extern "C" void throws() { throw std::runtime_error("no such tile"); }
extern "C" void lies(float *x)
{
    dprintf(3, "call\nlaunch nowhere 1 1 1 1 1 1 1 1 1 0 0 0 0\ndone\n");
    _exit(0);
}
extern "C" void babbles(float *x)
{
    dprintf(3, "call\nlaunch _Z9templatedILi1EEvPf 1 1\ndone\n");
    _exit(0);
}
"""
X, Y = torch.zeros(64, 64), torch.zeros(64, 64)
HOSTED = launches.FAMILIES["hosted"]
AT_X, AT_Y = 1 << 32, 2 << 32  # where the first and the second buffer of a call begin
_built: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One compilation for all tests, with every function of the source."""
    try:
        native_cuda.nvcc()
    except native.ToolchainError as problem:
        pytest.skip(f"nothing can be compiled: {problem}")
    real = hosted_compiler._build_program

    def build(source: str, functions: list, toolchain: native.Toolchain) -> Any:
        if source not in _built:
            _built[source] = real(source, every_function(library(source)), toolchain)
        return _built[source]

    monkeypatch.setattr(hosted_compiler, "_build_program", build)


def toolchain() -> native.Toolchain:
    return native_cuda.hosted_toolchain(150, "sm_90a", ["-std=c++20"])


@functools.cache
def library(source: str) -> native_record.Library:
    return native_record.library(source, toolchain(), "cpu")


def every_function(lib: native_record.Library) -> list[list[str]]:
    kinds = {"float": "d", "bool": "b"}
    return [
        [name, "".join("p" if p.pointer or p.filled_in else kinds.get(p.type.kind, "i")
                       for p in function.parameters)]
        for name, function in lib._functions.items()
    ]  # fmt: skip


def recorded(*calls: tuple, source: str = SOURCE) -> Trace:
    """Calls as the recorder writes them: each a function and its arguments."""
    recorder, lib = Recorder(), library(source)
    native_record.install_native(lambda: recorder)
    for name, *arguments in calls:
        getattr(lib, name)(*arguments)
    trace = recorder.trace()
    launches.check_launches(trace, HOSTED)
    return trace


def answered(trace: Trace) -> bytes:
    """What the compiler says."""
    return hosted_compiler.expand_launches(request(trace, "hosted"), toolchain())


def planned(*calls: tuple, source: str = SOURCE) -> list[tuple[str, Launch]]:
    """The launches of calls, with the kernels' plain names; buffer i begins at (i + 1) << 32."""
    trace = recorded(*calls, source=source)
    made = compiler_answers.planned(answered(trace), trace, "hosted")
    return [(made.functions[n.function].name, n) for n in made.calls[1]]


def wrong(*calls: tuple) -> str:
    """What is told of calls that end in a launch error."""
    with pytest.raises(Verdict) as caught:
        planned(*calls)
    assert (caught.value.verdict, caught.value.stage) == ("launch_error", "compile")
    return caught.value.text


# ---- honest functions -------------------------------------------------------------


def test_a_call_becomes_its_launches() -> None:
    (first, one), (second, two) = planned(("two_kernels", X, Y, 200))
    assert (first, second) == ("_Z5plainPKfPfi", "_Z9templatedILi3EEvPf")
    assert (one.grid, one.block, one.shared) == ((2, 2, 1), (64, 2, 1), 0)
    assert one.params == (Struct(bytes(8), ((0, Pointer(AT_X + 16)),)),
                          Struct(bytes(8), ((0, Pointer(AT_Y)),)),
                          Struct((200).to_bytes(4, "little"), ()))  # fmt: skip
    assert two.params == (Struct(bytes(8), ((0, Pointer(AT_Y + 800)),)),)


def test_a_reader_is_told_the_launches_not_the_calls() -> None:
    trace = recorded(("two_kernels", X, Y, 200))
    built = launches.Built.parse(answered(trace), trace, HOSTED)
    shown = summary.summarise(trace, kernel_counts(trace, HOSTED, built))
    assert shown["launches"] == 2
    assert [(k["name"], k["launches"]) for k in shown["kernels"]] == [("two_kernels", 2)]


def test_calls_are_expanded_one_by_one() -> None:
    found = planned(("two_kernels", X, Y, 1), ("nothing", X), ("two_kernels", Y, X, 1))
    starts = [n.params[0].patches[0][1].at for _, n in found]
    assert starts == [AT_X + 16, AT_Y + 4, AT_Y + 16, AT_X + 4]


def test_clusters_and_flags_are_kept() -> None:
    [(_, node)] = planned(("clusters", X, Y))
    assert (node.grid, node.cluster, node.pdl, node.cooperative) == ((8, 1, 1), (4, 1, 1), True, True)


def test_the_device_is_an_h100() -> None:
    [(_, node)] = planned(("asks_the_device", Y))
    assert node.grid == (132, 132, 2)


def test_padding_is_no_reason_to_refuse() -> None:
    """Whatever lay there: the parts that mean something are right."""
    for _ in range(3):
        *_, (_, padded) = planned(("two_kernels", X, Y, 300), ("pads", X, Y, 7))
        [given] = padded.params
        assert given.patches == ((0, Pointer(AT_X)), (32, Pointer(AT_Y + 28)))
        assert given.data[8:9] == b"c"
        assert given.data[16:28] == bytes.fromhex("000000000000e03f07000000")


def test_a_number_that_is_new_each_time_is_taken_as_it_was_once() -> None:
    [(_, node)] = planned(("random_number", X))
    assert node.params[1].patches == ()


def test_a_tensor_map_keeps_its_shape() -> None:
    [(_, node)] = planned(("tensor_map", X, 32, 64, 16, 4, 2))
    shape = TensorMap(AT_X + 16, 7, (64, 32), (256,), (16, 8), 2, 0)
    [given] = node.params
    assert given.patches == ((0, shape), (128, Pointer(AT_X)))
    assert given.data[:136] == bytes(136)


def test_the_driver_is_found_by_its_entry_point() -> None:
    [(_, node)] = planned(("by_entry_point", X))
    assert node.params[0].patches[0] == (0, TensorMap(AT_X, 7, (64,), (), (64,)))


def test_views_of_one_tensor_lie_where_they_do() -> None:
    [(_, node)] = planned(("same_buffer", X[1], X[3]))
    assert node.params == (Struct(bytes(8), ((0, Pointer(AT_X + 256)),)),
                           Struct((128).to_bytes(8, "little"), ()))  # fmt: skip


def test_much_shared_memory_is_asked_for_first() -> None:
    [(_, node)] = planned(("shared", X, 200 << 10, True))
    assert node.shared == 200 << 10
    planned(("shared", X, 48 << 10, False))
    assert "cudaErrorInvalidValue" in wrong(("shared", X, (48 << 10) + 4, False))
    assert "cudaErrorInvalidValue" in wrong(("shared", X, 228 << 10, True))


# ---- errors that a device would show -----------------------------------------------


@pytest.mark.parametrize("grid, block", [(0, 32), (1, 0), (1, 1025), (-1, 32)])
def test_a_launch_of_no_shape_is_an_error(grid: int, block: int) -> None:
    text = wrong(("shape", X, grid, block))
    assert "shape: cudaErrorInvalidConfiguration (9): invalid configuration argument" in text


def test_a_call_has_a_bounded_number_of_launches() -> None:
    assert len(planned(("again", X, 1000))) == 1000
    assert "again: a call launches at most 1000 kernels" in wrong(("again", X, 1001))


def test_clusters_divide_the_grid() -> None:
    assert "cudaErrorInvalidClusterSize" in wrong(("uneven_clusters", X, Y))


@pytest.mark.parametrize(
    "arguments",
    [(32, 64, 257, 0, 0), (32, 63, 16, 0, 0), (32, 64, 16, 1, 0), (32, 64, 3, 0, 0), (32, 64, 16, 0, 1),
     (0, 64, 16, 0, 0)],
    ids=["box", "stride", "address", "bytes", "swizzle", "size"],
)  # fmt: skip
def test_a_tensor_map_that_the_driver_would_refuse(arguments: tuple) -> None:
    assert "tensor_map: CUDA_ERROR_INVALID_VALUE" in wrong(("tensor_map", X, *arguments))


def test_a_tensor_map_outside_its_tensor_is_told_how_to_mend_it() -> None:
    text = wrong(("tensor_map", X, 65, 64, 8, 0, 1))
    assert "tensor_map: launch 1, of _Z8with_map6mapped: the tensor map of shape [64, 65]" in text
    assert "needs 16640 bytes, but the tensor has 16384" in text
    assert "pad the tensor's last dimension to a multiple of 32 bytes" in text
    text = wrong(("tensor_map", X, 64, 64, 8, 4, 0))
    assert "needs 16400 bytes" in text and "Give the map the tensor's own shape" in text


def test_an_address_outside_its_tensor_is_told() -> None:
    planned(("behind", X, 64 * 64))
    text = wrong(("behind", X, 64 * 64 + 1))
    assert "an address 16388 bytes behind the start of a tensor that has 16384 bytes" in text
    assert "depends on the address of a tensor" in wrong(("behind", X, -1))


# ---- what host code cannot do ------------------------------------------------------

REFUSED: dict[str, tuple[tuple, str]] = {
    "allocate": (("allocates",), "cudaMalloc is not available to host functions: allocate with torch.empty"),
    "copy": (("copies", X), "cudaMemcpy is not available to host functions: there is no data"),
    "fill": (("fills", X), "cudaMemset is not available to host functions: zero with torch.zeros"),
    "make streams": (("streams",), "cudaStreamCreate is not available"),
    "read a tensor": (("reads", X, Y), "reads: ended by signal 11. Tensors are on the device"),
    "write a tensor": (("writes", X), "writes: ended by signal 11"),
    "leave": (("leaves",), "leaves: the host function ended the process"),
    "abort": (("aborts",), "aborts: ended by signal 6"),
    "throw": (("throws",), "throws: no such tile"),
    "loop": (("loops",), "took longer than 1 s"),
    "compute with addresses": (("hashes", X), "depends on the address of a tensor, but is no address"),
    "tell how far tensors are apart": (("differs", X, Y), "depends on the address of a tensor"),
    "choose a grid by an address": (("grid_of_address", X), "depends on the addresses of tensors"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_host_code_cannot(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, words = REFUSED[what]
    if what == "loop":
        monkeypatch.setattr(hosted_compiler, "RUN_S", 1)
    assert words in wrong(call)


def test_an_address_of_an_earlier_call_is_none_of_this_one() -> None:
    planned(("keeps", X), ("keeps", X))  # the same call twice is expanded once
    assert "is no address in it" in wrong(("keeps", X), ("keeps", Y[1:]))


@pytest.mark.parametrize("function", ["lies", "babbles"])
def test_host_code_that_writes_down_nonsense_itself_gets_nowhere(function: str) -> None:
    """Sense is what the judge looks at."""
    assert "what the host functions launch cannot be read" in wrong((function, X))


@pytest.mark.parametrize(
    "code, words",
    [
        ("__device__ int counter;\n__global__ void k() { counter++; }", "outlives a launch"),
        ("__device__ float table[4] = {1, 2, 3, 4};\n__global__ void k() { table[0] += 1; }",
         "outlives a launch"),
        ("namespace cuda { namespace std { inline namespace __4 { namespace __cpo {\n"
         "static __device__ char begin;\n}}}}\n__global__ void k() { cuda::std::__cpo::begin++; }",
         "outlives a launch"),
    ],
)  # fmt: skip
def test_memory_that_outlives_a_launch_is_refused(code: str, words: str) -> None:
    source = f'{code}\nextern "C" void f() {{ k<<<1, 1>>>(); }}\n'
    with pytest.raises(Refused, match=words):
        planned(("f",), source=source)


@pytest.mark.parametrize(
    "code, words",
    [
        ("", "the source has no kernel"),
        ("int cublasCreate();\n__global__ void k() {}\nvoid g() { k<<<1, 1>>>(); cublasCreate(); }",
         "undefined reference to `cublasCreate\\(\\)': no library is linked"),
    ],
)  # fmt: skip
def test_a_source_that_cannot_be_built(code: str, words: str) -> None:
    with pytest.raises(native.BuildError, match=words):
        planned(("f",), source=f'{code}\nextern "C" void f() {{ }}\n')


# ---- a compiler that lies --------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["functions"].clear(),
        lambda header: header["modules"][0].update(kind="library"),
        lambda header: header["launches"][0]["nodes"][0]["params"].__setitem__(0, ["n", 8, 0]),
        lambda header: header["launches"][0]["nodes"][0]["params"][0][2][1][1].__setitem__(2, 1 << 20),
    ],
)
def test_a_rewritten_answer_is_refused(change: Callable[[dict], object]) -> None:
    trace = recorded(("tensor_map", X, 32, 64, 16, 0, 0))
    compiler_answers.refused(answered(trace), trace, "hosted", change)


def test_a_damaged_answer_is_read_or_refused() -> None:
    trace = recorded(("tensor_map", X, 32, 64, 16, 0, 0), ("pads", X, X, 4))
    compiler_answers.is_read_or_refused(answered(trace), trace, "hosted", 400)


def test_the_sizes_of_parameters_are_those_of_the_cubin() -> None:
    """Also where they need the large form of the attribute."""
    source = """
    struct large { char c[20000]; };
    struct odd { char c[3]; };
    __global__ void k(const __grid_constant__ large l, odd o, char c, double d, float *y)
    { y[0] = l.c[threadIdx.x] + o.c[1] + c + d; }
    __global__ void none() {}
    extern "C" void f(float *y)
    {
        large l = {};
        odd o = {{1, 2, 3}};
        k<<<1, 1>>>(l, o, 'c', 0.5, y);
        none<<<1, 1>>>();
    }
    """
    (_, first), (_, second) = planned(("f", X), source=source)
    assert [len(p.data) for p in first.params] == [20000, 3, 1, 8, 8]
    assert second.params == ()


# ---- the seeds -----------------------------------------------------------------------


def map_of(buffer: int, dtype: int, shape: list, strides: list, box: list, swizzle: int) -> list:
    return [buffer, 0, dtype, shape, strides, box, swizzle]


def test_the_launches_of_a_matrix_product() -> None:
    """4000 x 2048 times 2048 x 3072 in tiles of 128 x 256: blocks that stay, one for each of 132
    multiprocessors, of eight warps that compute and four that load."""
    needs_pack("thunderkittens")
    whole, half = expanded("thunderkittens", SEEDS / "01_matmul")
    [[name, grid, block, cluster, shared, [patches]]] = half["nodes"]
    assert "gemm_template" in name
    assert (grid, block, cluster, shared) == ([132, 1, 1], [384, 1, 1], [1, 1, 1], (227 << 10) - 1024)
    a = map_of(0, 9, [64, 4000, 32, 1, 1], [4096, 128, 4000 * 4096, 4000 * 4096], [64, 64, 1, 1, 1], 3)
    b = map_of(1, 9, [64, 2048, 48, 1, 1], [6144, 128, 2048 * 6144, 2048 * 6144], [64, 64, 4, 1, 1], 3)
    c = map_of(2, 9, [64, 4000, 48, 1, 1], [6144, 128, 4000 * 6144, 4000 * 6144], [64, 64, 4, 1, 1], 3)
    assert patches == [[0, 0, 0], [128, *a], [384, 1, 0], [512, *b], [768, 2, 0], [896, *c]]
    # In fp32 a and b are split first, a row of a into three.
    one, two, three = whole["nodes"]
    assert (one[1], two[1]) == ([4000 * 2048 // 256, 1, 1], [2048 * 3072 // 256, 1, 1])
    assert one[5] == [[[0, 0, 0]], [[0, 1, 0]], [], [], []]
    assert two[5] == [[[0, 2, 0]], [[0, 3, 0]], [], [], []]
    starts = [(p[0], p[1]) for p in three[5][0]]
    assert starts == [(0, 1), (128, 1), (384, 3), (512, 3), (768, 4), (896, 4)]


def test_the_launches_of_a_softmax() -> None:
    """8190 rows of 2000, a warp for each, four in a block; a row comes as vectors of 256."""
    needs_pack("thunderkittens")
    for launch, item, dtype in zip(expanded("thunderkittens", SEEDS / "02_softmax_temperature"), (4, 2), (7, 9)):
        [[name, grid, block, cluster, shared, [patches]]] = launch["nodes"]
        assert "Li2048E" in name
        assert (grid, block, cluster) == ([2048, 1, 1], [128, 1, 1], [1, 1, 1])
        assert shared == 4 * 2048 * item + 1024
        x, y = (
            map_of(i, dtype, [2000, 8190, 1, 1], [2000 * item, *[8190 * 2000 * item] * 2],
                   [256, 1, 1, 1], 0)
            for i in (0, 1)
        )  # fmt: skip
        assert patches == [[0, 0, 0], [128, *x], [384, 1, 0], [512, *y]]


# ---- in the box ------------------------------------------------------------------------

CANDIDATE = '''
import torch
from tk_build import build

kernels = build(r"""
#include "kittens.cuh"
#include <cstdio>
#include <cstring>
#include <dirent.h>
using namespace kittens;
__global__ void relu(float *x, float *y, int n) {{ for (int i = 0; i < n; i++) y[i] = fmaxf(x[i], 0); }}
extern "C" int launch_relu(float *x, float *y, int n)
{{
    {body}
    relu<<<1, 1>>>(x, y, n);
    return (int)cudaGetLastError();
}}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernels.launch_relu(x, y, x.numel())
        return y
'''
TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(16, 16)]
def get_init_inputs():
    return []
"""
# What a host function tries, and what is told; the last words come from the CPU's runner, which
# gets a program that is right but for its device.
BOXED = {
    "honest": ("", "a cubin needs --device cuda"),
    "reads": ("if (x[0] > 0) n = 1;", "Tensors are on the device"),
    "files": ("""
    for (const char *at : {{"/root", "/home", "/work", "/dev/nvidia0", "/dev/nvidiactl"}})
        if (opendir(at) || fopen(at, "r"))
            return 1;""", "a cubin needs --device cuda"),
    "parent": ("""
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
    if (std::fopen(path, "r+") || std::fopen(path, "r"))
        return 1;""", "a cubin needs --device cuda"),
}  # fmt: skip


def test_in_the_box_host_code_finds_neither_data_nor_the_compiler(folder: Path) -> None:
    needs_pack("thunderkittens")
    (folder / "task.py").write_text(TASK)
    jobs = []
    for name, (body, _) in BOXED.items():
        candidate = folder / f"{name}.py"
        candidate.write_text(CANDIDATE.format(body=body.replace("{{", "{").replace("}}", "}")))
        jobs.append(Job(name, "thunderkittens", folder / "task.py", candidate, load_ms=180_000))
    outcome = run(ROOT / "monkeys-worker", ROOT, folder, jobs, children=2)
    assert not outcome.infra, outcome.infra
    for name, (_, words) in BOXED.items():
        assert words in outcome.answers[name]["feedback"], described(name, outcome.answers[name])
