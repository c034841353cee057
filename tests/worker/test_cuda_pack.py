"""The packs whose kernels nvcc compiles: their good examples build, what their rules
refuse in C++ the helper refuses too, their hints answer what is really said, and their
probes tell the truth."""
from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
PACKS = ROOT / "packs"
sys.path[:0] = [str(ROOT / "worker"), str(PACKS / "cuda"), str(PACKS / "thunderkittens")]

import cuda_build  # noqa: E402
import native  # noqa: E402
import native_cuda  # noqa: E402
import tk_build  # noqa: E402

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
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        native_cuda.nvcc()
    except native.ToolchainError as error:
        pytest.skip(f"nothing can be compiled: {error}")
    monkeypatch.setenv("MONKEYS_CUDA_CACHE", str(tmp_path))
    monkeypatch.setenv("MONKEYS_TK_CACHE", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


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


@pytest.mark.parametrize("pack, rule", [("cuda", "cuda-include"), ("thunderkittens", "tk-include")])
def test_rules_and_helper_allow_the_same_headers(pack: str, rule: str) -> None:
    rules = {r["id"]: r for r in read(pack, "checks.json")["sets"]["default"]["rules"]}
    pattern = re.compile(rules[rule]["pcre"], re.MULTILINE)
    allowed = native_cuda.HEADERS | (set(tk_build._HEADERS) if pack == "thunderkittens" else set())
    for header in allowed:
        name = header.replace("/*", "/reduce")
        assert not pattern.search(f'#include <{name}>\n# include "{name}"\n'), name
    for name in ("cublas_v2.h", "thrust/sort.h", "torch/extension.h", "iostream", "thread"):
        assert pattern.search(f"#include <{name}>"), name
        assert name not in allowed


@pytest.mark.parametrize("pack", BOTH)
def test_the_helper_gives_up_before_the_pack_does(
    pack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: None
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "kittens.cuh").touch()
    monkeypatch.setenv(tk_build.ROOT_VARIABLE, str(tmp_path))
    toolchain = cuda_build.toolchain("90a") if pack == "cuda" else tk_build.toolchain()
    facts = read(pack, "pack.json")
    assert toolchain.timeout_s < facts["build"]["timeout_s"]
    assert toolchain.cache_variable in facts["env"]["cache_vars"]


# ---- the helpers ----------------------------------------------------------------

GOOD = sorted(p.name for p in (PACKS / "cuda" / "selftest" / "good").glob("*.py"))


@pytest.mark.parametrize("name", GOOD)
def test_good_selftests_of_cuda_build(name: str, compiler: None) -> None:
    lib = cuda_build.build(source_of(PACKS / "cuda" / "selftest" / "good" / name))
    for function in dir(lib)[2:]:
        assert getattr(lib, function).__doc__.endswith("cudaStream_t stream)")


# What stands in the C++ text itself; that it is built, launched and used is Python's.
HELPER_SEES = {
    "cublas.py": "undefined symbol cublasSgemm_v2",
    "cached_result.py": "undefined symbol cudaMalloc",
    "own_stream.py": "undefined symbol cudaStream",
    "graph.py": "undefined symbol cudaGraphCreate",
    "constructor.py": "__attribute__((constructor))",
    "foreign_header.py": "#include <iostream>",
    "host_threads.py": "#include <thread>",
    "load_library.py": "#include <dlfcn.h>",
    "thrust.py": "#include <thrust/",
    "torch_cpp.py": "#include <torch/",
    "no_entry.py": "no function that can be called is defined",
}


@pytest.mark.parametrize("name", HELPER_SEES)
def test_what_the_rules_refuse_in_the_source_is_refused_by_the_helper_too(
    name: str, compiler: None
) -> None:
    assert name in read("cuda", "selftest", "expect.json")["bad"]
    with pytest.raises(native.BuildError) as caught:
        cuda_build.build(source_of(PACKS / "cuda" / "selftest" / "bad" / name))
    assert HELPER_SEES[name] in str(caught.value)


@pytest.mark.parametrize("root, words", [(None, "does not name"), ("empty", "no include/kittens")])
def test_missing_thunderkittens_headers_are_the_machines_fault(
    root: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if root is None:
        monkeypatch.delenv(tk_build.ROOT_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(tk_build.ROOT_VARIABLE, str(tmp_path))
    with pytest.raises(native.ToolchainError) as caught:
        tk_build.build("")
    assert words in str(caught.value) and "THUNDERKITTENS_ROOT" in str(caught.value)


def test_other_headers_give_another_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: None
) -> None:
    """Headers of our own, to see what the helper does with them."""
    monkeypatch.setenv(tk_build.ROOT_VARIABLE, str(tmp_path))
    (tmp_path / "include").mkdir()
    (tmp_path / "prototype").mkdir()
    header = tmp_path / "include" / "kittens.cuh"
    text = (
        "#pragma once\n#include <iostream>\n#include <cuda_bf16.h>\n"
        "#ifndef KITTENS_HOPPER\n#error no\n#endif\n"
        "namespace kittens { using bf16 = __nv_bfloat16; constexpr int N = %d;\n"
        "static_assert((char)-1 < 0); template <class T> concept any = true; }\n"
    )
    source = (
        '#include "kittens.cuh"\nusing namespace kittens;\n'
        "__global__ void k(bf16 *x) { x[0] = __float2bfloat16(N); }\n"
        'extern "C" void launch(bf16 *x, kittens::bf16 *y, cudaStream_t s) '
        "{ k<<<1, 1, 0, s>>>(x); }\n"
    )
    keys = set()
    for number in (1, 2):
        header.write_text(text % number)
        lib = tk_build.build(source)
        keys.add(lib.key)
        with pytest.raises(TypeError, match="torch.bfloat16, got torch.float32"):
            lib.launch(torch.ones(1), None)
    assert len(keys) == 2
    header.write_text("#error wrong headers\n")
    with pytest.raises(native.BuildError) as caught:
        tk_build.build(source)
    assert re.search(r"kittens\.cuh:1:\d+: error: #error wrong", str(caught.value))
    assert str(tmp_path) not in str(caught.value)


TK_GOOD = sorted(p.name for p in (PACKS / "thunderkittens" / "selftest" / "good").glob("*.py"))


@pytest.mark.parametrize("name", TK_GOOD)
def test_good_selftests_of_thunderkittens_build(name: str, compiler: None, headers: None) -> None:
    """Those with TMA need the driver when they are loaded, but not before."""
    source = source_of(PACKS / "thunderkittens" / "selftest" / "good" / name)
    try:
        lib = tk_build.build(source)
    except native.ToolchainError as error:
        assert "cannot be loaded: libcuda.so.1: cannot open" in str(error)
    else:
        assert getattr(lib, dir(lib)[2]).__doc__.endswith("cudaStream_t stream)")


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
