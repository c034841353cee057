"""The compiler: checked kernels become cubins for a GPU that is not there, with what a launch
needs to know; what does not compile says why."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import kernel, launch, source, trace, vector

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
pytest.importorskip("triton")

from judge import launches, traces  # noqa: E402
from judge.launches import Node  # noqa: E402
from compiler import triton_compiler  # noqa: E402
from shared import kernel_language, triton_common  # noqa: E402


@pytest.fixture(autouse=True)
def _private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")


TRITON = launches.FAMILIES["triton"]
NULL = ("n", 8, 0)  # for scratch memory that is not needed


def built(text: str, kernels: list[dict], nodes: list[dict], *sizes: int) -> launches.Built:
    """Checked, compiled for sm_90 and read again by the judge."""
    parsed = traces.parse_trace(traces.header(trace(kernels, nodes, *sizes)), [], {})
    launches.check_launches(parsed, TRITON)
    request = launches.requests(parsed, TRITON) | {
        "source": text, "kernels": parsed.kernels, "texts": [], "target": "sm_90",
    }  # fmt: skip
    data = triton_compiler.compile_triton(json.loads(json.dumps(request)))
    return launches.Built.parse(data, parsed, TRITON)


def only(found: launches.Built) -> Node:
    """What the one launch became."""
    ((made,),) = found.launches.values()
    return made


COPY = source("""
    def k(x, y, n, s, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)
""")


def copy_args(n: int = 100, offset: int = 0, **more: object) -> dict:
    args = {"x": vector(0, 64, offset), "y": vector(1, 64), "n": n, "s": 2.0, "B": 128}
    return args | more


def test_a_launch_becomes_a_cubin_with_its_parameters_in_order() -> None:
    found = built(COPY, [kernel(COPY)], [launch(copy_args(), num_warps=2)], 1024, 1024)
    (module,), (function,) = found.modules, found.functions
    assert function.name == "k" and module.data[:4] == b"\x7fELF"
    assert only(found).block == (64, 1, 1)
    assert only(found).params == (("p", 0, 0), ("p", 1, 0), ("n", 4, 100), ("n", 4, 0x40000000), NULL, NULL)


def test_launches_that_differ_in_values_alone_share_a_binary() -> None:
    nodes = [launch(copy_args(n)) for n in (99, 101, 103)] + [launch(copy_args(112))]
    found = built(COPY, [kernel(COPY)], nodes, 1024, 1024)
    assert len(found.launches) == 4 and len(found.modules) == 2  # 112 is a multiple of 16


def test_a_number_of_1_and_a_missing_tensor_are_constants() -> None:
    text = source("""
        def k(x, y, n, B: tl.constexpr):
            if y is not None:
                tl.store(x, 1)
            tl.store(x + n, 2)
    """)
    args = {"x": vector(0, 64), "y": None, "n": 1, "B": 4}
    assert only(built(text, [kernel(text)], [launch(args)], 1024)).params == (("p", 0, 0), NULL, NULL)


def test_alignment_comes_from_the_offset_in_the_buffer() -> None:
    def divisible(offset: int) -> bytes:
        args = copy_args(n=112, offset=offset, B=512)
        return built(COPY, [kernel(COPY)], [launch(args)], 1024, 1024).modules[0].data

    assert divisible(4) == divisible(0) != divisible(1)


def test_tuples_are_flattened_and_wide_numbers_are_wide() -> None:
    text = source("""
        def k(t, n, m: tl.int64):
            tl.store(t[0], tl.load(t[1][0]) + t[1][1] + n + m)
    """)
    args = {"t": {"tuple": [vector(0, 4), {"tuple": [vector(0, 4), 7]}]}, "n": 2**40, "m": 1}
    assert only(built(text, [kernel(text)], [launch(args)], 1024)).params == (
        ("p", 0, 0), ("p", 1, 0), ("n", 4, 7), ("n", 8, 2**40), ("n", 8, 1), NULL, NULL)  # fmt: skip


HOST = source("""
    def k(x, y, B: tl.constexpr):
        y.store([0, 0], x.load([0, 0]) + 1)
""")


def test_a_host_descriptor_is_a_map_with_shape_and_strides() -> None:
    desc = {"desc": [[0, "float32", 0, [64, 64], [64, 1]], [64, 64], [64, 1], [32, 32], "zero"]}
    args = {"x": desc, "y": {"desc": [[1, *desc["desc"][0][1:]], *desc["desc"][1:]]}, "B": 32}
    made = only(built(HOST, [kernel(HOST)], [launch(args)], 16384, 16384)).params
    rows, columns = ("n", 4, 64), ("n", 8, 1)
    assert made[0] == ("m", 0, 0, 7, (64, 64), (256,), (32, 32), 3, 0) and made[5][:2] == ("m", 1)
    assert made[1:5] == made[6:10] == (rows, rows, ("n", 8, 64), columns)


def test_a_device_descriptor_needs_scratch_memory() -> None:
    text = source("""
        def k(x, B: tl.constexpr):
            d = tl.make_tensor_descriptor(x, [B, B], [B, 1], [B, B])
            d.store([0, 0], d.load([0, 0]) + 1)
    """)
    found = built(text, [kernel(text)], [launch({"x": vector(0, 64), "B": 32})], 16384)
    assert only(found).scratch >= 128 and only(found).params[-2:] == (("w", 0), NULL)


def test_clusters_and_cooperative_launches_are_told() -> None:
    nodes = [launch(copy_args(), num_ctas=2, launch_cooperative_grid=True)]
    made = only(built(COPY, [kernel(COPY)], nodes, 1024, 1024))
    assert made.cluster == (2, 1, 1) and made.grid == (2, 1, 1) and made.cooperative


def test_names_from_outside_are_values_kernels_and_functions() -> None:
    text = source("""
        def helper(x, eps=EPS, kind=tl.float32):
            return exp(x + eps).to(kind)

        def k(x, B: tl.constexpr, f: tl.constexpr):
            i = tl.arange(0, B)
            v = helper(tl.load(x + i)) + OFFSET + f(i) + libdevice.tanh(1.0 * i)
            tl.store(x + i, v)

        def twice(i):
            return i * 2
    """)
    helper = kernel(text, "helper", exp={"from": ["triton.language", "exp"]})
    helper["defaults"] = {"eps": {"value": 1e-5}, "kind": {"dtype": "fp32"}}
    main = kernel(text, "k", helper={"kernel": 0}, OFFSET={"constexpr": {"value": 3.0}},
                  libdevice={"module": "triton.language.extra.libdevice"})  # fmt: skip
    args = {"x": vector(0, 64), "B": 64, "f": {"kernel": 2}}
    found = built(text, [helper, main, kernel(text, "twice")], [launch(args, number=1)], 1024)
    assert found.functions[0].name == "k"


def test_a_gluon_kernel_is_compiled_with_layouts_among_its_arguments() -> None:
    text = source("""
        def k(x, L: gl.constexpr, B: gl.constexpr):
            i = gl.arange(0, B, layout=L)
            gl.store(x + i, gl.load(x + i) * 2)
    """)
    fields = {"size_per_thread": {"tuple": [1]}, "threads_per_warp": {"tuple": [32]},
              "warps_per_cta": {"tuple": [4]}, "order": {"tuple": [0]}}  # fmt: skip
    args = {"x": vector(0, 128), "L": {"layout": ["BlockedLayout", fields]}, "B": 128}
    found = built(text, [kernel(text, gluon=True)], [launch(args)], 1024)
    assert only(found).block == (128, 1, 1)


ADDRESSES = """
    def k(x, y, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.load(x + i)
        {line}
"""


@pytest.mark.parametrize("line, said", [
    ("tl.store(y + i, v + (x.to(tl.int64) % 512))", "makes an integer of a pointer"),
    ("tl.store(y + i, v + ((x + i).to(tl.uint64, bitcast=True) % 512))", "makes an integer of a pointer"),
    ("tl.store(y.to(tl.pointer_type(tl.int64)) + i, x + i)", "makes an integer of a pointer"),
    ("tl.store(y.to(tl.pointer_type(tl.pointer_type(tl.float32))), x)", "pointers in memory|RuntimeError"),
    ("tl.store(y + i, tl.load(tl.load(y.to(tl.pointer_type(tl.int64))).to(tl.pointer_type(tl.float32)) + i))",
     "makes a pointer of an integer"),
    ("tl.store(y + i, v + tl.inline_asm_elementwise('mov.u64 $0, $1;', '=l,l', [x + i], tl.int64, True, 1))",
     r"other than as \[\$1\]"),
    ("if x.to(tl.int64) > 0:\n            tl.store(y + i, v)", "makes an integer of a pointer"),
    ("a = x.to(tl.int64)\n        if a != 0:\n            tl.store(y + i, v + a % 512)", "makes an integer"),
    # honest
    ("tl.store(y.to(tl.pointer_type(tl.int32)) + i, v.to(tl.int32, bitcast=True))", None),
    ("tl.store(tl.where(i < 8, y, y + 64) + i, v)", None),
    ("tl.store(y + i, tl.inline_asm_elementwise('ld.global.b32 $0, [$1];', '=f,l', [x + i], tl.float32, True, 1))",
     None),
    ("if y is not None:\n            tl.store(y + i, v)", None),
    ("if y:\n            tl.store(y + i, v)", None),
])  # fmt: skip
def test_where_a_tensor_lies_is_nothing_to_compute_with(line: str, said: str | None) -> None:
    text = source(ADDRESSES.format(line=line))
    node = launch({"x": vector(0, 64), "y": vector(1, 64), "B": 16})
    with pytest.raises(triton_common.CompileFailed, match=said) if said else contextlib.nullcontext():
        built(text, [kernel(text)], [node], 1024, 1024)


def test_gluon_has_no_addresses_either() -> None:
    text = source("""
        def k(x):
            gl.store(x, x.to(gl.int64).to(gl.float32))
    """)
    with pytest.raises(triton_common.CompileFailed, match="makes an integer of a pointer"):
        built(text, [kernel(text, gluon=True)], [launch({"x": vector(0, 128)})], 1024)


# ---- what does not compile -----------------------------------------------------------


def test_the_compilers_error_shows_the_kernel_and_the_cause() -> None:
    text = source("""
        def k(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), tl.arange(0, 2 * B))
    """)
    with pytest.raises(triton_common.CompileFailed) as caught:
        built(text, [kernel(text)], [launch({"x": vector(0, 64), "B": 16})], 1024)
    assert str(caught.value).startswith("k: ") and "tl.store(x" in str(caught.value)
    assert triton_common.is_compile_error(caught.value)


def test_a_failing_pass_brings_its_diagnostics_along() -> None:
    text = source("""
        def k(x, B: tl.constexpr):
            i = tl.arange(0, B)
            v = tl.inline_asm_elementwise("nosuch.instruction.f32 $0, $1;", "=f,f",
                                          [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=1)
            tl.store(x + i, v)
    """)
    with pytest.raises(triton_common.CompileFailed, match="nosuch"):
        built(text, [kernel(text)], [launch({"x": vector(0, 64), "B": 64})], 1024)


def test_the_compilers_own_output_is_kept_for_the_error() -> None:
    with triton_compiler._printed() as printed:
        os.write(2, b"k.py:3:4: error: something about layouts\nreproducer generated: error\n")
    said = triton_compiler._triton_explained("k", RuntimeError("PassManager::run failed"), printed)
    assert said.splitlines() == ["k: RuntimeError: PassManager::run failed",
                                 "k.py:3:4: error: something about layouts"]  # fmt: skip


def test_too_much_shared_memory_is_a_compile_error() -> None:
    text = source("""
        def k(x, y, M: tl.constexpr, K: tl.constexpr):
            i = tl.arange(0, M)
            a = tl.load(x + i[:, None] * K + tl.arange(0, K)[None, :])
            tl.store(y + i[:, None] * M + i[None, :], tl.dot(a, tl.trans(a)))
    """)
    args = {"x": vector(0, 64, dtype="float16"), "y": vector(1, 64), "M": 64, "K": 2048}
    with pytest.raises(triton_common.CompileFailed, match="shared memory"):
        built(text, [kernel(text)], [launch(args, num_warps=8)], 1 << 20, 1 << 20)


@pytest.mark.parametrize("warps, said", [(64, "threads, required: 2048"), (1024, "threads"), (3, "power of 2"), (0, "power of 2")])
def test_too_many_warps_are_a_compile_error(warps: int, said: str) -> None:
    with pytest.raises(triton_common.CompileFailed, match=said):
        built(COPY, [kernel(COPY)], [launch(copy_args(), num_warps=warps)], 1024, 1024)


def tuned(*blocks: int) -> dict:
    configs = [{"grid": [1], "args": copy_args(B=b), "options": {"num_warps": 4}} for b in blocks]
    node = launch(configs[0]["args"], tuned=configs, num_warps=4)
    return node


def test_an_autotuner_does_without_configurations_that_do_not_compile() -> None:
    found = built(COPY, [kernel(COPY)], [tuned(100, 128, 64)], 1024, 1024)
    assert len(found.modules) == len(found.launches) == 2
    with pytest.raises(triton_common.CompileFailed):
        built(COPY, [kernel(COPY)], [tuned(100, 90)], 1024, 1024)
    with pytest.raises(triton_common.CompileFailed):
        built(COPY, [kernel(COPY)], [tuned(100, 128), launch(copy_args(B=100), num_warps=4)], 1024,
              1024)  # fmt: skip


# ---- what must not be compiled -------------------------------------------------------


def test_the_check_of_the_language_stands_before_the_compiler(tmp_path: Path) -> None:
    """Triton's code generator calls what it finds: this line would write a file."""
    proof = tmp_path / "proof"
    text = source(f"""
        def k(x):
            tl.core.builtins.exec("open({str(proof)!r}, 'w')")
            tl.store(x, 1)
    """)
    with pytest.raises(kernel_language.Denied):
        built(text, [kernel(text)], [launch({"x": vector(0, 4)})], 1024)
    assert not proof.exists()


def test_a_kernel_that_calls_itself_is_refused() -> None:
    text = "def k(x):\n    k(x)\n"
    with pytest.raises(kernel_language.Denied, match="itself"):
        built(text, [kernel(text, k={"kernel": 0})], [launch({"x": vector(0, 4)})], 1024)


def test_a_kernel_does_not_launch_kernels() -> None:
    text = source("""
        def k(x, f: tl.constexpr):
            g: tl.constexpr = f[(1,)]
            g(x)

        def inner(x):
            tl.store(x, 1)
    """)
    args = {"x": vector(0, 4), "f": {"kernel": 1}}
    with pytest.raises((kernel_language.Denied, triton_common.CompileFailed), match="launches"):
        built(text, [kernel(text), kernel(text, "inner")], [launch(args)], 1024)


def test_no_module_of_the_candidates_is_run() -> None:
    """Only the kernel's own text counts; the rest of the file is not executed."""
    text = "raise SystemExit\n" + COPY
    assert built(text, [kernel(text)], [launch(copy_args())], 1024, 1024).modules


def test_names_do_not_reach_pythons_builtins() -> None:
    seen: dict = {}

    def make(kernel: object, spec: dict, space: dict, file: str) -> None:
        seen.update(space)

    triton_common.Kernels(COPY, [kernel(COPY)], make).get(0)
    assert seen["__builtins__"] == {}


# ---- other versions ------------------------------------------------------------------


def test_the_judges_side_imports_no_language() -> None:
    code = "import sys; from judge import launches; print('triton' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=ROOT / "worker", text=True,
                          capture_output=True, check=True)  # fmt: skip
    assert done.stdout.split()[0] == "False"


