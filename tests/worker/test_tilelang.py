"""TileLang on both sides of the trace: recording, the allow-list of a kernel's IR, compiling
without data, and programs. Kernels for the CPU run here; those for a GPU are compiled."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
VERIFY = ROOT / "tests" / "verify"
sys.path[:0] = [str(ROOT / "worker"), str(ROOT / "packs" / "tilelang")]

from shared import packages  # noqa: E402

packages.add("tilelang")
pytest.importorskip("tilelang", reason="tilelang is not installed: ./setup pack tilelang")

import tilelang  # noqa: E402
import tilelang.language as T  # noqa: E402
import tvm  # noqa: E402
import compiler_answers  # noqa: E402
import native_run  # noqa: E402
import worker_run  # noqa: E402
from judge import launches, traces  # noqa: E402
from compiler import Answer, tilelang_compiler, tilelang_ir  # noqa: E402
from compiler.tilelang_ir import Denied  # noqa: E402
from compiler.tilelang_compiler import CompileFailed  # noqa: E402
from recorder import tilelang_record  # noqa: E402
from shared import program  # noqa: E402
from tvm.target import Target  # noqa: E402

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
TILELANG = launches.FAMILIES["tilelang"]
ITEM = 256  # what offsets of the judge's region are multiples of


class Recorder:
    """What an adapter sees of the recorder; tensors are meta tensors, all of them new."""

    claims = torch.device("meta")

    def __init__(self) -> None:
        self.kernels: list[dict] = []
        self.keys: list[Any] = []
        self.texts: list[str] = []
        self.nodes: list[dict] = []
        self.tensors: list[torch.Tensor] = []
        self.number: dict[int, int] = {}

    def view(self, t: torch.Tensor) -> list:
        key = t.untyped_storage()._cdata
        if key not in self.number:
            self.number[key] = len(self.tensors)
            self.tensors.append(t)
        dtype = str(t.dtype).removeprefix("torch.")
        return [self.number[key], dtype, t.storage_offset(), list(t.shape), list(t.stride())]

    def kernel(self, key: Any, spec: dict) -> int:
        if key not in self.keys:
            self.keys.append(key)
            self.kernels.append(spec)
        return self.keys.index(key)

    def text(self, source: str) -> int:
        if source not in self.texts:
            self.texts.append(source)
        return self.texts.index(source)

    def launch(self, node: dict) -> None:
        self.nodes.append(node)

    def trace(self) -> traces.Trace:
        """As the judge reads it; the last tensor is the output."""
        buffers = [
            {"kind": "new", "bytes": t.untyped_storage().nbytes(), "dtype": str(t.dtype)[6:]}
            for t in self.tensors
        ]
        call = {"buffers": buffers, "nodes": self.nodes,
                "output": {"tensor": self.view(self.tensors[-1])}}  # fmt: skip
        header = {"trace": 1, "state": [], "setup": {"buffers": [], "nodes": []}, "calls": [call],
                "kernels": self.kernels, "texts": self.texts, "packed": False}  # fmt: skip
        trace = traces.parse_trace(traces.header(json.dumps(header).encode() + b"\n"), [], {})
        launches.check_launches(trace, TILELANG)
        return trace


@pytest.fixture()
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    import tilelang.autotuner.tuner as tuner

    made, jit = Recorder(), sys.modules["tilelang.jit"]
    for owner, name in ((jit, "cached"), (tuner.AutoTuner, "run"),
                        (jit.JITImpl, "_get_frontend_target_context")):  # fmt: skip
        monkeypatch.setattr(owner, name, getattr(owner, name))  # is put back afterwards
    tilelang_record.install_tilelang(lambda: made)
    with Target({"kind": "cuda", "arch": "sm_90a"}):
        yield made


def meta(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def request(trace: traces.Trace, device: str) -> dict:
    return native_run.request(trace, "tilelang", device=device)


def built(trace: traces.Trace, device: str) -> launches.Built:
    return launches.Built.parse(tilelang_compiler.compile_tilelang(request(trace, device)), trace, TILELANG)


def planned(trace: traces.Trace, made: launches.Built, config: int = 0) -> list[program.Node]:
    places, at = [], ITEM
    for buffer in trace.steady.buffers:
        places.append(at)
        at += -(-buffer.bytes // ITEM) * ITEM + ITEM
    maker = launches.Maker(made, TILELANG, 0)
    return [n for launch in trace.steady.launches()
            for n in maker.nodes(launch, trace.steady, places, config)]  # fmt: skip


# ---- kernels ---------------------------------------------------------------------


def scaled_product(M: Any, N: Any, K: int, block: int = 16) -> Any:
    """For the CPU: exp(A @ B * scale) + shift."""

    @T.prim_func
    def scaled(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
        scale: T.float32,
        shift: T.int32,
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=1) as (bx, by):
            a = T.alloc_local((block, block), "float32")
            b = T.alloc_local((block, block), "float32")
            c = T.alloc_local((block, block), "float32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, block)):
                T.copy(A[by * block, k * block], a)
                T.copy(B[k * block, bx * block], b)
                T.gemm(a, b, c)
            for i, j in T.grid(block, block):
                c[i, j] = T.exp(c[i, j] * scale) + shift
            T.copy(c, C[by * block, bx * block])

    return scaled


def product(M: Any, N: Any, K: Any, block: int = 128, deep: int = 32, stages: int = 3) -> Any:
    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, deep), "float16")
            b = T.alloc_shared((deep, block), "float16")
            c = T.alloc_fragment((block, block), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, deep), num_stages=stages):
                T.copy(A[by * block, k * deep], a)
                T.copy(B[k * deep, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    return gemm


@tilelang.jit
def twice(X, dtype=T.float32):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(M, threads=128) as row:
        for j in T.Parallel(N):
            Y[row, j] = X[row, j] * 2
    return Y


# ---- recording -------------------------------------------------------------------


def test_a_call_is_recorded_with_its_outputs_and_nothing_is_compiled(recorder):
    kernel = tilelang.compile(product(256, 512, 64), out_idx=[2])
    out = kernel(meta(256, 64, dtype=torch.float16), meta(64, 512, dtype=torch.float16))
    assert (out.shape, out.dtype) == ((256, 512), torch.float32)
    (node,) = recorder.nodes
    assert (node["op"], node["grid"], list(node["args"])) == ("launch", [1], ["p0", "p1", "p2"])
    assert node["args"]["p2"]["t"][1:] == ["float32", 0, [256, 512], [512, 1]]
    assert recorder.kernels == [{"name": "gemm", "text": 0, "configs": {}, "flags": []}]


def test_sizes_of_outputs_come_from_the_arguments(recorder):
    kernel = tilelang.compile(product(T.dynamic("M"), T.dynamic("N"), T.dynamic("K")), out_idx=-1)
    half = {"dtype": torch.float16}
    assert kernel(meta(96, 32, **half), meta(32, 40, **half)).shape == (96, 40)
    assert kernel(meta(8, 32, **half), meta(32, 16, **half)).shape == (8, 16)
    assert len(recorder.kernels) == 1 and len(recorder.nodes) == 2


def test_eager_functions_are_recorded(recorder):
    assert twice(meta(4, 256)).shape == (4, 256)
    assert recorder.kernels[0]["name"] == "twice"


def test_every_configuration_of_the_autotuner_is_recorded(recorder):
    @tilelang.autotune(configs=[{"block": 64}, {"block": 128}])
    @tilelang.jit(out_idx=[2])
    def tuned(M, N, K, block=32):
        return product(M, N, K, block)

    half = {"dtype": torch.float16}
    tuned(256, 256, 64)(meta(256, 64, **half), meta(64, 256, **half))
    (node,) = recorder.nodes
    assert [t["options"]["kernel"] for t in node["tuned"]] == [0, 1]
    assert len(recorder.kernels) == 2
    assert recorder.trace().configurations() == 2


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((meta(256, 64), meta(64, 512)), "A.dtype is expected to be float16"),
        ((meta(256, 64, dtype=torch.float16),), "expected 2 inputs, but 1"),
        ((meta(256, 32, dtype=torch.float16), meta(64, 512, dtype=torch.float16)),
         r"A.shape\[1\] has an unsatisfied constraint: 32 == 64"),
        ((meta(64, 256, dtype=torch.float16).t(), meta(64, 512, dtype=torch.float16)),
         r"A.strides\[0\] has an unsatisfied constraint: 1 == 64"),
        ((3.0, meta(64, 512, dtype=torch.float16)), "A takes a tensor, got float"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_told_as_tilelang_tells_them(recorder, args, reason):
    kernel = tilelang.compile(product(256, 512, 64), out_idx=[2])
    with pytest.raises((RuntimeError, ValueError, TypeError), match=reason):
        kernel(*args)


def test_a_kernel_is_called_in_forward_only(recorder):
    kernel = tilelang.compile(product(256, 512, 64), out_idx=[2])
    tilelang_record.install_tilelang(lambda: None)
    with pytest.raises(RuntimeError, match="outside ModelNew.forward"):
        kernel(meta(256, 64, dtype=torch.float16), meta(64, 512, dtype=torch.float16))


# ---- what a kernel may contain -----------------------------------------------------


def one_thread(body: Any) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            body(X)

    return kernel


@T.macro
def calls_extern(X):
    X[0] = T.call_extern("float32", "strtof", X[0])


@T.macro
def calls_packed(X):
    T.evaluate(T.call_packed("os.system", X[0]))


@T.macro
def imports_source(X):
    T.import_source('__device__ int x = 1; asm("exit;");')
    X[0] = 1.0


@pytest.mark.parametrize(
    ("body", "reason"),
    [(calls_extern, "tirx.call_extern"), (calls_packed, "tvm_call_packed"),
     (imports_source, "the text|pragma_import_c")],
)  # fmt: skip
def test_ir_that_calls_other_code_is_refused(body, reason):
    with pytest.raises(Denied, match=reason):
        tilelang_ir.check_ir(tvm.ir.save_json(one_thread(body)))


def changed(change: Any) -> str:
    graph = json.loads(tvm.ir.save_json(product(256, 256, 64)))
    change(graph)
    return json.dumps(graph)


def put(kind: str, data: Any) -> Any:
    """Replaces the first node of a kind."""

    def change(graph: dict) -> None:
        next(n for n in graph["nodes"] if n["type"] == kind)["data"] = data

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph["nodes"].append({"type": "ffi.Module", "data": "x"}),
        lambda graph: graph["nodes"].append({"type": "ir.GlobalVar", "data": {}}),
        lambda graph: graph.update(root_index=0),
        lambda graph: graph.update(nodes=[]),
        lambda graph: graph["nodes"][graph["root_index"]]["data"].update(body=10**6),
        put("ir.Op", "tirx.call_llvm_intrin"),
        put("ffi.String", 'x"); asm("trap;'),
        put("ffi.String", "pragma_import_llvm"),
        put("ffi.Array", [10**6]),
    ],
    ids=["module", "global", "root", "empty", "dangling", "operator", "text", "pragma", "index"],
)
def test_hostile_ir_is_refused(change):
    tilelang_ir.check_ir(changed(lambda graph: None))
    with pytest.raises(Denied):
        tilelang_ir.check_ir(changed(change))


def test_a_kernel_has_no_attributes_of_its_own():
    with pytest.raises(Denied, match="attribute 'calling_conv'"):
        tilelang_ir.check_ir(tvm.ir.save_json(product(256, 256, 64).with_attr("calling_conv", 1)))


@pytest.mark.parametrize(
    ("configs", "flags"),
    [
        ({"cuda.kernels_output_dir": "/tmp"}, []),
        ({"tl.dump_ir_path": "/tmp"}, []),
        ({"tl.device_compile_flags": "-I/"}, []),
        ({"tl.disable_tma_lower": "yes"}, []),
        ({}, ["-I/tmp"]),
        ({}, ["-include", "/etc/passwd"]),
        ({}, ["-Xptxas=@file"]),
        ({}, ["-DX=system(1)"]),
        ({}, "-O3"),
    ],
)
def test_configurations_that_name_files_or_code_are_refused(configs, flags):
    tilelang_ir.check_configuration({"tl.disable_tma_lower": True}, ["-O3", "--use_fast_math"])
    with pytest.raises(Denied):
        tilelang_ir.check_configuration(configs, flags)


def test_the_compiler_checks_before_it_reads(recorder):
    tilelang.compile(one_thread(calls_extern))(meta(128))
    with pytest.raises(Denied, match="call_extern"):
        built(recorder.trace(), "cpu")


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_language_that_the_good_examples_use_is_allowed(recorder):
    shapes = {"cumsum_compiled": ((), [(64, 128)]), "linear_jit_lazy": ((64, 128), [(128, 64)]),
              "relu_add_lazy": ((), [(4, 64), (4, 64)]), "rms_norm_macro": ((8, 128), [(8, 128)]),
              "softmax_eager": ((), [(8, 128)]), "tanh_target": ((), [(4, 512)]),
              "transpose_grid": ((), [(64, 128)])}  # fmt: skip
    dtypes = {"linear_jit_lazy": torch.bfloat16, "rms_norm_macro": torch.float16,
              "softmax_eager": torch.bfloat16, "transpose_grid": torch.float16}  # fmt: skip
    for path in sorted((ROOT / "packs" / "tilelang" / "selftest" / "good").glob("*.py")):
        init, inputs = shapes[path.stem]
        dtype = dtypes.get(path.stem, torch.float32)
        model = load(path).ModelNew(*init).to(device="meta", dtype=dtype)
        before = len(recorder.nodes)
        model(*[meta(*shape, dtype=dtype) for shape in inputs])
        assert len(recorder.nodes) > before, path.stem
    for kernel in recorder.trace().kernels:
        tilelang_compiler.load_kernel(kernel, recorder.texts)
        tilelang_compiler.lower(kernel, recorder.texts, tilelang_compiler.arch_target("cuda", "sm_90"))


# ---- on the CPU ------------------------------------------------------------------


def execute(nodes: list[program.Node], made: launches.Built, folder: Path, base: int) -> None:
    """As monkeys-runner does it."""
    for node in nodes:
        assert isinstance(node, program.Call)
        function = made.functions[node.function]
        path = folder / f"{function.module}.so"
        path.write_bytes(made.modules[function.module].data)
        words = [base + p.at if isinstance(p, program.Pointer) else p.bits for p in node.params]
        call = ctypes.CDLL(str(path))[function.name]
        call.restype = None
        call((ctypes.c_uint64 * len(words))(*words))


@pytest.mark.parametrize("sizes", [(32, 48), (20, 33)], ids=["whole", "ragged"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_recorded_kernel_computes_on_the_cpu(recorder, tmp_path, sizes, dynamic):
    M, N, K = *sizes, 32
    names = (T.dynamic("M"), T.dynamic("N")) if dynamic else (M, N)
    kernel = tilelang.compile(scaled_product(*names, K), out_idx=[2], target="c")
    kernel(meta(M, K), meta(K, N), 0.125, 3)
    trace = recorder.trace()
    made = built(trace, "cpu")
    a, b = torch.randn(M, K), torch.randn(K, N)
    region = torch.full((1 << 16,), float("nan"))
    at = [b.at // 4 for b in planned(trace, made)[0].params if isinstance(b, program.Pointer)]
    region[at[0] :][: a.numel()] = a.flatten()
    region[at[1] :][: b.numel()] = b.flatten()
    execute(planned(trace, made), made, tmp_path, region.data_ptr())
    got = region[at[2] :][: M * N].view(M, N)
    torch.testing.assert_close(got, torch.exp(a @ b * 0.125) + 3)
    assert region.isnan().sum() == region.numel() - a.numel() - b.numel() - M * N


# ---- for a GPU -------------------------------------------------------------------


@nvcc
def test_a_gemm_becomes_a_cubin_with_tensor_maps(recorder):
    half = {"dtype": torch.float16}
    kernel = tilelang.compile(product(512, 1024, 256), out_idx=[2])
    kernel(meta(512, 256, **half), meta(256, 1024, **half))
    trace = recorder.trace()
    made = built(trace, "cuda")
    (node,) = planned(trace, made)
    assert made.functions == (program.Function(0, "gemm_kernel"),)
    assert made.modules[0].kind == "cubin"
    assert (node.grid, node.shared) == ((8, 4, 1), 3 * 2 * 128 * 32 * 2)
    a, b, c = node.params
    assert a == program.TensorMap(ITEM, 6, (256, 512), (512,), (32, 128), 2, 0)
    assert b.shape == (1024, 256) and b.strides == (2048,) and b.at > a.at
    assert isinstance(c, program.Pointer)


@nvcc
def test_candidates_for_a_gpu_are_recorded_and_compiled(recorder):
    lines = (VERIFY / "tilelang.list").read_text().splitlines()
    for task, candidate in (line.split() for line in lines if not line.startswith("#")):
        asked = load(VERIFY / task)
        model = load(VERIFY / candidate).ModelNew(*asked.get_init_inputs())
        model = model.to(device="meta", dtype=torch.bfloat16)
        model(*[x.to(device="meta", dtype=torch.bfloat16) for x in asked.get_inputs()])
    trace = recorder.trace()
    nodes = planned(trace, built(trace, "cuda"))
    assert [type(n) for n in nodes] == [program.Launch] * 3


@nvcc
def test_one_cubin_serves_all_sizes_of_a_dynamic_kernel(recorder):
    half = {"dtype": torch.float16}
    kernel = tilelang.compile(product(T.dynamic("M"), 128, 64), out_idx=[2],
                              pass_configs={"tl.disable_warp_specialized": True})  # fmt: skip
    for rows in (128, 300):
        kernel(meta(rows, 64, **half), meta(64, 128, **half))
    trace = recorder.trace()
    made = built(trace, "cuda")
    nodes = planned(trace, made)
    assert len(made.modules) == 1
    assert [n.grid for n in nodes] == [(1, 1, 1), (1, 3, 1)]
    assert [n.params[-1] for n in nodes] == [program.Number(4, 128), program.Number(4, 300)]
    assert not any(isinstance(p, program.TensorMap) for n in nodes for p in n.params)


@nvcc
def test_a_function_of_several_kernels_is_several_launches(recorder):
    @T.prim_func
    def two(X: T.Tensor((256,), "float32"), Y: T.Tensor((256,), "float32"), s: T.float32):
        with T.Kernel(2, threads=128) as bx:
            for i in T.Parallel(128):
                Y[bx * 128 + i] = X[bx * 128 + i] * s
        with T.Kernel(1, threads=256):
            for i in T.Parallel(256):
                Y[i] = Y[i] + 1

    tilelang.compile(two, out_idx=[1])(meta(256), 0.5)
    trace = recorder.trace()
    nodes = planned(trace, built(trace, "cuda"))
    assert [(n.grid[0], n.block[0]) for n in nodes] == [(2, 128), (1, 256)]
    assert program.Number(4, 0x3F000000) in nodes[0].params


def test_what_a_kernel_asks_of_a_gpu_that_has_less_is_told(recorder):
    half = {"dtype": torch.float16}
    kernel = tilelang.compile(product(512, 512, 1024, deep=256, stages=4), out_idx=[2])
    kernel(meta(512, 1024, **half), meta(1024, 512, **half))
    trace = recorder.trace()
    hopper = tilelang_compiler.arch_target("cuda", "sm_90")
    lowered = tilelang_compiler.lower(trace.kernels[0], trace.texts, hopper)
    answer = tilelang_compiler._Kernels(request(trace, "cuda"), Answer())
    lowered.first, answer.kernels[0] = 0, lowered
    with pytest.raises(CompileFailed, match="out of resource: shared memory, required: 524288"):
        answer.nodes(request(trace, "cuda")["launches"][0])


@nvcc
def test_empty_objects_of_the_headers_are_no_memory_that_outlives_a_launch(recorder):
    """A product of one warp includes headers of the C++ library, which have some."""

    @T.prim_func
    def one_warp(A: T.Tensor((16, 64), "bfloat16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_shared((16, 64), "bfloat16")
            c = T.alloc_fragment((16, 16), "float32")
            T.copy(A, a)
            T.clear(c)
            T.gemm(a, a, c, transpose_B=True)
            T.copy(c, C)

    tilelang.compile(one_warp, out_idx=[1])(meta(16, 64, dtype=torch.bfloat16))
    trace = recorder.trace()
    made = built(trace, "cuda")
    assert b".nv.global" in made.modules[0].data
    assert [n.block[0] for n in planned(trace, made)] == [32]


@nvcc
def test_a_block_with_too_many_threads_is_told_so(recorder):
    @T.prim_func
    def wide(X: T.Tensor((2048,), "float32")):
        with T.Kernel(1, threads=2048):
            for i in T.Parallel(2048):
                X[i] = X[i] * 2

    tilelang.compile(wide)(meta(2048))
    with pytest.raises(CompileFailed, match="out of resource: threads, required: 2048"):
        built(recorder.trace(), "cuda")


def test_a_kernel_that_does_not_lower_says_why(recorder):
    @T.macro
    def local(X):
        own = T.alloc_local((128,), "float32")
        for i in T.Parallel(128):
            own[i] = X[i]

    tilelang.compile(one_thread(local))(meta(128))
    with pytest.raises(CompileFailed, match="Local buffer `own` is indexed by T.Parallel") as caught:
        built(recorder.trace(), "cuda")
    assert "File " not in str(caught.value)


# ---- hostile answers -------------------------------------------------------------


@nvcc
def test_a_damaged_answer_is_read_or_refused(recorder):
    half = {"dtype": torch.float16}
    kernel = tilelang.compile(product(T.dynamic("M"), 128, 64), out_idx=[2])
    for rows in (128, 300):
        kernel(meta(rows, 64, **half), meta(64, 128, **half))
    trace = recorder.trace()
    data = tilelang_compiler.compile_tilelang(request(trace, "cuda"))
    compiler_answers.is_read_or_refused(data, trace, "tilelang", 300)


def test_a_damaged_answer_with_a_library_is_read_or_refused(recorder):
    tilelang.compile(scaled_product(32, 32, 32), out_idx=[2])(meta(32, 32), meta(32, 32), 0.125, 3)
    trace = recorder.trace()
    compiler_answers.is_read_or_refused(tilelang_compiler.compile_tilelang(request(trace, "cpu")), trace, "tilelang", 300)


def test_an_autotuner_without_a_configuration_that_compiles_is_a_compile_error(recorder):
    @tilelang.autotune(configs=[{"deep": 256}, {"deep": 512}])
    @tilelang.jit(out_idx=[2])
    def tuned(M, N, K, deep=32):
        return product(M, N, K, 128, deep, 4)

    half = {"dtype": torch.float16}
    tuned(512, 512, 1024)(meta(512, 1024, **half), meta(1024, 512, **half))
    with pytest.raises(CompileFailed):
        built(recorder.trace(), "cuda")


# ---- the whole way -----------------------------------------------------------------

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features))

    def forward(self, x):
        return torch.relu(x @ self.weight) + 1.0


def get_inputs():
    return [torch.randn(48, 32)]


def get_init_inputs():
    return [32]
"""
CANDIDATE = """
import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


def build(M, N, K, block=16):
    @T.prim_func
    def linear(
        A: T.Tensor((M, K), "float32"),
        B: T.Tensor((K, N), "float32"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=1) as (bx, by):
            a = T.alloc_local((block, block), "float32")
            b = T.alloc_local((block, block), "float32")
            c = T.alloc_local((block, block), "float32")
            T.clear(c)
            for k in T.serial(T.ceildiv(K, block)):
                T.copy(A[by * block, k * block], a)
                T.copy(B[k * block, bx * block], b)
                T.gemm(a, b, c)
            for i, j in T.grid(block, block):
                c[i, j] = T.max(c[i, j], T.float32(0)) + 1
            T.copy(c, C[by * block, bx * block])

    return linear


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features))
        self.kernels = {}

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        if M not in self.kernels:
            self.kernels[M] = tilelang.compile(build(M, N, K), out_idx=[2])
        return self.kernels[M](x, self.weight)
"""
CHANGES = {
    "right": ("", ""),
    "wrong": ("(0)) + 1", "(0)) + 1.5"),
    "extern": ("T.max(c[i, j], T.float32(0))", 'T.call_extern("float32", "fmaxf", c[i, j], 0.0)'),
    "torch": ("self.kernels[M](x, self.weight)", "torch.relu(self.kernels[M](x, self.weight))"),
}


def test_candidates_are_judged_from_their_ir_alone(folder):
    (folder / "task.py").write_text(TASK)
    jobs = []
    for name, (old, new) in CHANGES.items():
        (folder / f"{name}.py").write_text(CANDIDATE.replace(old, new) if old else CANDIDATE)
        jobs.append(worker_run.Job(name, "tilelang", folder / "task.py", folder / f"{name}.py"))
    found = worker_run.run(*worker_run.make_home(folder), folder, jobs, children=2)
    verdicts = {n: (a["verdict"], a["stage"]) for n, a in found.answers.items()}
    assert verdicts["right"] == ("correct", "done"), found.log
    assert verdicts["wrong"] == ("wrong_values", "trials")
    assert verdicts["extern"] == ("compile_error", "compile")
    assert verdicts["torch"][0] == "hack"
    assert found.answers["right"]["launches"]["names"] == ["linear"]
    assert found.answers["right"]["evidence"] in ("E2", "E3")  # E2 where there is no box
    assert "tirx.call_extern" in found.answers["extern"]["feedback"]
