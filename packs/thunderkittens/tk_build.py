"""tk_build.py: what candidates import to turn ThunderKittens source into functions.

    from tk_build import build
    kernels = build(SOURCE)
    kernels.launch_gemm(a, b, c, m, n, k)

Every extern "C" host function of the source becomes a function here. A tensor is passed
as a pointer to its elements; a parameter of type cudaStream_t is filled in. The headers
are those of the checkout that THUNDERKITTENS_ROOT names.
"""
from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "worker"))

from recorder import native_record  # noqa: E402
from shared import native, native_cuda  # noqa: E402
from shared.native_source import CType  # noqa: E402

__all__ = ["build"]

ROOT_VARIABLE = "THUNDERKITTENS_ROOT"
# Of https://github.com/HazyResearch/ThunderKittens: what guide, card and seeds are for.
COMMIT = "0b55588d2769dde0c7a9a606ffc015b0ca7a9551"
TARGET = "sm_90a"  # KITTENS_HOPPER is code for this one alone
# The headers take char for signed, which it is not on every machine.
_FLAGS = (
    "-std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -DKITTENS_HOPPER "
    "-Xcompiler=-fsigned-char -Xcudafe --signed_chars -Xcicc --signed_chars"
)


def root() -> Path:
    """The checkout, once it is known to hold the headers."""
    named = os.environ.get(ROOT_VARIABLE)
    if not named:
        raise native.ToolchainError(
            f"{ROOT_VARIABLE} does not name a checkout of ThunderKittens; clone "
            f"https://github.com/HazyResearch/ThunderKittens and check out {COMMIT[:8]}"
        )
    for header in ("include/kittens.cuh", "prototype/prototype.cuh"):
        if not Path(named, header).is_file():
            raise native.ToolchainError(f"there is no {header} in {ROOT_VARIABLE} ({named})")
    return Path(named).absolute()


def headers_digest() -> str:
    """What the headers say, as a number: they have no version."""
    digest = hashlib.sha256()
    for folder in ("include", "prototype"):
        for path in sorted((root() / folder).rglob("*.cuh")):
            digest.update(f"{path.relative_to(root())}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def toolchain() -> native.Toolchain:
    """Less time than the pack gives a build and three runs of what it makes, so that slowness
    has its own name."""
    folders = [root() / "include", root() / "prototype", root()]
    flags = [*_FLAGS.split(), *(f"-I{folder}" for folder in folders)]
    plain = native_cuda.hosted_toolchain(150, TARGET, flags)
    types = plain.language.types | {"bf16": CType("bfloat", 16)}
    language = dataclasses.replace(plain.language, name="ThunderKittens", types=types)
    return dataclasses.replace(plain, language=language)


def build(source: str) -> native_record.Library:
    """The extern "C" host functions of ThunderKittens source, as attributes of the
    result."""
    return native_record.library(source, toolchain(), "cuda")
