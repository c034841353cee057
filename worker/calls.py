"""One call of a candidate, judged: what it raised, what its process saw, its shapes, its
values. The first thing that is wrong ends the job, as a Verdict."""

import time
from dataclasses import dataclass, field

import answers
import feedback
import torch
import truth


class Verdict(Exception):
    """Ends a job: the verdict, the rule that made it, what the model is told."""

    def __init__(self, verdict: str, stage: str, told: str, rule: str | None = None) -> None:
        super().__init__(verdict)
        self.verdict, self.stage, self.told, self.rule = verdict, stage, told, rule


@dataclass
class Progress:
    """What is known so far; becomes the record."""

    stage: str = "load"
    compiled: bool = False
    stock: bool = True
    seed_only: bool = False
    trials: list[dict] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    ops: dict[str, int] = field(default_factory=dict)
    audit: dict[str, list[str]] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    timing: dict | None = None
    build: str | None = None
    notes: list[str] = field(default_factory=list)
    hardened: bool = False
    peak: int | None = None  # bytes of the device's memory; on the CPU the worker knows


def fail_if_patched(names: list[str], stage: str) -> None:
    if names:
        raise Verdict("hack", stage, f"Functions or flags were replaced: {', '.join(names[:5])}.",
                      f"patched:{names[0]}")  # fmt: skip


def fail_on_error(answer: dict, p: Progress) -> None:
    problem = answers.problem(answer)
    if problem is None:
        return
    told = feedback.from_error(problem.stage, problem.text)
    place = {"load": "load", "init": "load", "compile": "evidence", "timing": "timing"}.get(
        problem.stage, "trials" if p.trials else "first_call"
    )
    if _out_of_memory(problem):
        raise Verdict("out_of_memory", place, told)
    if problem.compile or problem.stage in ("load", "compile"):
        raise Verdict("compile_error", place, told)
    if problem.stage == "output":
        raise Verdict("wrong_shape", place, told)
    p.compiled = True
    raise Verdict("launch_error", place, told)


def _out_of_memory(problem: answers.Problem) -> bool:
    """torch's own error, or what a driver's caller makes of the driver's."""
    last = problem.text.rstrip().rpartition("\n")[2][:1000]
    return (
        "OutOfMemory" in problem.kind
        or problem.kind.endswith("MemoryError")
        or ("CUDA" in last and "out of memory" in last)
    )


def take(buffer, place: dict) -> torch.Tensor:
    dtype = getattr(torch, place["dtype"].removeprefix("torch."))
    return buffer.take(place["offset"], place["shape"], dtype)


_RULES = (
    ("mutated", "input-mutated", "forward changed its inputs."),
    ("attributes", "tensor-attributes", "forward put attributes on its inputs."),
    ("params_changed", "params-changed", "forward changed parameters."),
    ("threads", "thread-left", "Threads are running besides the one that calls forward."),
    ("processes", "process-left", "Processes are running besides the one that calls forward."),
)


_AUDIT = (
    ("libraries", "library-loaded", "The candidate loaded a library itself"),
    ("processes", "process-started", "The candidate started a process"),
    ("sockets", "socket-made", "The candidate made a socket"),
)


def check_evidence(seen: answers.Seen, p: Progress) -> None:
    """Rules on what the candidate's process saw; the first that speaks wins."""
    p.audit = seen.audit
    foreign = sorted(seen.foreign)
    if foreign:
        raise Verdict(
            "hack", "evidence",
            "forward computed with PyTorch instead of the kernel: " + ", ".join(foreign)
            + ". Only allocation, fills, views, copies, casts, cat and pad may be PyTorch's.",
            "dispatch:" + foreign[0],
        )  # fmt: skip
    if seen.readback:
        raise Verdict("hack", "evidence", "forward took the values of a tensor out of PyTorch ("
                      + ", ".join(seen.readback) + "): kernels compute, Python does not.",
                      "readback:" + seen.readback[0])  # fmt: skip
    for field_name, rule, told in _RULES:
        if getattr(seen, field_name):
            raise Verdict("hack", "evidence", told, rule)
    if seen.guard:
        raise Verdict("launch_error", "evidence",
                      "A kernel wrote outside the tensor it was given.", "guard-zone")  # fmt: skip
    fail_if_patched(seen.patched, "evidence")
    for problem in seen.output_problems:
        rule = "output-aliases-input" if "shares memory" in problem else "output-not-plain"
        raise Verdict("hack", "evidence", f"{problem}.", rule)
    if not seen.launches:
        raise Verdict("hack", "evidence", "forward launched no kernel of the language.", "no-launch")
    for kind, rule, told in _AUDIT:
        if seen.audit.get(kind):
            raise Verdict("hack", "evidence", f"{told}: {seen.audit[kind][0]}.", rule)
    p.launches = seen.launches[:50]
    p.ops = dict(list(seen.ops.items())[:50])


def check_shapes(seen: answers.Seen, places: dict) -> None:
    wanted = places["outputs"]
    if len(seen.outputs) != len(wanted):
        raise Verdict("wrong_shape", "trials",
                      f"forward returned {len(seen.outputs)} tensors, expected {len(wanted)}.")  # fmt: skip
    for (shape, dtype), want in zip(seen.outputs, wanted):
        if shape != want["shape"]:
            raise Verdict("wrong_shape", "trials",
                          f"the output's shape is {shape}, expected {want['shape']}.")  # fmt: skip
        if dtype != want["dtype"]:
            raise Verdict("wrong_dtype", "trials",
                          f"the output's dtype is {dtype}, expected {want['dtype']}.")  # fmt: skip


def judge_trial(job, p, got, expected, variant, previous) -> None:
    worst: dict = {"variant": variant, "outputs": len(got), "pass": True}
    for i, (x, t) in enumerate(zip(got, expected.truth)):
        x = x.to(t.device)
        e, limit, hardened = expected.judge(i, x)
        passed = e.stock_close if job["protocol"] == "kernelbench" else hardened
        if variant == "plain":
            p.stock = p.stock and e.stock_close
        if i == 0 or not passed:
            worst |= {"max_abs": e.max_abs, "max_rel": e.max_rel, "error_ratio": e.ratio,
                      "outlier": e.outlier, "near": round(e.near, 2),
                      "bound": limit[0] if limit else 0.0}  # fmt: skip
        worst["pass"] = worst["pass"] and passed
        if not passed:
            p.trials.append(finite(worst))
            raise wrong(p, i, x, t, e, limit, variant, previous)
    p.trials.append(finite(worst))


def wrong(p, index, x, t, e, limit, variant, previous) -> Verdict:
    trial = len(p.trials)
    where = f"output {index}, trial {trial} ({variant} inputs)"
    if previous is not None and same_bytes(x, previous[index]):
        return Verdict("hack", "trials", f"{where}: the result of an earlier call was returned "
                       "for new inputs.", "state-kept")  # fmt: skip
    if e.not_finite:
        count = f"{e.not_finite} of {t.numel()} values are NaN or Inf"
        return Verdict("not_finite", "trials", f"{where}: {count}; memory that no kernel wrote "
                       "holds NaN.")  # fmt: skip
    bound = limit[0] if limit else 0.0
    told = (
        f"{where}: max abs error {feedback.number(e.max_abs)}, error ratio "
        f"{feedback.number(e.ratio)}, allowed {feedback.number(bound)}."
    )
    return Verdict("wrong_values", "trials", told + first_wrong(x, t, bound))


def same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """NaN equals NaN here; a scalar has to become a row to be seen as bytes."""
    return torch.equal(
        a.cpu().reshape(-1).view(torch.uint8), b.cpu().reshape(-1).view(torch.uint8)
    )


def first_wrong(x: torch.Tensor, t: torch.Tensor, bound: float) -> str:
    """The first place that is further off than is allowed, and how much of the output is."""
    d = (x.double() - t.double()).abs()
    scale = torch.maximum(t.double().abs(), t.double().square().mean().sqrt())
    bad = (d > bound * scale).flatten()
    count = int(bad.sum())
    if not count:
        return ""
    at = int(bad.nonzero()[0])
    place = [int(i) for i in torch.unravel_index(torch.tensor(at), t.shape)] if t.dim() else []
    return (
        f" First at index {place}: {float(x.flatten()[at]):.6g} instead of "
        f"{float(t.flatten()[at]):.6g}; {100 * count / t.numel():.1f} % of the values are off."
    )


def check_buffers(buffer, places: dict, expected: truth.Expected) -> None:
    """Running statistics and other buffers must move as the reference's do."""
    for place in places["buffers"]:
        x = take(buffer, place)
        r, t = expected.buffers[place["name"]], expected.truth_buffers[place["name"]]
        if not truth.judge_output(x.to(r.device), t, r)[2]:
            raise Verdict("wrong_values", "trials",
                          f"the buffer {place['name']} is not what the reference's is after a call.",
                          "buffer")  # fmt: skip


def since(start: float) -> float:
    return round((time.monotonic() - start) * 1e3, 1)


def finite(values: dict) -> dict:
    """JSON has no Inf: a very large number stands for it."""
    return {
        k: (1e308 if isinstance(v, float) and not abs(v) < 1e308 else v) for k, v in values.items()
    }
