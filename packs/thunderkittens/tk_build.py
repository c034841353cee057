"""tk_build.py: what candidates import to turn ThunderKittens source into functions.

    from tk_build import build
    kernels = build(SOURCE)
    kernels.launch_gemm(a, b, c, m, n, k)

As with plain CUDA C++ (worker/native_cuda.py), every extern "C" host function of the
source becomes a function here. The headers are those of the checkout that
THUNDERKITTENS_ROOT names.
"""
from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

import native  # noqa: E402
import native_cuda  # noqa: E402
from native_source import CType  # noqa: E402

__all__ = ["build"]

ROOT_VARIABLE = "THUNDERKITTENS_ROOT"
ARCHITECTURE = "90a"  # KITTENS_HOPPER is code for this one alone
# The headers take char for signed, which it is not on every machine.
_FLAGS = (
    "-std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -DKITTENS_HOPPER "
    "-Xcompiler=-fsigned-char -Xcudafe --signed_chars -Xcicc --signed_chars"
)
_HEADERS = "kittens.cuh include/kittens.cuh prototype.cuh prototype/prototype.cuh".split()
# What the headers' own host code wants: it throws when a tensor does not fit, checks
# what TMA can describe, and its macros print an error and exit.
_HEADER_SYMBOLS = (
    # std::string, new, delete
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE* "
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE* _Znwm _ZdlPvm _ZdlPv "
    # throwing std::runtime_error, and what the library throws by itself
    "__cxa_allocate_exception __cxa_free_exception __cxa_throw __cxa_begin_catch "
    "__cxa_end_catch __cxa_rethrow _ZNSt13runtime_error* _ZTISt13runtime_error "
    "_ZSt17__throw_bad_allocv _ZSt16__throw_bad_castv _ZSt19__throw_logic_errorPKc "
    "_ZSt20__throw_length_errorPKc _ZSt24__throw_out_of_range_fmtPKcz "
    # std::cerr
    "_ZSt4cerr _ZNSo* _ZSt4endlIcSt11char_traits* _ZStlsISt11char_traits* "
    "_ZSt16__ostream_insert* _ZNSt9basic_iosIcSt11char_traits* _ZNKSt5ctypeIcE*"
).split()


def root() -> Path:
    """The checkout, once it is known to hold the headers."""
    named = os.environ.get(ROOT_VARIABLE)
    if not named:
        raise native.ToolchainError(f"{ROOT_VARIABLE} does not name a checkout of ThunderKittens")
    if not Path(named, "include", "kittens.cuh").is_file():
        raise native.ToolchainError(f"there is no include/kittens.cuh in {ROOT_VARIABLE} ({named})")
    return Path(named).absolute()


def headers_digest() -> str:
    """What the headers say, as a number: the same source gives another library when
    they change."""
    digest = hashlib.sha256()
    for folder in ("include", "prototype"):
        for path in sorted((root() / folder).rglob("*.cuh")):
            digest.update(f"{path.relative_to(root())}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def toolchain() -> native.Toolchain:
    """Less time than the pack gives a build, so that slowness is told by its name."""
    own = Path(__file__).resolve().parent / "include"
    folders = [own, root() / "include", root() / "prototype", root()]
    flags = [*_FLAGS.split(), *(f"-I{folder}" for folder in folders)]
    language = native_cuda.LANGUAGE
    types = language.types | {"bf16": CType("bfloat", 16)}
    return native_cuda.toolchain(
        "MONKEYS_TK_CACHE",
        160,
        ARCHITECTURE,
        flags,
        headers=native_cuda.HEADERS | set(_HEADERS),
        symbols=native_cuda.SYMBOLS | set(_HEADER_SYMBOLS),
        language=dataclasses.replace(language, name="ThunderKittens", types=types),
        identity=headers_digest(),
    )


def build(source: str) -> native.Library:
    """Compiles ThunderKittens source and loads it; its extern "C" host functions are
    the result's attributes."""
    return native.build(source, toolchain(), native_cuda.CUDA)
