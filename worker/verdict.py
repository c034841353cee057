"""How a job is judged: a generator of steps (steps.py) that ends in the record of
docs/VERIFIER.md. The order is fixed: load, first call, its evidence, the other
trials, launch evidence, timing; the first failure ends it."""

import copy
import secrets
import time
from collections.abc import Generator
from dataclasses import dataclass, field

import answers
import clock
import feedback
import inputs
import taskfile
import torch
import truth
from buffers import judge_buffer
from steps import Ask, End, Exclusive, Forged, Fork, Gone, NoChild

PLAIN_TRIALS = 5
ALIGN = 256


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
    times: dict[str, float] = field(default_factory=dict)
    timing: dict | None = None
    notes: list[str] = field(default_factory=list)
    hardened: bool = False


def run(job: dict, environment: dict) -> Generator:
    if job["kind"] == "task":
        return (yield from look_at_task(job, environment))
    return (yield from verify(job, environment))


# ---- tasks -------------------------------------------------------------------


def look_at_task(job: dict, environment: dict) -> Generator:
    """The gate. A generator for the sake of one interface: it asks for nothing."""
    yield from ()
    empty_cache(job)
    try:
        reference = make_reference(job)
        reasons = truth.gate(reference, job["seed"])
        result = truth.self_test(reference, job["seed"]) if job.get("self_test") else None
    except truth.Unusable as problem:
        return {"usable": False, "reasons": [str(problem)], "environment": environment}
    except Exception as problem:  # noqa: BLE001 - a task's file may do anything
        why = f"the task's file fails: {type(problem).__name__}: {problem}"
        return {"usable": False, "reasons": [feedback.clean(why)[:500]], "environment": environment}
    return {
        "usable": not reasons,
        "reasons": reasons,
        "self_test": result,
        "environment": environment,
    }


def empty_cache(job: dict) -> None:
    """The last task's memory goes back: candidates need it, and so does this one."""
    if job["device"] != "cpu":
        torch.cuda.empty_cache()


def make_reference(job: dict, unsettled: bool = False) -> truth.Reference:
    seed = inputs.derive(job["seed"], "init")
    return truth.Reference(
        job["task"]["source"], job["precision"], torch_device(job["device"]), seed, unsettled
    )


def torch_device(device: str) -> str:
    """The granted GPU is the only visible one, so it is number 0 in here."""
    return "cpu" if device == "cpu" else "cuda:0"


# ---- candidates --------------------------------------------------------------


def verify(job: dict, environment: dict) -> Generator:
    p = Progress()
    try:
        reference = make_reference(job)
    except Exception as problem:  # noqa: BLE001
        return record(job, environment, p, Verdict("infra", "load", f"the task's file fails: {problem}"))
    try:
        end = yield from attempt(job, reference, p)
        if end.verdict in ("wrong_values", "not_finite") and reference.has_state():
            end = yield from once_more(job, p, end)
    except NoChild as problem:
        end = Verdict("infra", "fork", str(problem))
    except truth.Unusable as problem:
        end = Verdict("infra", "trials", f"the task cannot be judged: {problem}")
    return record(job, environment, p, end)


def once_more(job: dict, p: Progress, first: Verdict) -> Generator:
    """A candidate that packed its weights in __init__, or calls them otherwise, is
    right for the weights it was built with and for no others: tried with those,
    at lower evidence. Both sides start where no parameter is an identity."""
    again = Progress(seed_only=True)
    end = yield from attempt(job, make_reference(job, unsettled=True), again)
    if end.verdict != "correct" and not p.seed_only:
        return first
    p.__dict__.update(again.__dict__)
    if end.verdict == "correct":
        p.notes.append(
            "Right only for the weights ModelNew was constructed with. Give its parameters the "
            "reference's names and shapes, and read them in forward."
        )
    return end


def attempt(job: dict, reference: truth.Reference, p: Progress) -> Generator:
    """One child, from fork to verdict. Returns a Verdict."""
    pair = reference.fresh()
    try:
        yield from load(job, pair, p)
        buffer_size, places = layout(pair, job)
        buffer = judge_buffer(buffer_size, reference.device)
        try:
            yield from trials(job, pair, p, buffer, places)
            p.hardened = True
            if job.get("timing"):
                yield from timing(job, pair, p, buffer, places)
            launches = yield from describe(job, p)
            yield from without_kernels(job, pair, p, buffer, places)
        finally:
            buffer.close()
        yield End()
        if launches:
            yield from check_compiles(job, p, launches)
            yield End()
    except Verdict as end:
        yield from leave()
        return end
    except Forged as problem:
        yield from leave()
        return Verdict("hack", p.stage, f"The process did not answer as it should: {problem}.",
                       "forged-answer")  # fmt: skip
    except Gone as gone:
        return from_gone(gone, p)
    return Verdict("correct", "done", "")


def leave() -> Generator:
    """Ends the child, which may be dead already."""
    try:
        yield End()
    except Gone:
        pass


def from_gone(gone: Gone, p: Progress) -> Verdict:
    stage = p.stage
    tail = feedback.shorten(feedback.clean(gone.output))
    if gone.why == "timeout":
        return Verdict("timeout", stage, f"It did not end in time (stage {stage}).\n{tail}")
    if gone.why == "memory":
        return Verdict("out_of_memory", stage, f"It used more memory than it may.\n{tail}")
    kind, _, number = gone.why.partition(" ")
    what = f"ended by signal {number}" if kind == "signal" else f"exited with status {number}"
    return Verdict("crash", stage, f"The process {what} (stage {stage}).\n{tail}")


def start_child(job: dict, pack: str) -> Generator:
    """A child that has spoken: what goes wrong before, in the box or the harness,
    is ours, whatever goes wrong after is the candidate's."""
    deadline = job["deadlines"]["load_ms"]
    yield Fork(pack, deadline, job["limits"]["memory_bytes"])
    try:
        yield Ask({"op": "ping"}, deadline)
    except Gone as gone:
        raise NoChild(f"the child did not start: {gone.why}\n{gone.output[-2000:]}") from None


def load(job: dict, pair: truth.Pair, p: Progress) -> Generator:
    started = time.monotonic()
    yield from start_child(job, job["pack"])
    p.times["fork"] = since(started)
    started = time.monotonic()
    answer = yield Ask(
        {
            "op": "load",
            "source": job["candidate"],
            "inputs_source": taskfile.without_model(job["task"]["source"]),
            "precision": job["precision"],
            "init_seed": pair.r.init_seed,
            "unsettled": pair.r.unsettled,
        },
        job["deadlines"]["load_ms"],
    )
    p.times["load"] = since(started)
    fail_on_error(answer, p)
    said = answers.loaded(answer)
    fail_if_patched(said.patched, "load")
    if p.seed_only:
        return
    names = matching(pair.state(), said.state)
    if names is None:
        p.seed_only = True
        raise Verdict("wrong_values", "load", "ModelNew's parameters and buffers are not the "
                      "reference's.", "parameters")  # fmt: skip
    if names:
        seed = inputs.derive(job["seed"], "params")
        fail_on_error((yield Ask({"op": "params", "names": names, "seed": seed}, 60000)), p)
        pair.randomise([meant for _, meant in names], seed)


def matching(reference: list, candidate: list) -> list[tuple[str, str]] | None:
    """(candidate's name, reference's name) of all that the reference has: by name,
    else by shape in the order of registration. None where neither fits."""
    if all(entry in candidate for entry in reference):
        return [(name, name) for name, _, _ in reference]
    if [s[1:] for s in reference] == [s[1:] for s in candidate]:
        return [(mine[0], meant[0]) for mine, meant in zip(candidate, reference)]
    return None


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
    if "OutOfMemory" in problem.kind or problem.kind.endswith("MemoryError"):
        raise Verdict("out_of_memory", place, told)
    if problem.compile or problem.stage in ("load", "compile"):
        raise Verdict("compile_error", place, told)
    if problem.stage == "output":
        raise Verdict("wrong_shape", place, told)
    p.compiled = True
    raise Verdict("launch_error", place, told)


def layout(pair: truth.Pair, job: dict) -> tuple[int, dict]:
    """Where each output, and each buffer that a call changes, goes in the shared
    memory."""
    seed = inputs.derive(job["seed"], "layout")
    shape_pair = truth.Pair(pair.r, copy.deepcopy(pair.eager))
    expected = shape_pair.expect(seed, "plain")
    before = inputs.buffers(pair.eager)
    moving = [(n, b) for n, b in expected.buffers.items() if not torch.equal(b, before[n])]
    at = 0
    places: dict = {"outputs": [], "buffers": [], "single": expected.single}
    for kind, items in (("outputs", [("", t) for t in expected.eager]), ("buffers", moving)):
        for name, t in items:
            size = t.numel() * t.element_size()
            places[kind].append(
                {"name": name, "offset": at, "shape": list(t.shape), "dtype": str(t.dtype)}
            )
            at += (size + ALIGN - 1) // ALIGN * ALIGN
    return at, places


def plan(job: dict) -> list[tuple[str, str]]:
    """(label, variant) of every trial, in order. The nudged one follows the plain
    one whose inputs it changes."""
    trial_list = [(f"trial-{i}", "plain") for i in range(PLAIN_TRIALS)]
    if job["protocol"] == "hardened":
        allowed = (job["task"].get("sidecar") or {}).get("variants", ["signed", "permuted"])
        others = [v for v in ("signed", "permuted", "scaled") if v in allowed]
        trial_list += [(f"variant-{v}", v) for v in ["nudged", *others]]
    return trial_list


def trials(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> Generator:
    previous: list[torch.Tensor] | None = None
    last_seed = 0
    for index, (label, variant) in enumerate(plan(job)):
        started = time.monotonic()
        try:
            if variant == "nudged":
                expected = pair.expect_nudged(last_seed)
            else:
                expected = pair.expect_exact(job["seed"], label, variant)
        except truth.Unusable:
            if variant != "plain":
                continue  # the reference itself does not take such inputs
            raise
        last_seed = expected.seed
        buffer.fill()
        p.stage = "trials" if index else "first_call"
        answer = yield Ask(
            {"op": "trial", "seed": expected.seed, "variant": variant, "bytes": buffer.size,
             "reuse": index % 2 == 1, **places},
            job["deadlines"]["call_ms"],
            [buffer.fd],
        )  # fmt: skip
        fail_on_error(answer, p)
        p.compiled = True
        stage = "first_call" if index == 0 else "trials"
        p.times[stage] = round(p.times.get(stage, 0.0) + since(started), 1)
        seen = answers.seen(answer)
        check_evidence(seen, p)
        check_shapes(seen, places)
        got = [take(buffer, place) for place in places["outputs"]]
        judge_trial(job, p, got, expected, variant, previous)
        check_buffers(buffer, places, expected)
        previous = got


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


def check_evidence(seen: answers.Seen, p: Progress) -> None:
    """Rules on what the candidate's process saw; the first that speaks wins."""
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
                      "outlier": e.outlier, "bound": limit[0] if limit else 0.0}  # fmt: skip
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
    told = (
        f"{where}: max abs error {feedback.number(e.max_abs)}, error ratio "
        f"{feedback.number(e.ratio)}, allowed {feedback.number(limit[0] if limit else 0.0)}."
    )
    return Verdict("wrong_values", "trials", told + first_wrong(x, t))


def same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """NaN equals NaN here; a scalar has to become a row to be seen as bytes."""
    return torch.equal(
        a.cpu().reshape(-1).view(torch.uint8), b.cpu().reshape(-1).view(torch.uint8)
    )


def first_wrong(x: torch.Tensor, t: torch.Tensor) -> str:
    """The first place that is plainly wrong, and how much of the output is."""
    d = (x.double() - t.double()).abs()
    scale = t.double().abs() + t.double().square().mean().sqrt()
    bad = (d > 0.01 * scale).flatten()
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


def describe(job: dict, p: Progress) -> Generator:
    """What was launched, where an interpreter ran it: an interpreter accepts what
    a compiler refuses."""
    if job["device"] != "cpu":
        return []
    p.stage = "evidence"
    answer = yield Ask({"op": "describe"}, job["deadlines"]["load_ms"])
    fail_on_error(answer, p)
    described = answers.described(answer)
    if described is None:
        return []
    missing = set(p.launches) - {name for name, _ in described}
    if missing:
        raise Verdict("hack", "evidence", f"Launches were hidden: {', '.join(sorted(missing))}.",
                      "hidden-launch")  # fmt: skip
    return [launch for _, launch in described]


def check_compiles(job: dict, p: Progress, launches: list[dict]) -> Generator:
    """What was interpreted is also compiled for a GPU, in a process that does not
    interpret."""
    started = time.monotonic()
    yield from start_child(job, job["pack"] + "+compile")
    message = {"op": "compile", "source": job["candidate"], "launches": launches,
               "target": "sm_90"}  # fmt: skip
    answer = yield Ask(message, job["deadlines"]["load_ms"])
    p.times["compile"] = since(started)
    fail_on_error(answer, p)
    problem, patched = answers.compiled(answer)
    fail_if_patched(patched, "evidence")
    if problem is not None:
        told = feedback.from_error("compile", problem)
        raise Verdict("compile_error", "evidence", told, "compiles-for-gpu")


def without_kernels(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> Generator:
    """The last call, like a timed one, but the kernels are muted: whoever is still
    right did not need them. How it fails does not matter."""
    expected = pair.expect_exact(job["seed"], "muted", "plain")
    buffer.fill()
    message = {"op": "time", "empty": False, "mute": True, "seed": expected.seed,
               "bytes": buffer.size, **places}  # fmt: skip
    try:
        answer = yield Ask(message, job["deadlines"]["call_ms"], [buffer.fd])
    except Gone:
        return
    if answers.problem(answer) is not None or not answers.muted(answer):
        return
    got = [take(buffer, place) for place in places["outputs"]]
    if all(
        truth.judge_output(x.to(r.device), t, r)[2]
        for x, t, r in zip(got, expected.truth, expected.eager)
    ):
        raise Verdict("hack", "evidence", "The output is right also when no kernel runs: "
                      "something else computes it.", "kernels-without-effect")  # fmt: skip


_reference_times: dict[tuple, dict] = {}


def timing(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> Generator:
    """Alone on the device. A timing that cannot be believed is void; the verdict
    stays, unless the output of a timed call is wrong. Which outputs are looked at
    nobody else knows."""
    yield Exclusive()
    p.stage = "timing"
    started = time.monotonic()
    told: list[float] = []
    seen: list[float] = []
    empties: list[float] = []
    every = pair.remembers(inputs.derive(job["seed"], "timing"))  # then the reference goes along
    warm, done = 0.0, False
    while not done:
        empty = len(empties) < 3
        done = clock.enough(told)
        seed = inputs.derive(job["seed"], f"timing-{len(told)}-{warm}")
        message = {"op": "time", "empty": empty, "mute": False, "seed": seed,
                   "bytes": buffer.size, **places}  # fmt: skip
        left = job["deadlines"]["timing_ms"] - int(since(started))
        buffer.fill()
        before = time.monotonic()
        answer = yield Ask(message, max(left, 1), [buffer.fd])
        waited = (time.monotonic() - before) * 1e3
        fail_on_error(answer, p)
        ms = answers.milliseconds(answer)
        if empty:
            empties.append(waited)
            continue
        if not answers.launched(answer):
            raise Verdict("hack", "timing", "A timed call launched no kernel.", "no-launch")
        if done or every or secrets.randbelow(clock.CHECK_ONE_IN) == 0:
            check_timed(job, pair, p, buffer, places, seed)
        if warm < clock.WARM_MS:
            warm += max(ms, 1e-3, waited / 10)
        elif not done:
            told.append(ms)
            seen.append(waited)
    cost = inputs_cost(pair, job) + copy_cost(buffer) + min(*empties, clock.EMPTY_MS)
    p.timing = {
        "ms": clock.summary(told),
        "reference_ms": reference_time(job, pair),
        "void": clock.disagreement(told, seen, cost),
    }
    p.times["timing"] = since(started)


def check_timed(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict, seed: int) -> None:
    """Timed calls are no other calls."""
    got = [take(buffer, place) for place in places["outputs"]]
    judge_trial(job, p, got, pair.expect(seed, "plain"), "plain", None)
    p.trials.pop()


def copy_cost(buffer) -> float:
    """What handing over the outputs of one repetition costs, in milliseconds."""
    start = time.monotonic()
    buffer.fill()
    return (time.monotonic() - start) * 3e3


def inputs_cost(pair: truth.Pair, job: dict) -> float:
    """What making the inputs of one repetition costs, in milliseconds."""
    costs = []
    for i in range(3):
        start = time.monotonic()
        inputs.make(pair.r.space, i, "plain", pair.r.device, pair.r.dtype)
        if pair.r.device != "cpu":
            torch.cuda.synchronize()
        costs.append((time.monotonic() - start) * 1e3)
    return min(costs) * 2


def reference_time(job: dict, pair: truth.Pair) -> dict:
    """The eager reference, measured once for a task and precision."""
    key = (job["task"]["source"], job["precision"], job["device"])
    if key not in _reference_times:
        watch = clock.Stopwatch(pair.r.device)
        args = inputs.make(pair.r.space, 1, "plain", pair.r.device, pair.r.dtype)
        model = copy.deepcopy(pair.eager)
        samples: list[float] = []
        with torch.no_grad():
            for _ in range(3):
                watch.run(lambda: model(*args))
            while not clock.enough(samples):
                samples.append(watch.run(lambda: model(*args))[0])
        _reference_times[key] = clock.summary(samples)
    return _reference_times[key]


# ---- the record --------------------------------------------------------------


def since(start: float) -> float:
    return round((time.monotonic() - start) * 1e3, 1)


def finite(values: dict) -> dict:
    """JSON has no Inf: a very large number stands for it."""
    return {
        k: (1e308 if isinstance(v, float) and not abs(v) < 1e308 else v) for k, v in values.items()
    }


def evidence_level(p: Progress, end: Verdict, environment: dict) -> str | None:
    if end.verdict != "correct":
        return "E0" if p.compiled else None
    if environment["box"] == "none" or p.seed_only:
        return "E2"
    return "E3"


def record(job: dict, environment: dict, p: Progress, end: Verdict) -> dict:
    last = p.trials[-1] if p.trials else {}
    full = len(p.trials) >= PLAIN_TRIALS
    told = end.told
    if p.notes:
        told = "\n".join([told, *p.notes]).strip()
    return {
        "verdict": end.verdict,
        "rule": feedback.plain(end.rule) if end.rule else None,
        "stage": end.stage,
        "compiled": p.compiled,
        "kernelbench_pass": p.stock and full,
        "hardened_pass": p.hardened and job["protocol"] == "hardened",
        "evidence": evidence_level(p, end, environment),
        "trials": p.trials,
        "max_abs": last.get("max_abs"),
        "max_rel": last.get("max_rel"),
        "error_ratio": last.get("error_ratio"),
        "feedback": feedback.shorten(feedback.plain(told)),
        "launches": {"count": len(p.launches),
                     "names": sorted({feedback.plain(n) for n in p.launches})},
        "ops": {feedback.plain(k): v for k, v in p.ops.items()},
        "times_ms": p.times,
        "timing": p.timing,
        "environment": environment,
        "infra": end.told if end.verdict == "infra" else None,
    }
