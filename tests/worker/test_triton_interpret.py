"""The interpreter: kernels and moves of a trace over the judge's region, with the meaning that
the compiler gives them and within the bounds of the buffers."""
from __future__ import annotations

import base64
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from launching import kernel, launch, source, vector

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("triton")

SERVER = """
import base64, json, mmap, os, sys
sys.path[:0] = sys.argv[1:]
import adapter
import torch
torch.set_num_threads(1)
adapter.prepare("interpret")

for line in sys.stdin:
    order = json.loads(line)
    size = order["message"]["bytes"]
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        region = mmap.mmap(-1, size)
        region[:] = base64.b64decode(order["region"])
        try:
            made = adapter.interpreter(order["message"], region)
            for run in order["runs"]:
                made.run(**run)
            answer = {"region": base64.b64encode(region[:]).decode()}
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        with os.fdopen(write, "w") as out:
            out.write(json.dumps(answer))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        print(answer.read(), flush=True)
    os.wait()
"""


class Server:
    """A zygote of interpreters: each order is served by a fork."""

    def __init__(self) -> None:
        argv = [sys.executable, "-B", "-c", SERVER, str(ROOT / "worker"), str(ROOT / "packs/triton")]
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)  # fmt: skip

    def run(self, text: str, nodes: list[dict], *arrays: np.ndarray, kernels: list[dict] | None = None,
            call_ms: int = 60_000, seed: int = 0, **run: object) -> list[np.ndarray]:  # fmt: skip
        """The arrays after the call; each is a buffer, with NaN around it."""
        places, at = [], 256
        for array in arrays:
            places.append([at, array.nbytes])
            at = -(-(at + array.nbytes + 256) // 256) * 256
        region = bytearray(b"\xff" * 4096 * -(-(at + 256) // 4096))
        for (start, size), array in zip(places, arrays):
            region[start : start + size] = array.tobytes()
        message = {"source": text, "kernels": kernels or [kernel(text)], "bytes": len(region),
                   "call_ms": call_ms, "seed": seed, "parts": [{"buffers": places, "nodes": nodes}]}  # fmt: skip
        for spec in message["kernels"]:
            spec.setdefault("do_not_specialize", [])
        order = {"message": message, "runs": [{"part": 0, **run}],
                 "region": base64.b64encode(region).decode()}  # fmt: skip
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        after = base64.b64decode(answer["region"])
        return [np.frombuffer(after[s : s + n], a.dtype).reshape(a.shape)
                for (s, n), a in zip(places, arrays)]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.process.stdin.close()
    made.process.wait()


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# ---- launches and moves --------------------------------------------------------------

DOUBLE = source("""
    def k(x, y, n, s, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) * s, mask=i < n)
""")


def double(n: int = 5, s: float = 2.0) -> dict:
    args = {"x": vector(0, n), "y": vector(1, n), "n": n, "s": s, "B": 4}
    return launch(args, grid=[-(-n // 4)])


def test_a_launch_computes_in_the_region(server: Server) -> None:
    x, y = server.run(DOUBLE, [double()], f32(1, 2, 3, 4, 5), np.zeros(5, np.float32))
    assert y.tolist() == [2, 4, 6, 8, 10] and x.tolist() == [1, 2, 3, 4, 5]


def test_muted_launches_do_nothing_and_moves_still_run(server: Server) -> None:
    fill = {"op": "fill", "to": [1, "float32", 1, [2], [2]], "value": 7}
    _, y = server.run(DOUBLE, [fill, double()], f32(1, 2, 3, 4, 5), np.zeros(5, np.float32), mute=True)
    assert y.tolist() == [0, 7, 0, 7, 0]


def test_moves_copy_cast_flip_fill_and_count(server: Server) -> None:
    nodes = [
        {"op": "copy", "to": [1, "float16", 0, [2, 3], [3, 1]], "from": [0, "float32", 0, [2, 3], [1, 2]]},
        {"op": "copy", "to": [2, "float32", 0, [6], [1]], "from": [0, "float32", 5, [6], [-1]]},
        {"op": "fill", "to": [0, "float32", 0, [2], [1]], "value": {"float": "-inf"}},
        {"op": "add", "to": [3, "int64", 0, [], []], "value": 3},
    ]  # fmt: skip
    start = np.arange(6, dtype=np.float32)
    x, half, flipped, count = server.run(
        DOUBLE, nodes, start, np.zeros((2, 3), np.float16), np.zeros(6, np.float32), np.array([4]))  # fmt: skip
    assert half.tolist() == [[0, 2, 4], [1, 3, 5]] and flipped.tolist() == [5, 4, 3, 2, 1, 0]
    assert x.tolist() == [-np.inf, -np.inf, 2, 3, 4, 5] and count.tolist() == [7]


def test_programs_run_in_either_order(server: Server) -> None:
    text = source("""
        def k(log, at):
            place = tl.atomic_add(at, 1)
            tl.store(log + place, tl.program_id(0) * 10 + tl.program_id(1))
    """)
    node = launch({"log": vector(0, 4, dtype="int32"), "at": vector(1, 1, dtype="int32")}, grid=[2, 2])
    empty = (np.zeros(4, np.int32), np.zeros(1, np.int32))
    assert server.run(text, [node], *empty)[0].tolist() == [0, 1, 10, 11]
    assert server.run(text, [node], *empty, order="reversed")[0].tolist() == [11, 10, 1, 0]
    mixed = [server.run(text, [node], *empty, order=seed)[0].tolist() for seed in (1, 1, 2, 3, 4)]
    assert mixed[0] == mixed[1] and len({tuple(m) for m in mixed}) > 2
    assert all(sorted(m) == [0, 1, 10, 11] for m in mixed)


def test_in_a_random_order_programs_see_what_others_store_late_or_at_once(server: Server) -> None:
    """What the first stores none sees before all have run. What a program stores itself it sees."""
    text = source("""
        def k(x, seen, own):
            p = tl.program_id(0)
            tl.store(seen + p, tl.load(x))
            tl.store(x, p + 1.0)
            tl.store(own + p, tl.load(x))
    """)
    node = launch({"x": vector(0, 1), "seen": vector(1, 3), "own": vector(2, 3)}, grid=[3])
    late = []
    for seed in range(16):
        x, seen, own = server.run(text, [node], f32(0), f32(9, 9, 9), f32(9, 9, 9), order=seed)
        assert own.tolist() == [1, 2, 3] and x[0] in own
        late.append(seen.tolist().count(0))
    assert set(late) == {2, 3}


RACES = {
    "load and store": (False, "tl.store(y, tl.load(y) + 1)"),
    "an atomic before": (False, "tl.atomic_add(at, 1)\ntl.store(y, tl.load(y) + 1)"),
    "an atomic after": (False, "tl.store(y, tl.load(y) + 1)\ntl.atomic_add(at, 1)"),
    "atomics around": (False, "tl.atomic_add(at, 1)\ntl.store(y, tl.load(y) + 1)\ntl.atomic_add(at, 1)"),
    "another store shown before": (
        False, "tl.store(z + p, 1)\ntl.atomic_add(at, 1)\ntl.store(y, tl.load(y) + 1)\ntl.atomic_add(at, 1)"),
    "too early": (
        False, "tl.store(z + p, 1)\ntl.atomic_add(at, 1)\nif p == 7:\n    tl.store(y, tl.sum(tl.load(z + tl.arange(0, 8))))"),
    "an atomic": (True, "tl.atomic_add(y, 1)"),
    "a lock": (True, "while tl.atomic_cas(at, 0, 1) == 1:\n    pass\ntl.store(y, tl.load(y) + 1)\ntl.atomic_xchg(at, 0)"),
    "a ticket": (True, "n = tl.atomic_add(at, 1)\nwhile tl.atomic_add(y, 0) < n:\n    pass\ntl.atomic_add(y, 1)"),
    "the last one": (
        True, "tl.store(z + p, 1)\nif tl.atomic_add(at, 1) == 7:\n    tl.store(y, tl.sum(tl.load(z + tl.arange(0, 8))))\n    tl.store(at, 0)"),
    "the same again": (True, "tl.store(z, 1)\ntl.atomic_add(y, 1)\nfor i in range(100):\n    tl.atomic_max(at, 5)"),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_programs_synchronise_by_atomics_alone(server: Server, name: str) -> None:
    """A sum of ones over eight programs, which run one after the other when they run forward."""
    right, body = RACES[name]
    text = "def k(y, z, at):\n    p = tl.program_id(0)\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    node = launch({"y": vector(0, 1, dtype="int32"), "z": vector(1, 8, dtype="int32"),
                   "at": vector(2, 1, dtype="int32")}, grid=[8])  # fmt: skip
    found = [server.run(text, [node], *(np.zeros(n, np.int32) for n in (1, 8, 1)), order=order)[0][0]
             for order in ("forward", *range(6))]  # fmt: skip
    assert found[0] == 8 and ((found.count(8) == 7) if right else (found.count(8) < 3))


def test_where_lanes_store_to_one_address_any_may_be_the_last(server: Server) -> None:
    """Equal values are as good as one."""
    text = source("""
        def k(x, y):
            i = tl.arange(0, 16)
            tl.store(x + i // 4, i % 4)
            tl.store(y + i // 4, i // 4)
    """)
    node = launch({"x": vector(0, 4, dtype="int32"), "y": vector(1, 4, dtype="int32")})
    found = [server.run(text, [node], *np.zeros((2, 4), np.int32), order=order)
             for order in ("forward", "reversed", *range(20))]  # fmt: skip
    assert found[0][0].tolist() == [3] * 4 and found[1][0].tolist() == [0] * 4
    assert {int(v) for f in found[2:] for v in f[0]} == {0, 1, 2, 3}
    assert all(f[1].tolist() == [0, 1, 2, 3] for f in found)


@pytest.mark.parametrize("line", [
    "v = tl.sum(tl.load(x + i, mask=i < 5))", "v = tl.max(tl.load(x + i, mask=i < 5))",
    "v = tl.sum(tl.load(x + i, mask=i < 5) - tl.load(x + i, mask=i < 4))",
    "v = tl.sum(tl.load(tl.make_block_ptr(x, (5,), (1,), (0,), (8,), (0,)), boundary_check=(0,)))",
    "v = tl.sum(tl.gather(tl.load(x + i), i - 1, 0))", "v = tl.sum(tl.gather(tl.load(x + i), i + 1, 0))",
    "v = tl.sum(1 << (i + 25))", "v = tl.sum(i >> (i + 28))", "v = tl.sum(i << (i - 1))",
])  # fmt: skip
def test_what_the_language_leaves_undefined_is_another_value_each_time(server: Server, line: str) -> None:
    text = source(f"""
        def k(x, y):
            i = tl.arange(0, 8)
            {line}
            tl.store(y, v)
    """)
    node = launch({"x": vector(0, 8), "y": vector(1, 1)})
    found = [server.run(text, [node], np.arange(8, dtype=np.float32), f32(0), order=order)[1][0].item()
             for order in ("forward", "reversed", *range(6))]  # fmt: skip
    assert found[0] == found[1] and found[2:].count(found[0]) < 3 and len(set(found[2:])) > 1


def test_what_a_kernel_masks_later_may_be_undefined(server: Server) -> None:
    text = source("""
        def k(x, y, z):
            i = tl.arange(0, 8)
            v = tl.load(x + i, mask=i < 5)
            at = tl.where(i < 5, i + 2, i * 1000)
            w = tl.where(i < 5, tl.gather(v, i - 2, 0), 0.0)
            tl.store(y + i, tl.exp(v) * v, mask=i < 5)
            tl.store(z, tl.sum(tl.where(i < 5, v, 0.0)) + tl.sum(tl.where(i > 1, w, 0.0)))
    """)
    node = launch({"x": vector(0, 5), "y": vector(1, 5), "z": vector(2, 1)})
    for order in ("forward", *range(6)):
        _, y, z = server.run(text, [node], f32(0, 1, 2, 3, 4), f32(0, 0, 0, 0, 0), f32(0), order=order)
        assert np.allclose(y, np.exp(np.arange(5)) * np.arange(5)) and z[0] == 13


def test_a_configuration_has_its_own_arguments_and_grid(server: Server) -> None:
    small, large = double(), double()
    small["args"], small["grid"] = {**small["args"], "B": 2, "s": 3.0}, [3]
    node = {**large, "tuned": [large, small]}
    arrays = f32(1, 2, 3, 4, 5), np.zeros(5, np.float32)
    assert server.run(DOUBLE, [node], *arrays, config=0)[1].tolist() == [2, 4, 6, 8, 10]
    assert server.run(DOUBLE, [node], *arrays, config=1)[1].tolist() == [3, 6, 9, 12, 15]


def test_kernels_call_kernels_and_combine_by_them(server: Server) -> None:
    text = source("""
        def larger(a, b):
            return tl.maximum(a, b)

        def k(x, y, f: tl.constexpr):
            v = tl.load(x + tl.arange(0, 4))
            tl.store(y, tl.reduce(v, 0, larger))
            tl.store(y + 1, f(tl.sum(v), 2))
            tl.store(y + tl.arange(0, 4) + 2, tl.associative_scan(v, 0, larger))

        def product(a, b=3):
            return a * b
    """)
    specs = [kernel(text, "larger"), kernel(text, "k", larger={"kernel": 0}), kernel(text, "product")]
    node = launch({"x": vector(0, 4), "y": vector(1, 6), "f": {"kernel": 2}}, number=1)
    _, y = server.run(text, [node], f32(1, 4, 2, 3), np.zeros(6, np.float32), kernels=specs)
    assert y.tolist() == [4, 20, 1, 4, 4, 4]


def test_libdevice_is_there(server: Server) -> None:
    text = source("""
        def k(x, y):
            i = tl.arange(0, 4)
            v = tl.load(x + i)
            tl.store(y + i, ld.tanh(v) + tl.extra.cuda.libdevice.pow(v, 2.0) + erf(v))
    """)
    spec = kernel(text, ld={"module": "triton.language.extra.libdevice"},
                  erf={"from": ["triton.language.extra.cuda.libdevice", "erf"]})  # fmt: skip
    x = f32(0, 0.5, 1, 2)
    node = launch({"x": vector(0, 4), "y": vector(1, 4)})
    _, y = server.run(text, [node], x, np.zeros(4, np.float32), kernels=[spec])
    erf = [0, 0.5204999, 0.8427008, 0.9953223]
    assert np.allclose(y, np.tanh(x) + x * x + erf, rtol=1e-5)


@pytest.mark.parametrize("line, what", [
    ("tl.inline_asm_elementwise('ex2.approx.f32 $0, $1;', '=f,f', [v], tl.float32, True, 1)", "inline assembly"),
    ("ld.scalbn(v, 1)", r"libdevice\.scalbn"), ("ld.j0(v)", r"libdevice\.j0"),
    ("v + tl.extra.cuda.num_warps()", r"tl\.extra\.cuda\.num_warps"),
    ("tl.map_elementwise(double, v)", "something that the compiler does"),
])  # fmt: skip
def test_what_only_a_gpu_can_do_is_said_with_its_line(server: Server, line: str, what: str) -> None:
    text = source(f"""
        def double(a):
            return a * 2

        def k(x, y, GPU: tl.constexpr):
            i = tl.arange(0, 4)
            v = tl.load(x + i)
            if GPU:
                v = {line}
            tl.store(y + i, v)
    """)
    specs = [kernel(text, "double"), kernel(text, "k", double={"kernel": 0},
                                           ld={"module": "triton.language.extra.libdevice"})]  # fmt: skip

    def run(gpu: bool) -> list:
        node = launch({"x": vector(0, 4), "y": vector(1, 4), "GPU": gpu}, number=1)
        return server.run(text, [node], f32(1, 2, 3, 4), f32(0, 0, 0, 0), kernels=specs)

    assert run(False)[1].tolist() == [1, 2, 3, 4], "what is not reached is not looked at"
    with pytest.raises(RuntimeError, match=f"^NotOnThisDevice: line 8 of the kernel k calls {what}"):
        run(True)


@pytest.mark.parametrize("grid, size, what", [
    (1, 1 << 15, "line 7 of the kernel k reduces or scans so large a tile"),
    (1 << 17, 1, f"runs the {1 << 17} programs of the kernel k"),
])  # fmt: skip
def test_a_kernel_that_the_interpreter_is_too_slow_for_is_told_from_one_that_hangs(
    server: Server, grid: int, size: int, what: str
) -> None:
    text = source("""
        def mix(a, b):
            if a > b:
                b = a
            return b

        def k(x, N: tl.constexpr, HANGS: tl.constexpr):
            v = tl.associative_scan(tl.load(x + tl.arange(0, N)), 0, mix)
            if HANGS:
                for i in range(10000):
                    v += tl.sum(v, axis=0) * 0
            tl.store(x + tl.arange(0, N), v)
    """)
    specs = [kernel(text, "mix"), kernel(text, "k", mix={"kernel": 0})]

    def run(grid: int, size: int, hangs: bool) -> list:
        node = launch({"x": vector(0, size), "N": size, "HANGS": hangs}, number=1, grid=[grid])
        return server.run(text, [node], np.ones(size, np.float32), kernels=specs, call_ms=20)

    with pytest.raises(RuntimeError, match=f"^NotOnThisDevice: .*{what}"):
        run(grid, size, False)
    run(1, 1, True)  # its deadline ends it


@pytest.mark.parametrize("body, right", [
    ("return a0 * b0, a1 * b0 + b1", (True, False)),  # associative, and not commutative
    ("return a0 + b0, a1 + b1", (True, True)),
    ("m = tl.maximum(a0, b0)\n            return m, a1 * tl.exp(a0 - m) + b1 * tl.exp(b0 - m)", (True, True)),
    ("if a0 > b0:\n                b0 = a0\n            return b0, a1 + b1", (True, True)),
    ("return a0 * 0.5 + b0, a1 + b1", (False, False)),
    ("return a0 - b0, a1 + b1", (False, False)),
    ("return b0, a1 + tl.exp(-b1)", (False, False)),
])  # fmt: skip
@pytest.mark.parametrize("shape, axis", [((8,), 0), ((4, 16), 1), ((16, 2, 2), 0)])
def test_scans_and_reductions_are_trees(
    server: Server, body: str, right: tuple[bool, bool], shape: tuple[int, ...], axis: int
) -> None:
    """Right is what is so from left to right, in every tree."""
    text = source(f"""
        def pair(a0, a1, b0, b1):
            {body}

        def k(x, y, s, t, N: tl.constexpr, M: tl.constexpr,
              SHAPE: tl.constexpr, AXIS: tl.constexpr):
            i, j = tl.arange(0, N), tl.arange(0, M)
            a, b = tl.reshape(tl.load(x + i), SHAPE), tl.reshape(tl.load(y + i), SHAPE)
            c, d = tl.associative_scan((a, b), AXIS, pair)
            tl.store(s + i, tl.reshape(c, (N,)))
            tl.store(s + N + i, tl.reshape(d, (N,)))
            c, d = tl.reduce((a, b), AXIS, pair, keep_dims=True)
            tl.store(t + j, tl.reshape(c, (M,)))
            tl.store(t + M + j, tl.reshape(d, (M,)))
    """)
    size, few = math.prod(shape), math.prod(shape) // shape[axis]
    specs = [kernel(text, "pair"), kernel(text, "k", pair={"kernel": 0})]
    args = {"x": vector(0, size), "y": vector(1, size), "s": vector(2, 2 * size), "t": vector(3, 2 * few),
            "N": size, "M": few,
            "SHAPE": {"tuple": list(shape)}, "AXIS": axis}  # fmt: skip
    x, y = (np.random.default_rng(i).uniform(0.5, 1.5, shape).astype(np.float32) for i in (1, 2))
    space: dict = {}
    plain = body.replace("tl.", "np.").replace("            ", "    ")
    exec(f"import numpy as np\ndef pair(a0, a1, b0, b1):\n    {plain}", space)
    rows = [np.moveaxis(v, axis, 0).reshape(shape[axis], -1) for v in (x, y)]
    scan = [[tuple(r[0, c] for r in rows)] for c in range(few)]
    for c, done in enumerate(scan):
        for n in range(1, shape[axis]):
            done.append(space["pair"](*done[-1], rows[0][n, c], rows[1][n, c]))
    found = [server.run(text, [launch(args, number=1)], x, y, np.zeros(2 * size, np.float32),
                        np.zeros(2 * few, np.float32), kernels=specs, seed=seed) for seed in range(6)]  # fmt: skip
    wanted = np.moveaxis(np.array(scan).transpose(2, 1, 0).reshape(2, shape[axis], *np.delete(shape, axis)), 1, axis + 1)
    scans, ends = wanted.reshape(2, -1), np.array(scan)[:, -1].T
    assert all(np.allclose(f[2].reshape(2, -1), scans, rtol=1e-4) for f in found) == right[0]
    assert all(np.allclose(f[3].reshape(2, -1), ends, rtol=1e-4) for f in found) == right[1]


def test_descriptors_from_the_host_and_in_a_kernel(server: Server) -> None:
    text = source("""
        def k(a, p):
            b = tl.make_tensor_descriptor(p, [8, 8], [8, 1], [8, 8])
            b.store([0, 0], a.load([4, 4]) + 1)
    """)
    view = [0, "float32", 0, [8, 8], [8, 1]]
    node = launch({"a": {"desc": [view, [8, 8], [8, 1], [8, 8], "zero", None, False]},
                   "p": vector(1, 64)})  # fmt: skip
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    _, y = server.run(text, [node], x, np.zeros((8, 8), np.float32))
    expected = np.ones((8, 8), np.float32)
    expected[:4, :4] += x[4:, 4:]
    assert (y == expected).all()


# ---- bounds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "tl.store(x + 4, 1.0)", "tl.store(x - 1, 1.0)", "v = tl.load(x + 4)", "v = tl.load(x - 1)",
        "tl.store(x + tl.arange(0, 8), 1.0)", "tl.atomic_add(x + 4, 1.0)",
        "tl.atomic_cas(x.to(tl.pointer_type(tl.int32)) + 4, 0, 1)",
        "tl.store((x + 3).to(tl.pointer_type(tl.float64)), 1.0)",
        "tl.store(x + 128, 1.0)", "v = tl.load(x + 128)", "tl.store(y - 128, 1.0)",
        "tl.store(tl.where(tl.arange(0, 8) < 4, x + tl.arange(0, 8), x + 128), 1.0)",
        "tl.store(x + (281474976710656 + 512) // 4, 1.0)",
        "tl.store(x + 1099511627776, 1.0)", "v = tl.load(x + 2305843009213693952)",
        "tl.store(tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,)), tl.zeros((8,), tl.float32))",
        "tl.make_tensor_descriptor(x, [8], [1], [8]).store([0], tl.zeros((8,), tl.float32))",
        "v = tl.make_tensor_descriptor(x, [8], [1], [8]).load([0])",
    ],
)  # fmt: skip
def test_every_access_lies_in_a_buffer(server: Server, line: str) -> None:
    """The second buffer is 512 bytes away: what lies between is nobody's, and from the first it
    is not reached."""
    text = f"def k(x, y):\n    {line}\n"
    node = launch({"x": vector(0, 4), "y": vector(1, 4)})
    with pytest.raises(RuntimeError, match="OutOfBounds"):
        server.run(text, [node], f32(1, 2, 3, 4), f32(1, 2, 3, 4))


@pytest.mark.parametrize("line", [
    "tl.store(y, (x.to(tl.int64) % 512).to(tl.float32))", "tl.store(y, tl.where(not x, 1.0, 2.0))",
    "tl.store(y, tl.load((x + tl.arange(0, 4)).to(tl.int64).to(tl.pointer_type(tl.float32))))",
    "tl.store(y.to(tl.pointer_type(tl.int64)), x)",
])  # fmt: skip
def test_where_a_tensor_lies_is_nothing_to_compute_with(server: Server, line: str) -> None:
    node = launch({"x": vector(0, 4), "y": vector(1, 4)})
    with pytest.raises(RuntimeError, match="Denied: line 2 of the kernel k makes an integer of a pointer"):
        server.run(f"def k(x, y):\n    {line}\n", [node], f32(0, 0, 0, 0), f32(0, 0, 0, 0))


def test_one_access_may_go_to_several_tensors(server: Server) -> None:
    text = source("""
        def k(x, y):
            i = tl.arange(0, 8)
            p = tl.where(i < 4, x + i, y + i - 4)
            tl.store(p, tl.load(p) * 2 + tl.atomic_add(p, 0.0))
    """)
    found = server.run(text, [launch({"x": vector(0, 4), "y": vector(1, 4)})], f32(1, 2, 3, 4), f32(5, 6, 7, 8))
    assert [f.tolist() for f in found] == [[3, 6, 9, 12], [15, 18, 21, 24]]


def test_masked_accesses_may_point_anywhere(server: Server) -> None:
    text = "def k(x):\n    i = tl.arange(0, 8)\n    tl.store(x + i * 1000, 1.0, mask=i < 1)\n"
    assert server.run(text, [launch({"x": vector(0, 4)})], f32(0, 0, 0, 0))[0][0] == 1


# ---- the compiler's meaning ----------------------------------------------------------


def meaning(server: Server, expression: str, **args: object) -> float:
    """What a kernel stores that has these arguments."""
    names = "".join(f", {name}" for name in args)
    text = f"def k(y{names}):\n" + "".join(f"    {line}\n" for line in expression.split("\n"))
    node = launch({"y": vector(0, 4), **args})
    return server.run(text, [node], np.zeros(4, np.float32))[0][0].item()


def test_a_number_of_1_is_a_constant_and_others_are_not(server: Server) -> None:
    """Constants divide as Python does, numbers at run time as C does."""
    assert meaning(server, "tl.store(y, n // -2)", n=1) == -1
    assert meaning(server, "tl.store(y, n // -2)", n=3) == -1
    assert meaning(server, "a = n\ntl.store(y, a // -2)", n=1) == 0


def test_integers_wrap_as_their_type_does(server: Server) -> None:
    assert meaning(server, "tl.store(y, (n + n) < 0)", n=2**30) == 1
    assert meaning(server, "tl.store(y, (n + n) < 0)", n=2**40) == 0
    assert meaning(server, "for i in range(2147483646, n):\n    tl.store(y, (i + 2) < 0)", n=2**31 - 1) == 1


def test_floats_are_fp32_tensors(server: Server) -> None:
    assert meaning(server, "tl.store(y, s.dtype == tl.float32)", s=0.1) == 1
    assert meaning(server, "h = tl.full((), 1, tl.float16) * s\ntl.store(y, h.dtype == tl.float32)", s=1.0) == 1
    assert meaning(server, "tl.store(y, isinstance(s, float))", s=1.0) == 0
    assert meaning(server, "tl.store(y, isinstance(n, tl.tensor))", n=1) == 0


def test_loop_variables_are_numbers_at_run_time_unless_static(server: Server) -> None:
    loop = "for i in {}(2, 4):\n    tl.store(y, isinstance(i, tl.tensor))"
    assert meaning(server, loop.format("range")) == 1
    assert meaning(server, loop.format("tl.range")) == 1
    assert meaning(server, loop.format("tl.static_range")) == 0


def test_conditions_work_on_numbers_at_run_time(server: Server) -> None:
    assert meaning(server, "if n > 2 and n < 9:\n    tl.store(y, 1)", n=5) == 1
    assert meaning(server, "if n > 2 and n < 4:\n    tl.store(y, 1)", n=5) == 0
    assert meaning(server, "tl.store(y, 3 if not (n == 5 or n == 6) else 4)", n=5) == 4
    assert meaning(server, "while n > 10:\n    n = n // 2\ntl.store(y, n)", n=100) == 6
    assert meaning(server, "tl.store(y, max(min(n, 3), 2))", n=5) == 3
    assert meaning(server, "k2 = 0\nfor i in range(n):\n    k2 += i\ntl.store(y, k2)", n=5) == 10


@pytest.mark.parametrize(
    "line",
    [
        "v = (1, 2, 3)[n]", "v = int(n)", "v = float(n)", "tl.arange(0, n)", "v = TEXT % n",
        "v = tl.zeros([n], tl.float32)", "for i in tl.static_range(n):\n    pass",
        "if tl.arange(0, 4) > n:\n    tl.store(y, 1)", "v = tl.load(y + tl.arange(0, 4))[n]",
        "v = 'abc'[n]", "v = tl.full((4,), 1.0, tl.float32).reshape(n)",
    ],
)  # fmt: skip
def test_data_does_not_become_python(server: Server, line: str) -> None:
    """A tensor is no index, no size, no text and no truth outside if, while and range."""
    text = "def k(y, n):\n" + "".join(f"    {part}\n" for part in line.split("\n"))
    spec = kernel(text, TEXT={"value": "%s %d"})
    with pytest.raises(RuntimeError):
        server.run(text, [launch({"y": vector(0, 4), "n": 4})], f32(0, 0, 0, 0), kernels=[spec])


def test_a_kernel_does_not_launch_kernels(server: Server) -> None:
    text = "def k(x, f: tl.constexpr):\n    f[(1,)](x)\n\ndef inner(x):\n    tl.store(x, 1)\n"
    node = launch({"x": vector(0, 4), "f": {"kernel": 1}})
    with pytest.raises(RuntimeError, match="launches a kernel"):
        server.run(text, [node], f32(0, 0, 0, 0), kernels=[kernel(text), kernel(text, "inner")])


def test_a_kernel_outside_the_language_is_refused_before_it_runs(server: Server) -> None:
    text = "def k(x):\n    tl.store(x, x.handle.data)\n"
    with pytest.raises(RuntimeError, match="Denied: line 2"):
        server.run(text, [launch({"x": vector(0, 4)})], f32(0, 0, 0, 0))


def test_an_error_is_shown_with_the_kernels_line(server: Server) -> None:
    text = "def k(x):\n\n    tl.store(x, tl.zeros((3,), tl.float32))\n"
    with pytest.raises(RuntimeError, match="power of 2"):
        server.run(text, [launch({"x": vector(0, 4)})], f32(0, 0, 0, 0))


def test_bfloat16_rounds_to_nearest(server: Server) -> None:
    text = "def k(x, y):\n    tl.store(y, tl.load(x).to(tl.bfloat16).to(tl.float32))\n"
    node = launch({"x": vector(0, 1), "y": vector(1, 1)})
    _, y = server.run(text, [node], f32(1.00390625 + 2**-10), f32(0))
    assert y[0] == np.float32(1.0078125)
