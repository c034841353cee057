"""Every pack's adapter.py offers what docs/PACKS.md says, and none makes a CUDA context
in the process that is forked."""
from __future__ import annotations

import functools
import json
import os
import shutil
from pathlib import Path

import forked
import pack_packages
import pytest

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = sorted(p.parent.name for p in (ROOT / "packs").glob("*/adapter.py"))
ALL = ["prepare", "child", "version", "is_compile_error"]
RECORDED = ["claims", "install", "compile"]  # of packs that have a recorder


def described(pack: str) -> dict:
    return json.loads((ROOT / "packs" / pack / "pack.json").read_text())


def run(pack: str, code: str, **environment: str) -> dict:
    """What `code` leaves in `result`, in a process of its own: as zygote.py does it."""
    folder = ROOT / "packs" / pack
    begin = f"import sys, torch, zygote\nadapter = zygote.load_adapter({str(folder)!r})\n"
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
    if pack in pack_packages.MODULES and pack_packages.missing(pack):
        pytest.skip(pack_packages.missing(pack))


@pytest.mark.parametrize("pack", ADAPTERS)
def test_an_adapter_offers_the_whole_interface(pack: str) -> None:
    needs(pack)
    whole = described(pack)
    functions = ALL + (RECORDED if whole["run"].get("family") else [])
    if whole["run"].get("family") == "triton" and "cpu" in whole["run"]["devices"]:
        functions = [*functions, "interpreter"]
    answer = run(
        pack,
        f"missing = [f for f in {functions} if not callable(getattr(adapter, f, None))]\n"
        "result = dict(missing=missing, mistake=adapter.is_compile_error(ValueError('no')))\n"
        "result['claims'] = adapter.claims() if hasattr(adapter, 'claims') else None\n",
    )
    assert answer["missing"] == [] and answer["mistake"] is False
    assert answer["claims"] in ("cpu", "cuda:0", None)


def test_a_pack_with_a_language_of_its_own_needs_a_translator() -> None:
    """`missing` is what a zygote asks before it serves."""
    answer = run(
        "c-cpu",
        "from shared import adapter as interface\n"
        "languages = ('cxx-in-python', 'own-in-python')\n"
        "result = [interface.missing(adapter, 'record', name) for name in languages]\n",
    )
    assert answer == [[], ["translate"]]


@functools.cache
def prepared(pack: str) -> dict:
    """A process that has prepared to record, and what it did meanwhile."""
    return run(
        pack,
        "import threading\n"
        "used = []\n"
        "torch.cuda._lazy_init = lambda: used.append('context')\n"
        "torch.cuda.get_device_capability = lambda *_: used.append('capability')\n"
        "adapter.prepare('record')\n"
        "result = dict(used=used, threads=threading.active_count(), version=adapter.version(),\n"
        "            identity=adapter.identity())\n",
    )


@pytest.mark.parametrize("pack", ADAPTERS)
def test_preparing_makes_no_cuda_context_and_leaves_no_thread(pack: str) -> None:
    """A context, or a thread, would not survive the fork."""
    needs(pack)
    answer = prepared(pack)
    assert answer["used"] == [] and answer["threads"] == 1
    assert any(c.isdigit() for c in answer["version"])


@pytest.mark.parametrize("pack", ADAPTERS)
def test_what_binaries_depend_on_is_told_and_stays_the_same(pack: str) -> None:
    needs(pack)
    again = run(pack, "adapter.prepare('record')\nresult = adapter.identity()\n")
    assert again == prepared(pack)["identity"] and len(again) > 8


TEXTS = {
    "c-cpu": ("void f(float *x) { x[0] = 1; }\n", "calls", [["f", "p"]], "void f(float *x) { x[0] = ; }\n"),
    "cuda": ("__global__ void f(float *x) { x[0] = 1; }\n", "launches", [["f", "P"]],
             "__global__ void f(float *x) { x[0] = ; }\n"),
}  # fmt: skip


@pytest.mark.parametrize("pack", TEXTS)
def test_a_text_is_compiled_and_the_toolchains_errors_are_known(pack: str) -> None:
    needs(pack)
    good, function, asked, bad = TEXTS[pack]
    answer = run(
        pack,
        "from shared import native\ndef ask(text):\n"
        f"    asked = native.{function}(text, {asked!r}, target='sm_90')\n"
        "    return adapter.compile(asked)\n"
        f"result = dict(size=len(ask({good!r})))\n"
        f"try:\n    ask({bad!r})\n"
        "except Exception as problem:\n    result['build'] = adapter.is_compile_error(problem)\n",
    )
    assert answer["size"] > 500 and answer["build"] is True


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
    answer = run(
        "gluon",
        "import triton\nfrom shared import loading, triton_common\n"
        "from triton.experimental.gluon._runtime import GluonASTSource\n"
        f"odd = loading.load_module(open({str(path)!r}).read(), {str(path)!r}).odd\n"
        "source = GluonASTSource(odd, {'p': '*i32', 'B': 'constexpr'}, {'B': 128})\n"
        f"result, options = {{}}, {{'num_warps': {warps}}}\n"
        "try:\n    triton.compile(source, target=triton_common.gpu_target('sm_90a'), options=options)\n"
        "except Exception as problem:\n"
        "    result['compile'] = adapter.is_compile_error(problem)\n"
        "    result['text'] = f'{type(problem).__name__} {problem}'\n",
        TRITON_CACHE_DIR=str(tmp_path),
    )
    assert answer["compile"] is True and kind in answer["text"]


def test_a_box_shows_the_folders_an_adapter_names(tmp_path: Path) -> None:
    """What a compiler reads from outside the system's folders."""
    headers = tmp_path / "headers"
    headers.mkdir()
    answer = run(
        "c-cpu",
        "from argparse import Namespace\n"
        "o = Namespace(box='full', uid=61000, pack=sys.path[0], home='/', device='cpu', mode='record')\n"
        f"o.folders = [{str(headers)!r}]\n"
        "result = dict(policy=zygote.policy_text(o, '/root-of-box', False))\n",
    )
    assert f"ro {headers.resolve()}" in answer["policy"].splitlines()


def test_a_zygote_prepares_recorders_without_the_compilers_of_torch() -> None:
    code = """
adapter.prepare("record")
from recorder import recorder
recorder.warm()
result = [name for name in ("torch._dynamo", "torch.distributed.tensor") if name in sys.modules]
"""
    assert run("c-cpu", code) == []
