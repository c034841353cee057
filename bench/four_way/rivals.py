"""The implementations, each as a call without arguments: eager, compiled, the experts', ours."""

import contextlib
import importlib.util
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from four_way import experts
from four_way.points import ROOT, Point, masked, sizes

MODE = "max-autotune-no-cudagraphs"  # max-autotune alone would turn CUDA graphs on
UNROLLED = {"08": 512, "11": 512, "12": 512}  # steps from which a loop is not compiled
WARM_CALLS = 3


class NotHere(Exception):
    """Why there is no such implementation at this point."""


@dataclass
class Rival:
    name: str
    calls: dict[str, Callable]  # by layout
    note: str = ""
    compile_s: float | None = None
    error: dict[str, float] = field(default_factory=dict)  # by layout


@contextlib.contextmanager
def deadline(seconds: int, what: str) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeoutError(f"{what} took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def eager(point: Point, o: object) -> Rival:
    model, args = point.model(), list(point.args.values())
    return Rival("eager", {"caller": lambda: model(*args)})


def compiled(point: Point, o: object) -> Rival:
    steps = sizes(point.source)["T"]
    if steps >= UNROLLED.get(point.stem[:2], 1 << 62):
        raise NotHere(f"a loop of {steps} steps is unrolled")
    if o.compile_steps and steps not in o.compile_steps:
        raise NotHere("--compile-T leaves this size out")
    torch._dynamo.reset()
    model = torch.compile(point.model(), mode=MODE, dynamic=False)
    args, start = list(point.args.values()), time.perf_counter()
    try:
        with deadline(o.compile_timeout, "torch.compile"):
            model(*args)
    except torch.OutOfMemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - a compiler may raise anything
        raise NotHere(f"{type(problem).__name__}: {str(problem).partition(chr(10))[0][:200]}")
    took = time.perf_counter() - start
    for _ in range(WARM_CALLS):
        model(*args)
    return Rival("compile", {"caller": lambda: model(*args)}, compile_s=took)


def expert(point: Point, o: object) -> Rival:
    try:
        found = experts.functions(point)
    except ImportError as problem:
        raise NotHere(f"flash-linear-attention does not have it ({problem})") from None
    why = ""
    for one, function in found:
        calls = experts.calls(point, one, function)
        try:
            for call in calls.values():
                call()
            return Rival("fla", calls, "; ".join(t for t in (one.function, one.note) if t))
        except torch.OutOfMemoryError:
            raise
        except Exception as problem:  # noqa: BLE001 - another release may have changed anything
            why = f"{one.function}: {type(problem).__name__}: {str(problem)[:200]}"
    raise NotHere(why)


def ours(point: Point, o: object) -> Rival:
    folder, file = _find(point, o.ours, o.precision)
    dsl = json.loads((folder / "meta.json").read_text()).get("dsl", "")
    pack = str(ROOT / "packs" / dsl)
    if dsl and pack not in sys.path:
        sys.path.append(pack)  # helpers such as c_cpu
    name = f"ours_{abs(hash(folder / file))}"
    spec = importlib.util.spec_from_file_location(name, folder / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # compilers look for their source there
    spec.loader.exec_module(module)
    made = module.ModelNew(*point.space["get_init_inputs"]())
    model, args = made.to(device=point.device, dtype=point.dtype), list(point.args.values())
    return Rival("ours", {"caller": lambda: model(*args)}, f"{folder.name}/{file}")


def _find(point: Point, archives: list[Path], precision: str) -> tuple[Path, str]:
    """The kernel of an exported archive: what was verified at this size (solution_ported.py), or
    else the original file of the largest size, which may do others, too."""
    best: tuple[int, Path] | None = None
    for archive in archives:
        for folder in sorted(p.parent for p in archive.glob("*/task.py")):
            source = (folder / "task.py").read_text()
            meta = json.loads((folder / "meta.json").read_text())
            if masked(source) != masked(point.source) or meta.get("dtype") != precision:
                continue
            exact = sizes(source) == sizes(point.source)
            if exact and (folder / "solution_ported.py").exists():
                return folder, "solution_ported.py"
            rank = (1 << 40 if exact else 0) + sizes(source)["T"]
            if best is None or rank > best[0]:
                best = rank, folder
    if best is None:
        raise NotHere(f"no kernel in {precision} for it" if archives else "no --ours DIR")
    return best[1], "solution.py"


RIVALS: dict[str, Callable[[Point, object], Rival]] = {
    "eager": eager, "compile": compiled, "fla": expert, "ours": ours,
}  # fmt: skip
