"""Judges one call of a candidate: its exception, its shapes, its values. The first problem ends the
job, as a Verdict."""

import time
from dataclasses import dataclass, field

import torch
from judge import answers, compare, feedback, truth
from judge.steps import NoChild
from judge.words import STAGES, VERDICTS


class Verdict(Exception):
    """Ends a job: the verdict, the rule behind it, and the message for the model. `message` is the
    error's own text, without source lines, for matching hints."""

    def __init__(
        self, verdict: str, stage: str, text: str, rule: str | None = None, message: str | None = None
    ) -> None:
        super().__init__(verdict)
        if verdict not in VERDICTS or stage not in STAGES:
            raise ValueError(f"no record says {verdict} at {stage}: see words.py")
        self.verdict, self.stage, self.text, self.rule = verdict, stage, text, rule
        self.message = message
        # If not judged: the buffers that were not computed, and outputs, where others were.
        self.unknown: list[int] | None = None
        self.got: list[torch.Tensor | None] | None = None


NOT_JUDGED, NOT_HERE = "not_judged", "not-on-this-device"  # the verdict, the rule
NOT_HERE_TEXT = ("Not judged on this device: {}. A GPU can do this, so nothing is known about the values; "
                 "where only a CPU judges, use what the interpreter has.")  # fmt: skip

SHARED = ("Two outputs share memory where the reference's do not: whoever changes one of them would "
          "change the other. Allocate a tensor for each.")  # fmt: skip
# What a trial with changed inputs has, for those who read that only such a trial failed.
CHANGES = {
    "signed": "values on the other side of zero", "permuted": "rows in another order",
    "scaled": "values a hundred times as large", "tenfold": "values ten times as large",
    "numbers": "other floats among the arguments",
}  # fmt: skip


@dataclass
class Progress:
    """What is known so far; it becomes the record."""

    stage: str = "load"
    compiled: bool = False
    target: str | None = None  # the architecture that kernels are compiled for
    stock: bool = True
    seed_only: bool = False  # right for its own initial weights, at lower evidence
    keeps: bool = False  # later calls use what the first one made
    trials: list[dict] = field(default_factory=list)
    change: str | None = None  # the variant being tried, after the task's own inputs were right
    skipped: dict[str, str] = field(default_factory=dict)  # variants that were not tried, and why
    launches: list[str] = field(default_factory=list)
    trace: dict | None = None
    ported: str | None = None
    ported_why: str | None = None
    times: dict[str, float] = field(default_factory=dict)
    timing: dict | None = None
    build: str | None = None
    notes: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)  # that the outputs went through
    slice_ratio: float | None = None  # the worst by the sidecar's tolerance, over all trials
    hardened: bool = False
    capped: str | None = None  # why evidence ends at E2
    beside: bool = False  # the language has no recorder: evidence ends at E2, whatever the model does
    peak: int | None = None  # bytes of the device's memory; on the CPU the worker knows


def fail_if_broken(answer: dict) -> None:
    """The pack's adapter failed, not the candidate. Only for compilers and interpreters."""
    text = answers.broken(answer)
    if text is not None:
        raise NoChild(f"the pack is broken: {text}")


def fail_on_error(answer: dict, p: Progress, executor: bool = False, note: str = "") -> None:
    """Handles an exception on the other side, or the recorder's refusal. `executor`: none of the
    candidate's host code runs there, so the error's rule can be trusted. `note`: for the model."""
    refusal = answers.refusal(answer)
    if refusal is not None:
        raise Verdict("hack", "record", feedback.shorten(feedback.clean(refusal[1])), refusal[0])
    problem = answers.problem(answer)
    if problem is None:
        return
    text = feedback.from_error(problem.stage, problem.text)
    if note:
        text += "\n" + note
    said = feedback.clean(problem.message) if problem.message else None
    if executor and problem.rule == NOT_HERE:
        text = NOT_HERE_TEXT.format(feedback.clean(problem.message).strip())
        end = Verdict(NOT_JUDGED, "first_call", text, NOT_HERE)
        end.unknown = problem.unknown
        raise end
    place = {"load": "load", "init": "load", "compile": "compile"}.get(
        problem.stage, "trials" if p.trials else "first_call"
    )
    if _out_of_memory(problem):
        raise Verdict("out_of_memory", place, text, message=said)
    # A model that cannot be made has launched nothing, whether its language or Python says so.
    if problem.compile or problem.stage in ("load", "init", "compile"):
        raise Verdict("compile_error", place, text, message=said)
    p.compiled = True
    raise Verdict("launch_error", place, text, problem.rule if executor else None, said)


def _out_of_memory(problem: answers.Problem) -> bool:
    """Decides by the exception's class. Its message comes from the candidate and is not trusted."""
    return "OutOfMemory" in problem.kind or problem.kind.endswith("MemoryError")


def judge_trial(job, p, got, expected, variant, where="") -> None:
    worst: dict = {"variant": variant, "outputs": len(got), "pass": True}
    note_checks(job, p, expected)
    for i, (x, t) in enumerate(zip(got, expected.truth)):
        x = x.to(t.device)
        e, limit, hardened = expected.judge(i, x)
        passed = e.stock_close if job["protocol"] == "kernelbench" else hardened
        stock = variant == "plain" and i not in expected.left  # KernelBench does not look at inputs
        if stock and (not p.trials or job["protocol"] == "kernelbench"):
            p.stock = p.stock and e.stock_close
        if i == 0 or not passed:
            worst |= {"max_abs": e.max_abs, "max_rel": e.max_rel, "error_ratio": e.ratio,
                      "outlier": e.outlier, "near": round(e.near, 2),
                      "bound": limit[0] if limit else 0.0}  # fmt: skip
            if e.worst:
                worst["slice_ratio"] = e.worst.ratio
        if e.worst:
            p.slice_ratio = min(max(p.slice_ratio or 0.0, e.worst.ratio), 1e308)
        worst["pass"] = worst["pass"] and passed
        if not passed:
            if not p.trials:  # what the other protocol says of the task as written
                rest = range(i + 1, len(expected.outputs()))
                p.stock = p.stock and all(expected.judge(j, got[j].to(t.device))[0].stock_close for j in rest)
            p.trials.append(finite_record(worst))
            if i in expected.left and bool(expected.strays(i, x).any()):
                text = f"{expected.name(i)} differs where the reference leaves it alone{where}."
                raise Verdict("hack", "trials", text[0].upper() + text[1:], "input-mutated")
            raise wrong(p, expected.name(i), expected.outside(i, x), t, e, limit, variant, where)
    p.trials.append(finite_record(worst))


def note_checks(job: dict, p: Progress, expected: truth.Expected) -> None:
    p.checks = ["kernelbench"]
    if job["protocol"] == "hardened":
        p.checks += ["hardened", *(["error_ratio"] if expected.tolerance else [])]


def wrong(p, what, x, t, e, limit, variant, extra="") -> Verdict:
    trial = len(p.trials)
    where = f"{what}, trial {trial} ({variant} inputs{extra})"
    strange = int((x.isnan() | x.isinf() & ~t.isinf()).sum()) if e.not_finite else 0
    if strange:
        count = f"{strange} of {t.numel()} values are NaN or Inf"
        return Verdict("not_finite", "trials", f"{where}: {count}; memory that no kernel wrote "
                       "may hold NaN.")  # fmt: skip
    bound = limit[0] if limit else 0.0
    text = f"{where}: max abs error {feedback.rounded(e.max_abs)}"
    if e.not_finite:
        text += f", {e.not_finite} infinities of the right answer are missing"
    elif limit is None or not compare.within(e, limit):
        text += f", error ratio {feedback.rounded(e.ratio)}, allowed {feedback.rounded(bound)}"
    if e.worst and e.worst.ratio > e.worst.allowed:
        text += (f"; error ratio {feedback.rounded(e.worst.ratio)} in {e.worst.place}, where "
                 f"{feedback.rounded(e.worst.allowed)} is allowed")  # fmt: skip
    return Verdict("wrong_values", "trials", f"{text}.{first_wrong(x, t, bound)}")


def first_wrong(x: torch.Tensor, t: torch.Tensor, bound: float) -> str:
    """The first element whose error exceeds the bound, and the share of such elements."""
    own, right = compare.finite(x, t) if t.is_floating_point() else (x, t)
    d, size = (own.double() - right.double()).abs(), right.double().abs()
    count = t.isfinite().sum().clamp_min(1)
    scale = torch.maximum(size, (size.square().sum() / count).sqrt())
    bad = (~(d <= bound * scale)).flatten()
    count = int(bad.sum())
    if not count:
        return ""
    at = int(bad.nonzero()[0])
    place = [int(i) for i in torch.unravel_index(torch.tensor(at), t.shape)] if t.dim() else []
    return (
        f" First at index {place}: {float(x.flatten()[at]):.6g} instead of "
        f"{float(t.flatten()[at]):.6g}; {100 * count / t.numel():.1f} % of the values are off."
    )


def check_buffers(got: dict[str, torch.Tensor], expected: truth.Expected) -> None:
    """Running statistics and other buffers must change as the reference's do."""
    for name, x in got.items():
        after = expected.buffers[name]
        if x.shape != after.shape or not expected.judge_buffer(name, x.to(after.device))[2]:
            raise Verdict("wrong_values", "trials",
                          f"the buffer {name} is not what the reference's is after a call.",
                          "buffer")  # fmt: skip


def since(start: float) -> float:
    return round((time.monotonic() - start) * 1e3, 1)


def finite_record(values: dict) -> dict:
    """JSON has no Inf, so a very large number replaces it."""
    return {
        k: (1e308 if isinstance(v, float) and not abs(v) < 1e308 else v) for k, v in values.items()
    }
