"""The packs whose kernels nvcc compiles: their good examples are recorded and compiled,
their hints answer what is really said, and their probes tell the truth."""
from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKS = ROOT / "packs"
sys.path[:0] = [str(ROOT / "worker"), str(PACKS / "cuda"), str(PACKS / "thunderkittens")]

import cuda_build  # noqa: E402
import tk_build  # noqa: E402
from compiler import hosted_compiler, native_compiler  # noqa: E402
from recorder import native_record  # noqa: E402
from shared import native, native_cuda  # noqa: E402
from shared.native_source import Parameter  # noqa: E402

BOTH = ("cuda", "thunderkittens")


def read(pack: str, *names: str) -> dict:
    return json.loads(Path(PACKS, pack, *names).read_text())


def source_of(path: Path) -> str:
    """The C++ text of an example: the last string that is built from literals."""
    space: dict[str, object] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
            exec(compile(ast.Module([node], []), str(path), "exec"), space)
    return [v for k, v in space.items() if k.endswith("SOURCE") and isinstance(v, str)][-1]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of ThunderKittens whose headers are empty."""
    for header in ("include/kittens.cuh", "prototype/prototype.cuh"):
        (tmp_path / "root" / header).parent.mkdir(parents=True)
        (tmp_path / "root" / header).touch()
    monkeypatch.setenv(tk_build.ROOT_VARIABLE, str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def compiler() -> None:
    try:
        native_cuda.nvcc()
    except native.ToolchainError as error:
        pytest.skip(f"nothing can be compiled: {error}")


@pytest.fixture
def headers() -> None:
    if not os.environ.get(tk_build.ROOT_VARIABLE):
        pytest.skip(f"{tk_build.ROOT_VARIABLE} names no checkout of ThunderKittens")


# ---- rules and hints ------------------------------------------------------------


@pytest.mark.parametrize("pack", BOTH)
def test_every_hint_has_a_message_and_is_the_first_to_match_it(pack: str) -> None:
    hints, expect = read(pack, "errors.json")["hints"], read(pack, "selftest", "expect.json")
    seen = set()
    for name, wanted in expect["errors"].items():
        text = (PACKS / pack / "selftest" / "errors" / name).read_text()
        stage = next(h["stage"] for h in hints if h["id"] == wanted)
        first = next(
            h["id"]
            for h in hints
            if h["stage"] == stage and re.search(h["pcre"], text, re.MULTILINE)
        )
        assert (name, first) == (name, wanted)
        seen.add(first)
    assert seen == {h["id"] for h in hints}


@pytest.mark.parametrize("pack", BOTH)
def test_the_helper_gives_up_before_the_pack_does(
    pack: str, checkout: Path, compiler: None
) -> None:
    toolchain = cuda_build.toolchain("sm_90") if pack == "cuda" else tk_build.toolchain()
    assert toolchain.timeout_s < read(pack, "pack.json")["build"]["timeout_s"]


# ---- the helpers ----------------------------------------------------------------

GOOD = sorted(p.name for p in (PACKS / "cuda" / "selftest" / "good").glob("*.py"))


def launches(lib: native_record.Library, code: Callable[[Parameter], str]) -> list[list[str]]:
    """Every function that Python can reach, as a compiler is asked for it."""
    for name in dir(lib):
        getattr(lib, name)  # which raises where it cannot be called
    found = lib._functions.items()
    return [[name, "".join(map(code, function.parameters))] for name, function in found]


def built(source: str, lib: native_record.Library, toolchain: native.Toolchain) -> bytes:
    asked = launches(lib, native_record._code)
    return native_compiler.compile_cubins(native.launches(source, asked), toolchain)


def expanded(source: str, *calls: tuple) -> list[dict]:
    """What calls of ThunderKittens' functions launch: each a name and its words."""
    lib = tk_build.build(source)
    asked = [
        {"text": 0, "function": name, "tuned": False, "args": [placed(arg) for arg in args]}
        for name, *args in calls
    ]
    data = hosted_compiler.expand_launches({"texts": [source], "launches": asked}, tk_build.toolchain())
    return json.loads(data.partition(b"\n")[0])["launches"]


def placed(word: list | int) -> dict | int | None:
    """An argument as a compiler gets it: a buffer and bytes from its start, or a word."""
    if not isinstance(word, list):
        return word
    tensor = native.tensor(0)
    tensor["t"][-3:] = [*word, 1 << 20]
    return tensor


def kind(parameter: Parameter) -> str:
    if parameter.pointer or parameter.filled_in or parameter.type is None:
        return "p"
    return {"float": "d", "bool": "b"}.get(parameter.type.kind, "i")


@pytest.mark.parametrize("name", GOOD)
def test_good_selftests_of_cuda_compile(name: str, compiler: None) -> None:
    source = source_of(PACKS / "cuda" / "selftest" / "good" / name)
    lib = cuda_build.build(source)
    assert b"\x7fELF" in built(source, lib, cuda_build.toolchain("sm_90"))


@pytest.mark.parametrize("missing", ["", "include/kittens.cuh", "prototype/prototype.cuh"])
def test_missing_thunderkittens_headers_are_the_machines_fault(
    missing: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing:
        (checkout / missing).unlink()
        words = f"no {missing}"
    else:
        monkeypatch.delenv(tk_build.ROOT_VARIABLE)
        words = "does not name"
    with pytest.raises(native.ToolchainError) as caught:
        tk_build.build("")
    assert words in str(caught.value) and "THUNDERKITTENS_ROOT" in str(caught.value)


def test_host_functions_are_called_by_words(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, compiler: None
) -> None:
    """Headers of our own, to see what the helper does with them."""
    (checkout / "include" / "kittens.cuh").write_text(
        "#pragma once\n#include <iostream>\n#include <cuda_bf16.h>\n"
        "#ifndef KITTENS_HOPPER\n#error no\n#endif\n"
        "namespace kittens { using bf16 = __nv_bfloat16;\n"
        "static_assert((char)-1 < 0); template <class T> concept any = true; }\n"
    )
    source = (
        '#include "kittens.cuh"\nusing namespace kittens;\n'
        "__global__ void k(bf16 *x, float y, bool s) { x[0] = __float2bfloat16(y + s); }\n"
        'extern "C" void launch(bf16 *x, float *y, float a, bool b, int c, cudaStream_t s)\n'
        "{ k<<<b ? -c : 1, 1>>>(x, a * c, s == nullptr && y == nullptr); }\n"
        'extern "C" cudaError_t fails(int code) { return (cudaError_t)code; }\n'
    )
    build = hosted_compiler._build_program
    once = functools.cache(lambda text, names: build(text, json.loads(names), tk_build.toolchain()))
    monkeypatch.setattr(hosted_compiler, "_build_program", lambda text, names, _: once(text, json.dumps(names)))
    words = ("launch", [0, 64], None, 2.0, True, -3, None)
    [answer, _] = expanded(source, words, ("fails", 0))
    [node] = answer["nodes"]
    assert node["grid"] == [3, 1, 1]
    assert node["params"] == [["s", "00" * 8, [[0, ["p", 0, 0]]]], ["s", "0000c0c0", []],
                              ["s", "01", []]]  # fmt: skip
    [answer] = expanded(source, ("fails", 1))
    assert answer == {"error": "A kernel cannot be launched: fails: cudaErrorInvalidValue (1): invalid argument"}


@pytest.mark.parametrize(
    "words, code",
    [
        ("undefined reference to `cublasCreate'", "int cublasCreate(); int f() "
         "{ return cublasCreate(); }"),
        ("#include of /.*/finished.h is not", '#include "FOLDER/finished.h"'),
    ],
)  # fmt: skip
def test_finished_code_is_refused_in_host_code(
    words: str, code: str, checkout: Path, tmp_path: Path, compiler: None
) -> None:
    (tmp_path / "finished.h").touch()
    source = 'extern "C" { ' + code.replace("FOLDER", str(tmp_path)) + ' }\nextern "C" void g() { }'
    if code.startswith("#"):
        source = code.replace("FOLDER", str(tmp_path)) + '\nextern "C" void g() { }'
    with pytest.raises(native.BuildError, match=words):
        expanded(source, ("g",))


TK_GOOD = sorted(p.name for p in (PACKS / "thunderkittens" / "selftest" / "good").glob("*.py"))


@pytest.mark.parametrize("name", TK_GOOD)
def test_good_selftests_of_thunderkittens_build(name: str, compiler: None, headers: None) -> None:
    source = source_of(PACKS / "thunderkittens" / "selftest" / "good" / name)
    lib = tk_build.build(source)
    data = hosted_compiler.expand_launches(native.calls(source, launches(lib, kind)), tk_build.toolchain())
    assert b"\x7fELF" in data


# ---- probes ---------------------------------------------------------------------


def probe(pack: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "probe.py"],
        cwd=PACKS / pack,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_cuda_probe_says_what_this_machine_can_do(compiler: None) -> None:
    level = "run" if Path("/dev/nvidiactl").exists() else "compile"
    assert re.fullmatch(rf"{level}: nvcc [\d.]+, .+\n", probe("cuda"))


def test_the_thunderkittens_probe_says_what_is_missing() -> None:
    words = r"checks: no kernel can be built: THUNDERKITTENS_ROOT does not name .*\n"
    assert re.fullmatch(words, probe("thunderkittens", THUNDERKITTENS_ROOT=""))


def test_the_thunderkittens_probe_says_what_this_machine_can_do(
    compiler: None, headers: None
) -> None:
    level = "run" if Path("/dev/nvidiactl").exists() else "compile"
    assert re.fullmatch(rf"{level}: headers in .+, nvcc [\d.]+, .+\n", probe("thunderkittens"))
