"""What is compared: a variant at one size, with its inputs and its truth."""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))  # the tolerance and the inputs are the judge's own

from judge import sidecar  # noqa: E402
from shared import inputs  # noqa: E402

TASKS = ROOT / "tasks" / "linear_attention"
SIZE = re.compile(r"^([A-Z]) = (\d+)", re.M)


def stems() -> list[str]:
    return sorted(p.stem for p in TASKS.glob("*.py"))


def sizes(source: str) -> dict[str, int]:
    return {name: int(value) for name, value in SIZE.findall(source)}


def masked(source: str) -> str:
    """The same for a task at all sizes."""
    return SIZE.sub(r"\1 = ?", source)


def defined(source: str, wanted: dict[str, int]) -> str:
    """As `--define` does it."""
    return SIZE.sub(lambda m: f"{m[1]} = {wanted.get(m[1], m[2])}", source)


@dataclass
class Point:
    """One set of inputs, for all implementations."""

    stem: str
    source: str
    device: str
    dtype: torch.dtype
    space: dict = field(init=False)
    args: dict[str, torch.Tensor] = field(init=False)  # by forward's names
    tolerance: sidecar.Tolerance = field(init=False)
    truth: torch.Tensor | None = None
    truth_dtype: str = ""

    def __post_init__(self) -> None:
        spec = json.loads((TASKS / f"{self.stem}.json").read_text())
        self.tolerance = sidecar.of({"id": self.stem, "sidecar": spec}).tolerance
        self.space = inputs.namespace(self.source, self.stem)
        made = inputs.make(self.space, 1, "plain", self.device, self.dtype)
        names = self.space["Model"].forward.__code__.co_varnames[1:]
        self.args = dict(zip(names, made))

    @property
    def heads_first(self) -> bool:
        return self.tolerance.dimensions[1] == "head"

    def model(self) -> torch.nn.Module:
        made = self.space["Model"](*self.space["get_init_inputs"]())
        return made.to(device=self.device, dtype=self.dtype)

    def compute_truth(self) -> None:
        """In float64, one part of the batch after the other; in float32 where memory ends."""
        for dtype in (torch.float64, torch.float32):
            try:
                self.truth = self._wide(dtype)
                self.truth_dtype = str(dtype).removeprefix("torch.")
                return
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
        raise torch.OutOfMemoryError("not even the truth in float32 fits")

    def _wide(self, dtype: torch.dtype) -> torch.Tensor:
        model, out = self.space["Model"](*self.space["get_init_inputs"]()), []
        args = list(self.args.values())
        for b in range(args[0].shape[0]):
            part = [a[b : b + 1] for a in args]
            part = [a.to(dtype) if a.is_floating_point() else a for a in part]
            out.append(model.to(self.device)(*part))
        return torch.cat(out)

    def error(self, out: torch.Tensor) -> float:
        """The error ratio of the worst batch and head."""
        if out.shape != self.truth.shape or out.dtype != self.dtype:
            raise ValueError(f"the output is {out.dtype} {tuple(out.shape)}, not {self.dtype} "
                             f"{tuple(self.truth.shape)}")  # fmt: skip
        return self.tolerance.worst(out, self.truth).ratio
