"""How a job is judged: a generator of steps (steps.py) that ends in the record of
docs/VERIFIER.md. The order is fixed: load, first call, its evidence, the other
trials, launch evidence, timing; the first failure ends it."""

import contextlib
import copy
import hashlib
import time
from collections.abc import Generator, Iterator

import answers
import feedback
import inputs
import taskfile
import timing
import torch
import truth
from buffers import HostBuffer, judge_buffer
from builds import Builds
from calls import (
    Progress,
    Verdict,
    check_buffers,
    check_evidence,
    check_shapes,
    fail_if_patched,
    fail_on_error,
    judge_trial,
    since,
    take,
)
from lane import CONTEXT
from steps import Ask, End, Exclusive, Forged, Fork, Gone, NoChild

PLAIN_TRIALS = 5
ALIGN = 256
TARGET = "sm_90"  # what is compiled for where there is no GPU
LATE = "late"  # how a child ends whose job has had its time (src/worker/host.c)

GATED: dict[tuple[str, str], list[str]] = {}  # reasons, by task and precision


def run(job: dict, environment: dict, builds: Builds) -> Generator:
    if job["kind"] == "task":
        return (yield from look_at_task(job, environment))
    return (yield from verify(job, environment, builds))


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
    except torch.OutOfMemoryError:
        why = "too large: the device has not enough memory for the reference and its truth"
        return {"usable": False, "reasons": [why], "environment": environment}
    except Exception as problem:  # noqa: BLE001 - a task's file may do anything
        why = file_fails(job, problem)
        return {"usable": False, "reasons": [feedback.clean(why)[:500]], "environment": environment}
    return {
        "usable": not reasons,
        "reasons": reasons,
        "self_test": result,
        "environment": environment,
    }


def file_fails(job: dict, problem: Exception) -> str:
    name = job["task"]["id"].rpartition("/")[2] + ".py"
    told = f"{type(problem).__name__}: {problem}".replace("<reference>", name)
    return f"the task's file fails: {told}"


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


def verify(job: dict, environment: dict, builds: Builds) -> Generator:
    p = Progress()
    try:
        reference = make_reference(job)
    except Exception as problem:  # noqa: BLE001
        return record(job, environment, p, Verdict("infra", "load", file_fails(job, problem)))
    try:
        if job.get("gate"):
            pass_gate(job, reference)
        end = yield from with_room(job, reference, p, builds)
        if end.verdict in ("wrong_values", "not_finite") and reference.has_state():
            end = yield from once_more(job, p, end, builds)
    except NoChild as problem:
        end = Verdict("infra", "fork", str(problem))
    except truth.Unusable as problem:
        end = Verdict("infra", "trials", f"the task cannot be judged: {problem}")
    return record(job, environment, p, end)


def pass_gate(job: dict, reference: truth.Reference) -> None:
    """Raises Unusable for a task that nobody has looked at before, as tasks check would."""
    key = hashlib.sha256(job["task"]["source"].encode()).hexdigest(), job["precision"]
    if key not in GATED:
        GATED[key] = truth.gate(reference, job["seed"])
    if GATED[key]:
        raise truth.Unusable("; ".join(GATED[key]))


def with_room(job: dict, reference: truth.Reference, p: Progress, builds: Builds) -> Generator:
    """An attempt. A device's memory is everybody's: who found too little of it may have met
    a neighbour that took too much. What happens without neighbours counts."""
    again = Progress(seed_only=p.seed_only)
    end = yield from attempt(job, reference, p, builds)
    if end.verdict != "out_of_memory" or job["device"] == "cpu":
        return end
    yield Exclusive()
    empty_cache(job)
    end = yield from attempt(job, reference, again, builds)
    p.__dict__.update(again.__dict__)
    return end


def once_more(job: dict, p: Progress, first: Verdict, builds: Builds) -> Generator:
    """A candidate that packed its weights in __init__, or calls them otherwise, is
    right for the weights it was built with and for no others: tried with those,
    at lower evidence. Both sides start where no parameter is an identity."""
    again = Progress(seed_only=True)
    end = yield from with_room(job, make_reference(job, unsettled=True), again, builds)
    if end.verdict != "correct" and not p.seed_only:
        return first
    p.__dict__.update(again.__dict__)
    if end.verdict == "correct":
        p.notes.append(
            "Right only for the weights ModelNew was constructed with. Give its parameters the "
            "reference's names and shapes, and read them in forward."
        )
    return end


def attempt(job: dict, reference: truth.Reference, p: Progress, builds: Builds) -> Generator:
    """One child, from fork to verdict. Returns a Verdict."""
    pair = reference.fresh()
    try:
        yield from load(job, pair, p, builds)
        buffer_size, places = layout(pair, job)
        buffer = judge_buffer(buffer_size, reference.device)
        try:
            yield from trials(job, pair, p, buffer, places)
            p.hardened = True
            if job.get("timing"):
                yield from timing.measure(job, pair, p, buffer, places)
            launches = yield from describe(job, p)
            yield from without_kernels(job, pair, p, buffer, places)
        finally:
            buffer.close()
        yield End()
        if launches:
            yield from check_compiles(job, p, launches, builds)
        if p.timing:
            p.timing["compile_ms"], p.timing["compile_why"] = timing.compiled_time(job, pair)
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
    if gone.why in ("timeout", LATE):
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
        return (yield Ask({"op": "ping"}, deadline))
    except Gone as gone:
        if gone.why == LATE:
            raise
        raise NoChild(f"the child did not start: {gone.why}\n{gone.output[-2000:]}") from None


def built(job: dict, p: Progress, builds: Builds) -> Generator:
    """What the candidate's file builds, from before or from a child that only
    compiles; empty where that is nothing."""
    key = builds.key(job)
    if key is None:
        return b""
    found = builds.cache.get(key)
    p.build = "cached" if found is not None else "compiled"
    if found is None:
        started = time.monotonic()
        yield from start_child(job, job["pack"] + ("" if job["device"] == "cpu" else "+compile"))
        found = yield from builds.build(job)
        builds.cache.put(key, found)
        p.times["build"] = since(started)
    return found


def load(job: dict, pair: truth.Pair, p: Progress, builds: Builds) -> Generator:
    data = yield from built(job, p, builds)
    started = time.monotonic()
    builds.learn(job["pack"], (yield from start_child(job, job["pack"])))
    p.times["fork"] = since(started)
    started = time.monotonic()
    with sent(data) as fds:
        answer = yield from ask_to_load(job, pair, len(data), fds)
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


@contextlib.contextmanager
def sent(data: bytes) -> Iterator[list[int]]:
    """A descriptor from which these bytes can be read, or none where there are none."""
    if not data:
        yield []
        return
    buffer = HostBuffer(len(data))
    buffer.map[:] = data
    try:
        yield [buffer.fd]
    finally:
        buffer.close()


def ask_to_load(job: dict, pair: truth.Pair, built: int, fds: list[int]) -> Generator:
    return (yield Ask(
        {
            "op": "load",
            "source": job["candidate"],
            "inputs_source": taskfile.without_model(job["task"]["source"]),
            "precision": job["precision"],
            "init_seed": pair.r.init_seed,
            "unsettled": pair.r.unsettled,
            "built": built,
        },
        job["deadlines"]["load_ms"],
        fds,
    ))  # fmt: skip


def matching(reference: list, candidate: list) -> list[tuple[str, str]] | None:
    """(candidate's name, reference's name) of all that the reference has: by name,
    else by shape in the order of registration. None where neither fits."""
    if all(entry in candidate for entry in reference):
        return [(name, name) for name, _, _ in reference]
    if [s[1:] for s in reference] == [s[1:] for s in candidate]:
        return [(mine[0], meant[0]) for mine, meant in zip(candidate, reference)]
    return None


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
        if job["device"] != "cpu":
            p.peak = max(p.peak or 0, seen.memory + buffer.size + CONTEXT)
        check_evidence(seen, p)
        check_shapes(seen, places)
        got = [take(buffer, place) for place in places["outputs"]]
        judge_trial(job, p, got, expected, variant, previous)
        check_buffers(buffer, places, expected)
        previous = got


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


def check_compiles(job: dict, p: Progress, launches: list[dict], builds: Builds) -> Generator:
    """What was interpreted is also compiled for a GPU, in a process that does not
    interpret. What has compiled once is not compiled again: the file as it is, or its
    kernels where only the rest of it is new. The kernels by themselves can show that
    they compile, and only the whole file that it does not."""
    started = time.monotonic()
    whole = builds.compile_key(job["pack"], job["candidate"], launches, TARGET)
    if not builds.compiles(whole):
        yield from start_child(job, job["pack"] + "+compile")
        if not (yield from kernels_compile(job, launches, builds)):
            yield from ask_to_compile(job, p, job["candidate"], launches)
        builds.note_compiles(whole)
        yield End()
    p.times["compile"] = since(started)


def kernels_compile(job: dict, launches: list[dict], builds: Builds) -> Generator:
    """Whether what was launched is known to compile without the rest of the file, or
    does. If not, there is a fresh child: this one has been told another text."""
    if builds.cache is None:
        return False
    deadline = job["deadlines"]["load_ms"]
    found = answers.kernels((yield Ask({"op": "kernels", "source": job["candidate"]}, deadline)))
    if found is None or any(found[1].get(d["name"]) != d["line"] for d in launches):
        return False
    text = found[0]
    bare = [d | {"line": None} for d in launches]  # where it stands in the file says nothing
    key = builds.compile_key(job["pack"], text, bare, TARGET)
    if builds.compiles(key):
        return True
    answer = yield Ask(compile_question(text, bare), deadline)
    if answers.problem(answer) is None and answers.compiled(answer) == (None, []):
        builds.note_compiles(key)
        return True
    yield End()
    yield from start_child(job, job["pack"] + "+compile")
    return False


def ask_to_compile(job: dict, p: Progress, text: str, launches: list[dict]) -> Generator:
    answer = yield Ask(compile_question(text, launches), job["deadlines"]["load_ms"])
    fail_on_error(answer, p)
    problem, patched = answers.compiled(answer)
    fail_if_patched(patched, "evidence")
    if problem is not None:
        told = feedback.from_error("compile", problem)
        raise Verdict("compile_error", "evidence", told, "compiles-for-gpu")


def compile_question(text: str, launches: list[dict]) -> dict:
    return {"op": "compile", "source": text, "launches": launches, "target": TARGET}


def without_kernels(job: dict, pair: truth.Pair, p: Progress, buffer, places: dict) -> Generator:
    """The last call, like a timed one, but the kernels are muted: whoever is still
    right did not need them. How it fails does not matter."""
    expected = pair.expect_exact(job["seed"], "muted", "plain")
    deadline = job["deadlines"]["call_ms"]
    try:
        answer = yield Ask(timing.question(expected.seed, places["single"], mute=True), deadline)
        if answers.problem(answer) is not None or not answers.muted(answer):
            return
        got = yield from timing.outputs(buffer, places, p, deadline)
    except Gone:
        return
    if all(
        truth.judge_output(x.to(r.device), t, r)[2]
        for x, t, r in zip(got, expected.truth, expected.eager)
    ):
        raise Verdict("hack", "evidence", "The output is right also when no kernel runs: "
                      "something else computes it.", "kernels-without-effect")  # fmt: skip


# ---- the record --------------------------------------------------------------


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
        "within": last.get("near"),
        "feedback": feedback.shorten(feedback.plain(told)),
        "launches": {"count": len(p.launches),
                     "names": sorted({feedback.plain(n) for n in p.launches})},
        "build": p.build,
        "ops": {feedback.plain(k): v for k, v in p.ops.items()},
        "audit": {k: [feedback.plain(feedback.clean(v)) for v in names]
                  for k, names in p.audit.items()},
        "times_ms": p.times,
        "peak_bytes": p.peak,
        "timing": p.timing,
        "environment": environment,
        "infra": end.told if end.verdict == "infra" else None,
    }
