"""The gate of a task that somebody else wrote. Its code runs in boxed processes (decompose/serve.py)
that have no network, files or device, in two of them, one after the other. The judge executes
nothing of it: it gives the seeds, gets bytes, and compares them as in truth.py. Always on the CPU,
in fp32."""

from collections.abc import Generator

import torch
from judge import compare, decomposing, truth
from judge.expected import Expected, check_outputs
from judge.programs import Blob, Program
from judge.reasons import Finding
from judge.steps import NoChild
from shared import inputs, structure
from shared.limits import Unusable

NOT_ONE = "TypeError: forward returns "  # as the boxed process says it
SAYS = {"load_failed": "the file fails: ", "inputs_failed": "get_inputs raises ",
        "forward_failed": "the reference raises "}  # fmt: skip


def look_at(job: dict, environment: dict) -> Generator:
    answer = {"usable": False, "reasons": [], "self_test": None, "environment": environment}
    try:
        reasons = yield from foreign_gate(job)
    except NoChild as problem:
        return {"infra": str(problem)}
    except Unusable as problem:
        return answer | {"reasons": [str(problem)]}
    except Finding as problem:
        kind = problem.detail.removeprefix(NOT_ONE).removesuffix(", not one tensor")
        other = {} if kind == problem.detail else {"returns": kind}
        why = SAYS.get(problem.code, "") + problem.detail
        return answer | {"reasons": [why[:500]]} | other
    return answer | {"usable": not reasons, "reasons": reasons, "returns": "a tensor"}


def foreign_gate(job: dict) -> Generator:
    """Why the task cannot be judged; empty if it can."""
    first, shifted, others_pass = yield from decomposing.in_child(job, look_closely(job))
    again = yield from decomposing.in_child(job, repeated(job, first.seed))
    bound = compare.FLOOR[torch.float32]
    if not truth.same_truths(first.truth, again.truth, bound):
        return ["nondeterministic: the same seed gives another output"]
    if not truth.same_truths(first.truth, [shifted.tensor()], bound):
        return ["nondeterministic: forward draws random numbers"]
    return truth.says_little(first, others_pass)


def look_closely(job: dict) -> Generator:
    """The answer to the first inputs, the same with another state of the random numbers, and
    whether other inputs' answers pass for it."""
    program = yield from loaded(job)
    first, args = yield from exact(job, program, "gate-0")
    shifted = yield from program.call(args, seed=first.seed + 1, wide=True)
    others = truth.Others(first)
    while others.more:
        other, _ = yield from exact(job, program, f"gate-{others.tried + 1}")
        others.take(other)
    return first, shifted, others.pass_


def repeated(job: dict, seed: int) -> Generator:
    program = yield from loaded(job)
    expected, _ = yield from answers_of(program, seed)
    return expected


def loaded(job: dict) -> Generator:
    program = Program(job, job["task"]["source"])
    yield from program.load()
    return program


def exact(job: dict, program: Program, label: str) -> Generator:
    """Redraws until integer outputs do not depend on rounding."""
    for attempt in range(truth.REDRAWS):
        seed = inputs.derive(job["seed"], f"{label}/{attempt}" if attempt else label)
        expected, args = yield from answers_of(program, seed)
        if expected.exact():
            return expected, args
    raise Unusable(f"integer outputs tie in {truth.REDRAWS} draws")


def answers_of(program: Program, seed: int) -> Generator:
    args: list[Blob] = yield from program.draw(seed)
    if not args:
        raise Unusable("get_inputs returns no tensor: a kernel needs one to work on")
    eager = (yield from program.call(args, seed=seed)).tensor()
    wide = (yield from program.call(args, seed=seed, wide=True)).tensor()
    shape, tensors = structure.describe(eager)
    right = [wide]
    infinite = check_outputs(tensors, right, None)
    return Expected(seed, "plain", tensors, right, shape, [], "fp32", infinite=infinite), args
