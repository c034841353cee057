"""Small tasks for tests, as text."""

from __future__ import annotations

import textwrap

from judge import sidecar, truth


def task(
    forward: str,
    inputs: str = "[torch.randn(4, 8)]",
    init: str = "[]",
    arguments: str = "x",
    setup: str = "pass",
    top: str = "",
) -> str:
    """A task's file: `forward`, `setup` and `top` are statements, `inputs` and `init`
    expressions."""

    def block(statements: str) -> str:
        return textwrap.indent(textwrap.dedent(statements).strip(), " " * 8)

    return f"""
import os, sys, time
import torch
{textwrap.dedent(top)}
class Model(torch.nn.Module):
    def __init__(self, *args):
        super().__init__()
{block(setup)}
    def forward(self, {arguments}):
{block(forward)}
def get_inputs():
    return {inputs}
def get_init_inputs():
    return {init}
"""


def reference(
    source: str, precision: str = "fp32", seed: int = 1, declared: sidecar.Sidecar | None = None
) -> truth.Reference:
    return truth.Reference(source, precision, "cpu", seed, declared=declared)
