"""The variants of linear attention, four ways: eager PyTorch, torch.compile, flash-linear-attention
(where it is installed) and our kernels; one process, one set of inputs for all of them.

    python3 bench/attention.py [--device cuda:0] [--precision bf16] [--task STEM…] [--T N…]
                               [--ours DIR…] [--with eager,compile,fla,ours] [--compile-T N…]
                               [--have CSV…] [--out DIR]

--ours is a folder that `monkeys archive export` wrote: the ModelNew that was generated from the
verified trace is measured at the size it was verified for, the original file at others.

Every output is compared with a truth in float64 before anything is timed, the baselines' as well;
one that is off by more than the task's tolerance is reported and not timed. Each implementation has
a column for calls that are launched from Python and one for a CUDA graph of the call. The whole
sweep is done twice; within it the implementations take turns. CSV, Markdown and a plot go to --out
after every point. --have takes such a CSV: its rows stay, and its points are not measured again.

`--device cpu --T 128` tries all of it, without graphs; its figures say nothing about a GPU.
"""

import argparse
import gc
import platform
import subprocess
import sys
from pathlib import Path

try:
    import torch
except ImportError:
    print("bench/attention: needs torch")
    sys.exit(0)
from four_way import clock, pages, points, rivals
from four_way.experts import swapped

STEPS = [128 << i for i in range(8)]  # 128 to 16384
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("build", nargs="?", help="of `make bench`; not used")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--precision", choices=PRECISIONS, help="default: bf16; fp32 on the CPU")
    p.add_argument("--task", nargs="+", default=points.stems(), metavar="STEM")
    p.add_argument("--T", nargs="+", type=int, default=STEPS, dest="steps", metavar="N")
    p.add_argument("--define", action="append", default=[], metavar="NAME=N",
                   help="other sizes, such as B=1; S is 16 unless it is given")  # fmt: skip
    p.add_argument("--ours", nargs="+", type=Path, default=[], metavar="DIR")
    p.add_argument("--with", default="eager,compile,fla,ours", dest="chosen", metavar="LIST")
    p.add_argument("--compile-T", nargs="+", type=int, dest="compile_steps", metavar="N",
                   help="torch.compile at these sizes only: it takes up to minutes for each")  # fmt: skip
    p.add_argument("--have", nargs="+", type=Path, default=[], metavar="CSV",
                   help="rows that were measured before")
    p.add_argument("--sweeps", type=int, default=2)
    p.add_argument("--warm-ms", type=float, default=25.0)
    p.add_argument("--measure-ms", type=float, default=100.0)
    p.add_argument("--compile-timeout", type=int, default=300, metavar="SECONDS")
    p.add_argument("--tf32", action="store_true", help="let fp32 products use TF32")
    p.add_argument("--out", type=Path, default=Path("attention"), metavar="DIR")
    o = p.parse_args()
    o.precision = o.precision or ("fp32" if o.device == "cpu" else "bf16")
    o.chosen = [n for n in o.chosen.split(",") if n]
    for name in o.chosen:
        if name not in rivals.RIVALS:
            p.error(f"--with: '{name}' is not one of {', '.join(rivals.RIVALS)}")
    for stem in o.task:
        if stem not in points.stems():
            p.error(f"--task: '{stem}' is not one of {', '.join(points.stems())}")
    return o


# ---- one point --------------------------------------------------------------------


def defines(o: argparse.Namespace, stem: str, steps: int) -> dict[str, int]:
    given = {n: int(v) for n, _, v in (d.partition("=") for d in o.define)}
    return ({"S": 16} if stem.startswith("06") else {}) | given | {"T": steps}


def make_point(o: argparse.Namespace, stem: str, steps: int) -> points.Point:
    source = (points.TASKS / f"{stem}.py").read_text()
    torch.manual_seed(1)
    return points.Point(
        stem, points.defined(source, defines(o, stem, steps)), o.device, PRECISIONS[o.precision]
    )


def gather(point: points.Point, o: argparse.Namespace, blank) -> tuple[list, list[pages.Row]]:
    """The implementations that are right, and rows for the others."""
    right, rows = [], []
    for name in o.chosen:
        try:
            rival = rivals.RIVALS[name](point, o)
            for layout, call in rival.calls.items():
                out = call()
                rival.error[layout] = point.error(swapped(out) if layout == "native" else out)
                del out
        except rivals.NotHere as why:
            rows.append(blank(name, "caller", f"not available: {why}"))
            continue
        except torch.OutOfMemoryError:
            release(o)
            rows.append(blank(name, "caller", "out of memory"))
            continue
        except Exception as problem:  # noqa: BLE001 - one of them must not end the sweep
            rows.append(blank(name, "caller", f"{type(problem).__name__}: {str(problem)[:200]}"))
            continue
        limit = point.tolerance.error_ratio
        wrong = {layout: e for layout, e in rival.error.items() if not e <= limit}
        for layout, error in wrong.items():
            row = blank(name, layout, f"wrong: more than {limit:g}")
            row.error_ratio, row.note, row.truth = error, rival.note, point.truth_dtype
            rows.append(row)
            del rival.calls[layout]
        if rival.calls:
            right.append(rival)
    return right, rows


def capture(calls: dict, point: points.Point, o: argparse.Namespace, timer: clock.Clock) -> tuple:
    """CUDA graphs of the calls, and why there is none of others."""
    graphs, why = {}, {}
    for key, call in calls.items():
        if o.device == "cpu":
            continue
        try:
            took = timer.once(call)
            if took > clock.GRAPH_MS:
                why[key] = f"no graph of a call of {took:.0f} ms"
                continue
            replay, out = clock.graph_of(call)
            out.zero_()
            replay()
            if not point.error(swapped(out) if key[1] == "native" else out) <= point.tolerance.error_ratio:
                why[key] = "the graph's output is wrong"
                continue
            graphs[key] = replay
        except Exception as problem:  # noqa: BLE001 - not everything can be captured
            torch.cuda.synchronize()
            why[key] = f"no graph: {type(problem).__name__}: {str(problem).partition(chr(10))[0][:120]}"
    return graphs, why


def measure(point: points.Point, o: argparse.Namespace, sweep: int, timer: clock.Clock) -> list[pages.Row]:
    steps = points.sizes(point.source)["T"]

    def blank(name: str, layout: str, status: str) -> pages.Row:
        return pages.Row(sweep, point.stem, steps, name, layout, status)

    try:
        point.compute_truth()
    except torch.OutOfMemoryError:
        return [blank(name, "caller", "no truth: out of memory") for name in o.chosen]
    right, rows = gather(point, o, blank)
    calls = {(r.name, layout): call for r in right for layout, call in r.calls.items()}
    launched = timer.compare(calls)
    graphs, why = capture(calls, point, o, timer)
    replayed = timer.compare(graphs)
    for rival in right:
        for layout in rival.calls:
            key = rival.name, layout
            row = blank(rival.name, layout, "ok")
            row.error_ratio, row.truth = rival.error[layout], point.truth_dtype
            row.note, row.compile_s = rival.note, rival.compile_s
            took = launched[key]
            row.median, row.p20, row.p80, row.n = took.median, took.at(0.2), took.at(0.8), len(took.ms)
            if key in replayed:
                took = replayed[key]
                row.graph_median, row.graph_p20, row.graph_p80 = took.median, took.at(0.2), took.at(0.8)
                row.graph_n = len(took.ms)
            row.graph_status = why.get(key, "")
            rows.append(row)
    return rows


# ---- the sweep --------------------------------------------------------------------


def release(o: argparse.Namespace) -> None:
    gc.collect()
    if o.device != "cpu":
        torch.cuda.empty_cache()


def version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def gpu_state(o: argparse.Namespace) -> str:
    if o.device == "cpu":
        return "–"
    asked = "name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw"
    argv = ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader", "-i",
            o.device.partition(":")[2] or "0"]  # fmt: skip
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"unknown ({problem})"


def facts_of(o: argparse.Namespace) -> dict[str, str]:
    packages = ("torch", "triton", "flash-linear-attention", "fla-core", "tilelang")
    return {
        "device": o.device if o.device != "cpu" else f"cpu, {platform.machine()}",
        "precision": o.precision,
        "TF32 products": str(o.tf32),
        "versions": ", ".join(f"{n} {version(n)}" for n in packages),
        "budget": f"{o.warm_ms:g} ms warm-up, {o.measure_ms:g} ms measured, at least {clock.LEAST} "
                  f"calls, {clock.ROUNDS} rounds, {o.sweeps} sweeps",
        "correct": "error ratio of the worst batch and head against the truth",
        "GPU before": gpu_state(o),
    }  # fmt: skip


def fits(stem: str, o: argparse.Namespace, steps: int) -> bool:
    """Whether the variant has this length: a multiple of its chunk."""
    size = points.sizes((points.TASKS / f"{stem}.py").read_text()) | defines(o, stem, steps)
    return steps % size.get("C", 1) == 0


def write(o: argparse.Namespace, rows: list[pages.Row], facts: dict[str, str]) -> None:
    o.out.mkdir(parents=True, exist_ok=True)
    pages.write_csv(o.out / "attention.csv", rows)
    (o.out / "attention.md").write_text(pages.markdown(rows, facts))
    (o.out / "attention.svg").write_text(pages.plot(rows, f"{facts['device']}, {o.precision}"))


def main() -> None:
    o = arguments()
    if o.device != "cpu" and not torch.cuda.is_available():
        print("bench/attention: no GPU; --device cpu --T 128 tries it without one")
        return
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o.tf32
    timer = clock.Clock(o.device, o.warm_ms, o.measure_ms)
    rows, facts = [r for path in o.have for r in pages.read_csv(path)], facts_of(o)
    have = {(r.sweep, r.task, r.T) for r in rows}
    for sweep in range(1, o.sweeps + 1):
        for stem in o.task:
            for steps in o.steps:
                if not fits(stem, o, steps) or (sweep, stem, steps) in have:
                    continue
                found = measure(make_point(o, stem, steps), o, sweep, timer)
                release(o)
                rows += found
                for r in found:
                    took = f"{r.median:.4g} ms" if r.median is not None else r.status
                    print(f"  sweep {sweep}, {stem}, T = {steps}, {r.implementation} ({r.layout}): {took}",
                          flush=True)  # fmt: skip
                facts["GPU after"] = gpu_state(o)
                write(o, rows, facts)  # what was measured stays, whatever comes next
    print(f"bench/attention: {len(rows)} rows in {o.out}")


main()
