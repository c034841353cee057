"""Every pack's adapter.py offers what docs/PACKS.md says, and none makes a CUDA context
in the process that is forked."""
from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = sorted(p.parent.name for p in (ROOT / "packs").glob("*/adapter.py"))
FUNCTIONS = "prepare child version watched reset launches mute is_compile_error describe".split()


def run(pack: str, mode: str, code: str, **environment: str) -> dict:
    """What `code` leaves in `told`, in a process of its own: as zygote.py does it, up to
    the first launch."""
    folder = ROOT / "packs" / pack
    begin = (
        "import sys, torch, zygote\n"
        f"adapter, mode = zygote.load_adapter({str(folder)!r}), {mode!r}\n"
    )
    return forked.run(folder, begin + code, **environment)


def needs(pack: str) -> None:
    if pack in ("cuda", "thunderkittens") and not (
        shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)
    ):
        pytest.skip("there is no nvcc")
    if pack == "thunderkittens" and not os.environ.get("THUNDERKITTENS_ROOT"):
        pytest.skip("THUNDERKITTENS_ROOT names no checkout of ThunderKittens")
    if pack in ("triton", "gluon"):
        pytest.importorskip("triton")


def mode_of(pack: str) -> str:
    devices = json.loads((ROOT / "packs" / pack / "pack.json").read_text())["run"]["devices"]
    return "cuda:0" if devices == ["cuda"] else "cpu"


@pytest.mark.parametrize("pack", ADAPTERS)
def test_an_adapter_offers_the_whole_interface(pack: str) -> None:
    needs(pack)
    told = run(
        pack,
        mode_of(pack),
        f"missing = [f for f in {FUNCTIONS} if not callable(getattr(adapter, f, None))]\n"
        "told = dict(missing=missing)\n"
        "told['launches'] = adapter.launches()\n"
        "told['described'] = adapter.describe()\n"
        "told['mistake'] = adapter.is_compile_error(ValueError('no'))\n"
        "told['watched'] = [type(m).__name__ for m in adapter.watched()]\n",
    )
    assert told["missing"] == [] and told["launches"] == [] and told["described"] == []
    assert told["mistake"] is False
    assert set(told["watched"]) <= {"module", "type"}


@pytest.mark.parametrize("pack", [p for p in ADAPTERS if p != "c-cpu"])
def test_preparing_makes_no_cuda_context_and_leaves_no_thread(pack: str) -> None:
    needs(pack)
    told = run(
        pack,
        "cuda:0",
        "import threading\n"
        "used = []\n"
        "torch.cuda._lazy_init = lambda: used.append('context')\n"
        "torch.cuda.get_device_capability = lambda *_: used.append('capability')\n"
        "adapter.prepare(mode)\n"
        "told = dict(used=used, threads=threading.active_count(), version=adapter.version())\n",
    )
    assert told["used"] == [] and told["threads"] == 1
    assert any(c.isdigit() for c in told["version"])


def test_the_cuda_adapter_tells_launches_and_build_errors(tmp_path: Path) -> None:
    needs("cuda")
    told = run(
        "cuda",
        "cuda:0",
        "adapter.child(mode)\n"
        "from cuda_build import build\n"
        "lib = build('extern \"C\" int launch_one(int n) { return 0; }')\n"
        "try:\n    lib.launch_one(1)\nexcept RuntimeError:\n    pass\n"
        "told = dict(first=adapter.launches())\n"
        "adapter.reset()\n"
        "told['then'] = adapter.launches()\n"
        "try:\n    build('extern \"C\" int f(')\n"
        "except Exception as problem:\n    told['build'] = adapter.is_compile_error(problem)\n",
        MONKEYS_CUDA_CACHE=str(tmp_path),
    )
    assert told == {"first": ["launch_one"], "then": [], "build": True}


GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
@gluon.jit
def odd(p, B: gl.constexpr):
    i = gl.arange(0, B, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(p + i, {what})
"""


@pytest.mark.parametrize(
    "what, warps, kind", [("no_such_name", 4, "NameError"), ("i", 8, "RuntimeError")]
)
def test_the_gluon_adapter_knows_the_compilers_errors(
    what: str, warps: int, kind: str, tmp_path: Path
) -> None:
    """Also those that are no CompilationError: a layout for other warps, say."""
    needs("gluon")
    path = tmp_path / "odd.py"
    path.write_text(GLUON.format(what=what))
    told = run(
        "gluon",
        "cuda:0",
        "import triton, triton_common\n"
        "from triton.experimental.gluon._runtime import GluonASTSource\n"
        f"odd = triton_common.import_file({str(path)!r}, 'odd').odd\n"
        "source = GluonASTSource(odd, {'p': '*i32', 'B': 'constexpr'}, {'B': 128})\n"
        f"told, options = {{}}, {{'num_warps': {warps}}}\n"
        "try:\n    triton.compile(source, target=triton_common.target('sm_90a'), options=options)\n"
        "except Exception as problem:\n"
        "    told['compile'] = adapter.is_compile_error(problem)\n"
        "    told['text'] = f'{type(problem).__name__} {problem}'\n",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert told["compile"] is True and kind in told["text"]


def test_the_hook_of_triton_tells_a_launch_by_name() -> None:
    needs("gluon")
    told = run(
        "gluon",
        "cuda:0",
        "import triton\n"
        "from triton.compiler.compiler import LazyDict\n"
        "adapter.child(mode)\n"
        "triton.knobs.runtime.launch_enter_hook(LazyDict({'name': 'some_kernel'}))\n"
        "told = dict(launches=adapter.launches())\n"
        "adapter.reset()\n"
        "told['then'] = adapter.launches()\n",
    )
    assert told == {"launches": ["some_kernel"], "then": []}


def test_a_box_shows_the_folders_an_adapter_names(tmp_path: Path) -> None:
    """What a helper reads from outside the system's folders."""
    headers = tmp_path / "headers"
    headers.mkdir()
    told = run(
        "c-cpu",
        "cpu",
        "from argparse import Namespace\n"
        "o = Namespace(box='full', uid=61000, pack=sys.path[0], home='/', device='cpu')\n"
        f"o.folders = [{str(headers)!r}]\n"
        "told = dict(plan=zygote.plan_text(o, '/root-of-box', False))\n",
    )
    assert f"ro {headers.resolve()}" in told["plan"].splitlines()
