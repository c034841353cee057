"""Recording launches of the Triton family: what a candidate launches arrives as nodes, with
arguments as plain values. The recorder here writes down launches over real tensors."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import forked
import pytest
from launching import source

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))
pytest.importorskip("triton")

from shared import kernel_language  # noqa: E402

PRELUDE = f"""
import sys, linecache, types
import torch
from recorder import triton_record
sys.path.append({str(Path(__file__).parent)!r})
import launching

recorder = launching.Launches()
held = sys.held = [recorder]
triton_record.install_triton(lambda: held[0])
text = TEXT
linecache.cache["candidate.py"] = (len(text), None, text.splitlines(True), "candidate.py")
module = types.ModuleType("candidate")
sys.modules["candidate"] = module
exec(compile(text, "candidate.py", "exec"), module.__dict__)
"""

HEAD = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, s, B: tl.constexpr, MODE: tl.constexpr = "plain"):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)

x, y = torch.zeros(100), torch.zeros(100)
"""


def recorded(text: str) -> dict:
    """Kernels and nodes that a file launches when it is loaded."""
    whole = HEAD + source(text)
    code = PRELUDE.replace("TEXT", repr(whole))
    code += "result = {'kernels': recorder.kernels, 'nodes': recorder.nodes}\n"
    return forked.run(ROOT / "packs" / "triton", code)


def error(text: str) -> str:
    code = PRELUDE.replace("TEXT", repr(HEAD + source(text)))
    before, last = code.rsplit("exec(compile", 1)
    code = before + "try:\n    exec(compile" + last
    code += "    result = ''\nexcept Exception as e:\n    result = type(e).__name__ + ': ' + str(e)\n"
    return forked.run(ROOT / "packs" / "triton", code)


def test_a_launch_is_a_node_with_all_its_arguments() -> None:
    call = recorded("scale[(4,)](x, y[2:], 100, s=0.5, B=32, num_warps=8)")
    (node,) = call["nodes"]
    assert node["grid"] == [4] and node["options"] == {"num_warps": 8}
    assert node["args"] == {
        "x": {"t": [0, "float32", 0, [100], [1]]}, "y": {"t": [1, "float32", 2, [98], [1]]}, "n": 100,
        "s": 0.5, "B": 32, "MODE": "plain",
    }  # fmt: skip
    (kernel,) = call["kernels"]
    assert kernel["name"] == "scale" and kernel["bind"] == {"tl": {"module": "triton.language"}}
    tree = kernel_language.parse_source(HEAD)
    assert kernel_language.extract(tree, kernel).name == "scale"


def test_what_the_zygote_prepares_does_not_get_in_the_way() -> None:
    text = HEAD + "scale[(4,)](x, y, 100, s=0.5, B=32)\n"
    code = "import adapter\nadapter.prepare('record')\n" + PRELUDE.replace("TEXT", repr(text))
    assert forked.run(ROOT / "packs" / "triton", code + "result = len(recorder.nodes)\n") == 1


def test_grids_may_be_functions_of_the_arguments_and_their_defaults() -> None:
    call = recorded("scale[lambda a: (triton.cdiv(a['n'], a['B']), len(a['MODE']))](x, y, 100, 2.0, 32)")
    assert call["nodes"][0]["grid"] == [4, 5]


def test_values_of_many_kinds_become_plain() -> None:
    call = recorded("""
        import enum, numpy as np, math
        class Mode(enum.IntEnum):
            FAST = 3
        @triton.jit
        def act(v):
            return v
        @triton.jit
        def many(a, b, c, d, e, f, g, h: tl.constexpr, i: tl.constexpr, j: tl.constexpr):
            pass
        many[(1,)](np.float32(0.5), Mode.FAST, math.inf, (x, (1, None)), True, tl.constexpr(7),
                   triton.reinterpret(x, tl.float8e5), act, tl.float16, torch.Size((2, 3)))
    """)
    args = call["nodes"][0]["args"]
    view = [0, "float32", 0, [100], [1]]
    assert args == {
        "a": 0.5, "b": 3, "c": {"float": "inf"}, "d": {"tuple": [{"t": view}, {"tuple": [1, None]}]},
        "e": True, "f": 7, "g": {"reinterpret": [view, "fp8e5"]}, "h": {"kernel": 1},
        "i": {"dtype": "fp16"}, "j": {"tuple": [2, 3]},
    }  # fmt: skip


def test_descriptors_made_on_the_host_are_told_in_full() -> None:
    call = recorded("""
        from triton.tools.tensor_descriptor import TensorDescriptor
        @triton.jit
        def k(d):
            pass
        k[(1,)](TensorDescriptor.from_tensor(torch.zeros(16, 32), [8, 16]))
    """)
    view = [0, "float32", 0, [16, 32], [32, 1]]
    assert call["nodes"][0]["args"]["d"] == {
        "desc": [view, [16, 32], [32, 1], [8, 16], "zero", None, False]
    }


def test_names_from_module_and_closure_are_told_by_value() -> None:
    call = recorded("""
        from triton.language.extra import libdevice
        from triton.language import exp as e
        EPS = tl.constexpr(1e-5)
        PLAIN = 3
        SHAPE = (1, 2)
        KIND = tl.float16
        class Evil:
            pass
        OTHER = Evil()
        def make(factor, f):
            @triton.jit
            def made(x):
                tl.store(x, e(f(EPS + factor)) + PLAIN + SHAPE[0] + libdevice.tanh(OTHER).to(KIND))
            return made
        @triton.jit
        def half(v, by=EPS, kind: tl.constexpr = tl.float32):
            return v / 2
        make(tl.constexpr(4), half)[(1,)](x)
    """)
    half, made = call["kernels"]
    assert half["defaults"] == {"by": {"constexpr": {"value": 1e-5}}, "kind": {"dtype": "fp32"}}
    assert made["bind"] == {
        "tl": {"module": "triton.language"}, "e": {"from": ["triton.language", "exp"]},
        "f": {"kernel": 0}, "EPS": {"constexpr": {"value": 1e-5}}, "PLAIN": {"value": 3},
        "factor": {"constexpr": {"value": 4}}, "SHAPE": {"tuple": [{"value": 1}, {"value": 2}]},
        "libdevice": {"module": "triton.language.extra.libdevice"}, "OTHER": {"unknown": "Evil"},
        "KIND": {"dtype": "fp16"},
    }  # fmt: skip


TUNED = """
    hooks = []
    def prune(configs, named, **kwargs):
        return [c for c in configs if c.kwargs["B"] != 128]
    @triton.autotune(
        configs=[triton.Config({{"B": b}}, num_warps=w, pre_hook=lambda a: hooks.append(a["B"]))
                 for b, w in ((32, 2), (64, 4), (128, 8))],
        key=["n"], prune_configs_by={{"early_config_prune": prune}}, {more})
    @triton.heuristics({{"EVEN": lambda a: a["n"] % a["B"] == 0}})
    @triton.jit
    def tuned(x, n, B: tl.constexpr, EVEN: tl.constexpr):
        pass
"""


def test_an_autotuner_tells_every_configuration_with_its_grid() -> None:
    call = recorded(TUNED.format(more="") + """
    tuned[lambda a: (triton.cdiv(a["n"], a["B"]),)](x, 96)
    x.hooks = hooks
    """)
    (node,) = call["nodes"]
    assert [(t["args"]["B"], t["args"]["EVEN"], t["grid"], t["options"]["num_warps"])
            for t in node["tuned"]] == [(32, True, [3], 2), (64, False, [2], 4)]  # fmt: skip
    assert node["args"] == node["tuned"][0]["args"] and node["grid"] == [3]


def test_hooks_of_an_autotuner_run_as_in_triton() -> None:
    """reset_to_zero while it tunes, which is once for a key; a configuration's own hook
    before every launch, the chosen one's last."""
    text = TUNED.format(more='reset_to_zero=["x"]') + """
    x.fill_(1)
    tuned[(1,)](x, 96)
    assert x.sum() == 0 and hooks[-1] == 32, hooks
    x.fill_(1)
    tuned[(1,)](x, 96)
    assert x.sum() == 100
    """
    assert len(recorded(text)["nodes"]) == 2


def test_many_configurations_are_cut() -> None:
    call = recorded("""
        @triton.autotune(configs=[triton.Config({"B": b}) for b in range(100)], key=[])
        @triton.jit
        def tuned(x, B: tl.constexpr):
            pass
        tuned[(1,)](x)
    """)
    (node,) = call["nodes"]
    assert len(node["tuned"]) == 16 and node["left_out"] == 84


def test_a_gpu_can_be_asked_about_and_kernels_can_be_warmed_up() -> None:
    call = recorded("""
        driver = triton.runtime.driver.active
        props = driver.utils.get_device_properties(driver.get_current_device())
        assert props["multiprocessor_count"] == 132 and driver.get_current_target().backend == "cuda"
        kernel = scale.warmup(x, y, 100, 0.5, B=32, num_warps=2, grid=(1,))
        kernel._init_handles()
        assert 65536 // kernel.n_regs and kernel.metadata.shared
        kernel[(3, 1, 1)](x, y, 100, 0.5)
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size))
    """)
    (node,) = call["nodes"]
    assert node["grid"] == [3, 1, 1] and node["args"]["B"] == 32 and node["options"]["num_warps"] == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("scale[(0,)](x, y, 1, 1.0, 32)", "Refused: grid-empty"),
        ("scale[5](x, y, 1, 1.0, 32)", "TypeError: the grid of scale"),
        ("scale[(1,)](x, y, 1, 1.0)", "TypeError: scale() missing a required argument: 'B'"),
        ("scale[(1,)](x, y, 1, 1.0, 32, x=x)", "multiple values"),
        ("scale[(1,)](x, y, 1, 1.0, 32, nums_warp=4)", "nums_warp was specified but unrecognised"),
        ("scale[(1,)](x, y, 1, 1.0, 32, extern_libs={'a': '/b'})", "unrecognised"),
        ("scale[(1,)](object(), y, 1, 1.0, 32)", "Refused: argument"),
        ("import sys\nsys.held[0] = None\nscale[(1,)](x, y, 1, 1.0, 32)",
         "LaunchedElsewhere: the kernel scale is launched outside forward"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_says_why(call: str, said: str) -> None:
    assert said in error(call)


def test_arguments_survive_json() -> None:
    call = recorded("scale[(1,)](x, y, 2**62, float('nan'), B=1)")
    assert json.loads(json.dumps(call, allow_nan=False))["nodes"][0]["args"]["s"] == {"float": "nan"}
