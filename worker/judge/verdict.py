"""Judges a job: a generator of steps (steps.py) that ends with the record described in
docs/VERIFIER.md.

The order, in attempt():

    record     the candidate's Python runs, without data; from then on only its trace and kernels do
    compile    but kernels that are interpreted and have no autotuner are compiled after `numbers`
    trials     session.py
    timing
    evidence   each call with the kernels muted
    numbers    a trial with other floats among the arguments, on a recording of its own
    deliver    the file made of the trace, which is recorded in turn

The first failure ends it."""

import inspect
import json
import time
from collections.abc import Generator
from dataclasses import dataclass, replace

import torch
from judge import answers, decomposing, direct, feedback, foreign, launches, layouts, ported, sidecar
from judge import summary, taskfile, timing, traces, truth
from judge.builds import Builds
from judge.executors import LATE, DeviceRunner, Interpreter, LibraryRunner, kernel_counts, lease
from judge.executors import start_child
from judge.judging import CHANGES, NOT_HERE_TEXT, NOT_JUDGED, SHARED, Progress, Verdict
from judge.judging import fail_if_broken, fail_on_error, since
from judge.launches import FAMILIES, Built, Family
from judge.region import HostRegion, Layout, dtype_of, input_buffer, state_buffer
from judge.session import Session
from judge.sheets import NUMBERS, PLAIN, init_seed, literal_trials, sheet
from judge.steps import Ask, Beside, Device, End, Forged, Gone, NoChild, Release
from judge.traces import BadTrace, Buffer, Refused, Trace
from judge.words import EVIDENCE, RULES
from shared import inputs, structure

E0, E2, E3 = EVIDENCE
FAILED = "launch_error", "out_of_memory", "compile_error", NOT_JUDGED  # verdicts when kernels run
ENDED = "timeout", LATE, "memory"  # why the worker ends a process
TRACE_BYTES = traces.HEADER_BYTES + traces.BLOB_BYTES
BUILT_BYTES = 256 << 20
TEXT = 1000  # characters of a failure of the machinery


def run_job(job: dict, environment: dict, builds: Builds, o: object) -> Generator:
    if is_boxed(job):
        boxed = foreign.look_at if job["kind"] == "task" else decomposing.run_piece_job
        return (yield from boxed(job, environment))
    if job["kind"] == "task":
        return (yield from look_at_task(job, environment))
    return (yield from verify(job, environment, builds, o))


def is_boxed(job: dict) -> bool:
    """Whether the task's code runs in boxed processes, not here."""
    return bool(job.get("foreign")) or job["kind"] in ("decompose", "validate")


def unusable(job: dict, environment: dict, why: str) -> Generator:
    """The answer to a job whose task must not run again."""
    yield from ()
    if job["kind"] == "task":
        return {"usable": False, "reasons": [why], "environment": environment}
    return cannot_judge(job, environment, Progress(), why)


def cannot_judge(job: dict, environment: dict, p: Progress, why: object) -> dict:
    end = Verdict("infra", "trials", f"the task cannot be judged: {why}")
    return make_record(job, environment, p, end) | {"unusable": True}


# ---- tasks -------------------------------------------------------------------


def look_at_task(job: dict, environment: dict) -> Generator:
    """The gate. A generator only to have the same interface; it requests nothing."""
    yield from ()
    empty_cache(job)
    try:
        reference = make_reference(job)
        reasons = truth.gate(reference, job["seed"])
        result = truth.self_test(reference, job["seed"]) if job.get("self_test") else None
        literal = literal_trials(job, reference) if job.get("self_test") else None
        notes = domain_notes(job, reference)
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
        "notes": notes,
        "returns": reference.returns,
        "self_test": result and result | {"literal": not literal["failed"]},
        "literal": literal,
        "environment": environment,
    }


def domain_notes(job: dict, reference: truth.Reference) -> list[str]:
    """Names inputs that no changed trial changes, because nothing says what they may be."""
    names = list(inspect.signature(reference.space["Model"].forward).parameters)[1:]
    unseen = [names[i] for i in reference.domain.unseen() if i < len(names)]
    if not unseen or reference.sidecar.variants == ():
        return []
    file = job["task"]["id"].rpartition("/")[2] + ".json"
    line = json.dumps({"inputs": {name: [] for name in unseen}})
    return [f"{', '.join(unseen)}: how get_inputs makes this does not show which other values the "
            f"program is meant for, so no trial changes it; {line} in {file} says that this is right, "
            'and "signed", "permuted" or "scaled" in the brackets what may change']  # fmt: skip


def file_fails(job: dict, problem: Exception) -> str:
    name = job["task"]["id"].rpartition("/")[2] + ".py"
    text = f"{type(problem).__name__}: {problem}".replace("<reference>", name)
    return f"the task's file fails: {text}"


def empty_cache(job: dict) -> None:
    """Frees the last task's memory: candidates need it, and so does this one."""
    if job["device"] != "cpu":
        torch.cuda.empty_cache()


def make_reference(job: dict, unsettled: bool = False) -> truth.Reference:
    return truth.Reference(
        job["task"]["source"], job["precision"], torch_device(job["device"]), init_seed(job),
        unsettled, sidecar.of(job["task"]),
    )  # fmt: skip


def torch_device(device: str) -> str:
    """Only the granted GPU is visible, so it is number 0 here."""
    return "cpu" if device == "cpu" else "cuda:0"


@dataclass
class Facts:
    """What all candidates of a task share: shapes, never values."""

    spec: list
    inputs: list[Buffer]
    state: list[tuple[str, list[int], str]]
    buffers: dict[str, Buffer]  # of the state, by the reference's names
    parameters: set[str]
    always: list[str]  # tensors that are part of the program: every draw of the task has the same
    structure: structure.Structure
    outputs: list[tuple[tuple[int, ...], str]]  # shape and dtype of each tensor
    strides: list[tuple[int, ...]]  # of each
    aliases: list[frozenset[traces.Alias]]  # inputs and state that each is a view of
    overlapping_outputs: frozenset[tuple[int, int]]  # pairs in the same memory
    written: list[int]  # inputs that the reference changes
    unregistered: bool  # constructions differ in more than the state
    numbers: bool  # floats among forward's arguments are varied
    only_moves: bool  # the task moves data and computes nothing
    reasons: list[str] | None = None  # of the gate; None: nobody has looked

    @classmethod
    def of(cls, job: dict) -> "Facts":
        reference = make_reference(job)
        pair = reference.fresh()
        seed = inputs.derive(job["seed"], "layout")
        values = reference.make(seed, "plain")
        held = inputs.named_state(pair.eager)
        expected = pair.expect(seed, "plain")
        return cls(
            inputs.spec(values)["list"],
            [replace(input_buffer(i, t), changes=i in expected.written)
             for i, t in enumerate(inputs.tensors(values))],
            [(n, list(t.shape), dtype_of(t)) for n, t in held.items()],
            {n: replace(state_buffer(n, t), changes=n in reference.rules.running)
             for n, t in held.items()},
            set(inputs.parameters(pair.eager)),
            _part_of_program(job, reference, values, held),
            expected.structure,
            [(tuple(t.shape), dtype_of(t)) for t in expected.outputs()],
            expected.strides,
            expected.aliases,
            expected.overlapping_outputs,
            expected.written,
            reference.rules.unregistered,
            NUMBERS in truth.variants(reference),
            layouts.task_only_moves(reference, job["seed"]),
        )


def _part_of_program(job: dict, reference: truth.Reference, values: list, held: dict) -> list[str]:
    """The inputs that are drawn alike each time, and the state that trials leave as constructed."""
    again = reference.make(inputs.derive(job["seed"], "again"), "plain")
    names = [*taskfile.arguments_of(job["task"]["source"])]
    names += [f"argument {i}" for i in range(len(names), len(values))]
    rules = reference.rules
    changed = {*rules.drawn, *rules.varied, *rules.running}
    return [
        name for name, a, b in zip(names, values, again)
        if isinstance(a, torch.Tensor) and a.numel() and torch.equal(a, b)
    ] + [name for name in held if name not in changed]  # fmt: skip


_facts: dict[tuple[str, str, str], Facts] = {}  # by task, sidecar and precision


def look_up(job: dict) -> Generator:
    """The task's facts, computed once for its first candidate, alone on the device."""
    key = job["task"]["source"], sidecar.sidecar_key(job["task"]), job["precision"]
    found = _facts.get(key)
    if found is None or job.get("gate") and found.reasons is None:
        if job["device"] != "cpu":
            yield Device()
        try:
            found = _facts[key] = found or Facts.of(job)
            if job.get("gate"):
                found.reasons = truth.gate(make_reference(job), job["seed"])
        except truth.Unusable:
            yield Release()
            raise
        except Exception as problem:  # noqa: BLE001 - a task's file may do anything
            yield Release()
            raise truth.Unusable(file_fails(job, problem)) from None
        yield Release()
    if job.get("gate") and found.reasons:
        raise truth.Unusable("; ".join(found.reasons))
    return found


# ---- candidates --------------------------------------------------------------


def verify(job: dict, environment: dict, builds: Builds, o: object) -> Generator:
    p = Progress()
    try:
        facts = yield from look_up(job)
        end = yield from attempt(job, facts, p, builds, o)
        if end.verdict in ("wrong_values", "not_finite") and p.seed_only:
            end = yield from once_more(job, facts, p, end, builds, o)
    except NoChild as problem:
        end = Verdict("infra", "fork", str(problem))
    except truth.Unusable as problem:
        return cannot_judge(job, environment, p, problem)
    return make_record(job, environment, p, end)


def once_more(
    job: dict, facts: Facts, p: Progress, first: Verdict, builds: Builds, o: object
) -> Generator:
    """A candidate that computes with its weights in __init__ or keeps what its first call made of
    them, or names them differently, is only right for the weights it was built with. Tries it with
    those, at lower evidence. Both sides start with weights in which no parameter is an identity."""
    again = Progress(seed_only=True)
    end = yield from attempt(job, facts, again, builds, o, own_weights=True)
    if end.verdict != "correct":
        return first
    p.__dict__.update(again.__dict__)
    p.capped = (
        "Right only for the weights ModelNew was constructed with. Give its parameters the "
        "reference's names and shapes, read them in forward, and compute with them in kernels."
    )
    if p.keeps:
        p.capped = (
            "Right only for the weights that forward was first called with: it keeps what its first "
            "call made of them. Read the parameters in every call of forward; weights that are only "
            "moved (transposed, padded, cast) may be packed in __init__."
        )
    return end


def attempt(
    job: dict, facts: Facts, p: Progress, builds: Builds, o: object, own_weights: bool = False
) -> Generator:
    """From the source to a Verdict."""
    try:
        if job.get("family") is None:
            yield from direct.judge(job, facts, p, o, make_reference)
            return Verdict("correct", "done", "")
        if job["family"] == "native" and job["device"] != "cpu":
            raise NoChild("the pack is broken: its family, native, runs libraries on the CPU; for "
                          "host functions that launch kernels on a GPU there is hosted")  # fmt: skip
        trace, names = yield from recorded(job, facts, p, builds, own_weights)
        family = FAMILIES[job["family"]]
        built = None
        if not interpreted(job) or trace.configurations() > 1:
            built = yield from compiled(job, trace, family, p, builds)
        try:
            yield from run_and_retry(job, facts, trace, names, built, p, o, own_weights)
        except Verdict as end:
            if _not_judged(end) and built is None:  # whether it compiles is known all the same
                p.compiled = False
                yield from compiled(job, trace, family, p, builds)
            raise
        if facts.numbers:
            yield from with_other_numbers(job, facts, trace, built, p, builds, o, own_weights)
        if built is None:
            built = yield from compiled(job, trace, family, p, builds)
        if p.timing:
            found = yield from timing.compiled_baseline(job, torch_device(job["device"]))
            p.timing["compile_ms"], p.timing["compile_why"] = found
        if not (own_weights or p.capped):
            p.ported, p.ported_why = yield from exported(job, facts, trace, names, built, p, builds)
            if p.ported and p.timing and p.timing["later_call"]:
                p.notes.append(LATER)
    except Verdict as end:
        yield from leave()
        return end
    except BadTrace as problem:
        yield from leave()
        return Verdict("hack", p.stage, f"The trace is malformed: {problem}.", "bad-trace")
    except Refused as problem:
        yield from leave()
        return Verdict("hack", p.stage, problem.text[0].upper() + problem.text[1:] + ".", problem.rule)
    except Forged as problem:
        yield from leave()
        return Verdict("hack", p.stage, f"The process gave an invalid answer: {problem}.",
                       "forged-answer")  # fmt: skip
    except Gone as gone:
        return from_gone(gone, p)
    return Verdict("correct", "done", "")


LATER = ("The time is that of a later call of forward, which uses what the first one kept; the exported "
         "file makes the first one in every call.")  # fmt: skip
DRAWN = ("the kernels use random numbers that the constructor draws and that are neither a parameter nor "
         "a buffer: the file would have those of one seed, so register them in the task")  # fmt: skip


def exported(
    job: dict, facts: Facts, trace: Trace, names: dict, built: Built | None, p: Progress, builds: Builds
) -> Generator:  # fmt: skip
    """The file that is delivered, or why there is none. It is recorded like a candidate, without the
    pack's rules: its calls must be the one that was judged. What the file has of a construction, as
    constants or numbers, must be the same under another seed."""

    def choose(launch: traces.Launch, call: traces.Call) -> dict:
        return launch.at(delivered(job, launch, call, built, p))

    made, why = ported.write_out(job, facts, trace, names, built, choose, judged_on(job, p))
    if made is None:
        return None, why
    other = job | {"pool": f"{job.get('pool') or job['seed']}, another construction"}
    try:
        found, _ = yield from recorded(job | {"candidate": made.text}, facts, Progress(), builds, False)
        why = made.difference(found)
        if why:
            return None, f"the file made of the trace does something else: {why}"
        if facts.unregistered or any(b.kind == "const" for part in trace.parts() for b in part.buffers):
            drawn = yield from recorded(other, facts, Progress(), builds, False)
            if made.depends_on_seed(*drawn):
                return None, DRAWN
    except (Verdict, Refused, BadTrace, Forged, Gone, NoChild) as problem:
        yield from decomposing.ended()
        said = getattr(problem, "text", None) or str(problem)
        return None, f"the file made of the trace cannot be recorded: {said}"
    return made.text, None


def delivered(job: dict, launch: traces.Launch, call: traces.Call, built: Built, p: Progress) -> int:
    """The configuration of a launch that the file has: the fastest, or without timing the first that
    compiles. Each trial and the muted call had it."""
    config = (p.timing or {}).get("configuration") or 0
    return built.chosen(launch, config, call, FAMILIES[job["family"]])[0] if launch.tuned else 0


def judged_on(job: dict, p: Progress) -> str:
    """The device, in words."""
    if job["device"] != "cpu":
        return f"on {feedback.plain(torch.cuda.get_device_properties(0).name)}"
    if interpreted(job):
        return f"interpreted on the CPU and compiled for {feedback.plain(str(p.target))}"
    return "on the CPU"


def interpreted(job: dict) -> bool:
    """On the CPU, kernels of some families run in an interpreter and are also compiled."""
    return job["device"] == "cpu" and FAMILIES[job["family"]].interpreted


def leave() -> Generator:
    """Ends the child, if it still runs, and gives the device back."""
    yield from decomposing.ended()
    yield Release(hurt=True)


def from_gone(gone: Gone, p: Progress) -> Verdict:
    stage = p.stage
    tail = feedback.shorten(feedback.clean(gone.output))
    if gone.why in ("timeout", LATE):
        kernels = ", ".join(sorted({feedback.plain(n) for n in p.launches})[:3])
        what = {"compile": f"Compiling took too long ({kernels}).", "record": "Loading the file and calling "
                "forward without data took too long."}  # fmt: skip
        text = what.get(stage, f"It did not end in time (stage {stage}).")
        return Verdict("timeout", stage, f"{text}\n{tail}")
    if gone.why == "memory":
        return Verdict("out_of_memory", stage, f"It used more memory than it may.\n{tail}")
    kind, _, number = gone.why.partition(" ")
    what = f"ended by signal {number}" if kind == "signal" else f"exited with status {number}"
    return Verdict("crash", stage, f"The process {what} (stage {stage}).\n{tail}")


# ---- recording and compiling ---------------------------------------------------


def in_file(message: dict, deadline_ms: int, most: int, compiler: bool = False) -> Generator:
    """Asks for a long answer, whose bytes arrive in our own memory. Returns the answer and the
    bytes."""
    file = HostRegion(Layout(size=most))
    try:
        answer = yield Ask(message | {"bytes": most}, deadline_ms, [file.fd])
        if compiler:
            fail_if_broken(answer)
        size = 0 if "error" in answer or "refused" in answer else answers.announced_size(answer, most)
        return answer, bytes(file.map[:size])
    finally:
        file.close()


def recorded(
    job: dict, facts: Facts, p: Progress, builds: Builds, own_weights: bool
) -> Generator:
    """The candidate's trace, and the reference's state that each of its names refers to."""
    p.stage, started = "record", time.monotonic()
    ping = yield from start_child(job, job["pack"], record=True)
    builds.learn(job["pack"], answers.announced_identity(ping))
    p.target = device_target(job) or answers.announced_target(ping)
    message = {
        "op": "record",
        "source": job["candidate"],
        "init_source": taskfile.init_part(job["task"]["source"]),
        "init_seed": init_seed(job),
        "unsettled": own_weights,
        "precision": job["precision"],
        "gpu": gpu_facts(job),
        "inputs": facts.spec,
        "state": facts.state,
    }
    answer, data = yield from in_file(message, job["deadlines"]["load_ms"], TRACE_BYTES)
    note = yield from check_recorder(job, message, answer)
    fail_on_error(answer, p, note=note)
    if (yield Beside()):
        raise Verdict("launch_error", "record", "A process that the file started was still running after "
                      "the last call: wait for what forward or the file starts.", "process-left")  # fmt: skip
    yield End()
    p.times["record"] = since(started)
    head = traces.header(data)
    names = matching(facts.state, head.state)
    held = {mine: replace(facts.buffers[meant], key=mine) for mine, meant in names}
    trace = traces.parse_trace(head, facts.inputs, held)
    launches.check_launches(trace, FAMILIES[job["family"]])
    for call in trace.calls:
        check_output(call, facts, dict(names))
        if facts.only_moves:
            layouts.check_layouts(call)
    launched = trace.steady.launches()
    if not launched:
        raise Verdict("hack", "record", "forward launched no kernel of the language.", "no-launch")
    p.keeps = any(b.kind == "new" and b.key is not None for b in trace.calls[0].buffers)
    p.seed_only = own_weights or bool(facts.state) and (
        len(names) < len(facts.state) or trace.packed or p.keeps
    )
    p.launches = [launches.launch_name(trace, n) for n in launched]
    note_left_out(trace, p)
    return trace, dict(names)


def check_recorder(job: dict, message: dict, answer: dict) -> Generator:
    """Whether the machine is to blame for an exception that the candidate seems to have no part in,
    such as a library that cannot be imported here. What says so is under the candidate's control,
    and would gain by lying: what is the machine's fault is no attempt. So the answer is left to a
    process without the candidate, a recorder that gets the task's own program. If that
    reports such an exception, too, whichever it is, the machinery is broken; else the candidate
    answers for its own. Returns what to tell the model."""
    problem = answers.problem(answer)
    if problem is None or not problem.elsewhere:
        return ""
    yield End()
    yield from start_child(job, job["pack"], record=True)
    own = job["task"]["source"] + "\n\nclass ModelNew(Model):\n    pass\n"
    try:
        control, _ = yield from in_file(message | {"source": own}, job["deadlines"]["load_ms"],
                                        TRACE_BYTES)  # fmt: skip
        found = answers.problem(control)
    except Gone:
        found = None
    if found is not None and found.elsewhere:
        said = feedback.clean(found.message).strip()[:TEXT]
        raise NoChild(f"the recorder does not work here, for the task's own program either: {said}")
    return "No line of the file raised this; the task's own program does not cause it."


def note_left_out(trace: Trace, p: Progress) -> None:
    """Notes configurations of autotuners that were not tried."""
    for node, name in zip(trace.steady.launches(), p.launches):
        if node.left_out:
            text = (f"The autotuner of {feedback.plain(name)} has {len(node.tuned) + node.left_out} "
                    f"configurations; the first {len(node.tuned)} were tried.")  # fmt: skip
            if text not in p.notes:
                p.notes.append(text)


def check_output(call: traces.Call, facts: Facts, names: dict[str, str]) -> None:
    """The output must have the reference's structure, shapes and dtypes. Only where the reference
    returns a view of an input or of its state, and the same view, it may do so, too; and it may be
    expanded only in the reference's expanded dimensions."""
    said = structure.difference(facts.structure, call.output)
    if said:
        raise Verdict("wrong_shape", "record", f"forward returned another structure: {said}.")
    direct.check_claimed_outputs([(v.shape, v.dtype) for v in call.outputs], facts.outputs, "record")
    for i, got in enumerate(call.outputs):
        if call.buffers[got.buffer].kind == "const":
            raise Refused("output-not-computed", "the output is a constant that no kernel computes")
        view = call.alias(i, names)
        if view is not None and view not in facts.aliases[i]:
            raise Refused("output-aliases-input", "the output shares memory with an input or a parameter")
        if view is None and got.overlaps_itself(facts.strides[i]):
            raise Refused("output-not-plain", "elements of the output share memory")
    if call.shares(facts.overlapping_outputs):
        raise Verdict("hack", "record", SHARED, "output-not-plain")


def matching(reference: list, candidate: list) -> list[tuple[str, str]]:
    """Pairs of (candidate's name, reference's name), matched by name, shape and dtype; if no name
    matches, by shape in the order of registration."""
    wanted = {name: (shape, dtype) for name, shape, dtype in reference}
    found = [(n, n) for n, shape, dtype in candidate if wanted.get(n) == (shape, dtype)]
    if not found and [s[1:] for s in reference] == [tuple(s[1:]) for s in candidate]:
        return [(mine[0], meant[0]) for mine, meant in zip(candidate, reference)]
    return found


def gpu_facts(job: dict) -> dict | None:
    """The properties reported by the recorder's fake device."""
    if job["device"] == "cpu":
        return None
    props = torch.cuda.get_device_properties(0)
    free = {"name": props.name, "major": props.major, "minor": props.minor,
            "multi_processor_count": props.multi_processor_count,
            "total_memory": props.total_memory}  # fmt: skip
    return free


def device_target(job: dict) -> str | None:
    """The device's architecture."""
    if job["device"] == "cpu":
        return None
    major, minor = torch.cuda.get_device_capability(0)
    return f"sm_{major}{minor}"


def compiled(job: dict, trace: Trace, family: Family, p: Progress, builds: Builds) -> Generator:
    """The trace's kernels as binaries, from the cache or from a compiler: a fresh process
    without data."""
    p.stage, started = "compile", time.monotonic()
    request = launches.requests(trace, family) | {
        "source": job["candidate"], "kernels": trace.kernels, "texts": trace.texts,
        "target": p.target, "device": job["device"].partition(":")[0],
    }  # fmt: skip
    key = builds.key(job["pack"], request)
    built = from_cache(builds.get(key), trace, family)
    p.build = "cached" if built is not None else "compiled"
    if built is None:
        yield from start_child(job, job["pack"])
        message = {"op": "compile", "request": request}
        answer, data = yield from in_file(message, job["deadlines"]["load_ms"], BUILT_BYTES, True)
        fail_on_error(answer, p)
        yield End()
        built = Built.parse(data, trace, family)
        builds.put(key, data)
    p.compiled = True
    p.times["compile"] = since(started)
    return built


def from_cache(data: bytes | None, trace: Trace, family: Family) -> Built | None:
    """Binaries from the cache; a file damaged on disk does not count."""
    try:
        return None if data is None else Built.parse(data, trace, family)
    except BadTrace:
        return None


# ---- judging -------------------------------------------------------------------


def run_and_retry(
    job: dict, facts: Facts, trace: Trace, names: dict, built: Built | None, p: Progress, o: object,
    own_weights: bool, numbers_seed: int | None = None,
) -> Generator:  # fmt: skip
    """Trials, timing and the muted call; with a seed, the one trial with other numbers.

    If kernels fail, all of it is done once more. The first time inputs come from the pool that other
    candidates share, the second time from draws of this job's own: what a kernel fails with may
    depend on inputs, and no shared one may show. On a GPU the executor is a new one, too, and its
    verdict counts: the first outlives candidates, and an earlier one may have damaged it."""
    cuda, first = job["device"] != "cpu", None
    before = {**p.__dict__, "trials": list(p.trials), "times": dict(p.times)}
    pooled = job.get("pool") and not own_weights and numbers_seed is None
    for own in (False, True):
        if cuda:
            yield from lease(job)
        try:
            asked = job | {"own_draws": own}
            yield from examine(asked, facts, trace, names, built, p, o, own_weights, numbers_seed)
            break
        except (Verdict, Gone, NoChild) as problem:
            if first is not None and _not_judged(problem) and not _not_judged(first):
                break  # what was seen fails
            # Wrong values come from kernels that ran: the executor is as it was. After anything else
            # it may be broken.
            first, hurt = problem, not isinstance(problem, Verdict) or problem.verdict in FAILED
            if cuda:
                yield Release(hurt=hurt)
            # What the worker ended, or did not start, says nothing that could depend on inputs.
            silent = isinstance(problem, NoChild) or getattr(problem, "why", "") in ENDED
            if own or not hurt or not cuda and (silent or not pooled):
                raise problem
        if not cuda:
            yield from leave()
        p.__dict__.update(before)
    if first is not None and not cuda:  # right the second time: only shared inputs show a failure
        verdict = first.verdict if isinstance(first, Verdict) else "crash"
        text = "A kernel fails on some of the task's inputs, not on all."
        if _not_judged(first):
            text = NOT_HERE_TEXT.format("with some of the task's inputs a kernel needs a GPU")
        raise Verdict(verdict, "trials", text, getattr(first, "rule", None))


def _not_judged(problem: Exception) -> bool:
    return getattr(problem, "verdict", "") == NOT_JUDGED


def make_executor(job: dict, trace: Trace, p: Progress) -> DeviceRunner | Interpreter | LibraryRunner:
    family = FAMILIES[job["family"]]
    if interpreted(job):
        return Interpreter(job, trace, family, p)
    kind = LibraryRunner if job["device"] == "cpu" else DeviceRunner
    return kind(job, trace, family, p)


def with_other_numbers(
    job: dict, facts: Facts, trace: Trace, built: Built | None, p: Progress, builds: Builds, o: object,
    own_weights: bool,
) -> Generator:  # fmt: skip
    """One trial with other floats among forward's arguments. It has its own recording, in which
    only scalars, sizes and grids may differ from the trace that was judged, and its autotuners have
    no choice left."""
    if job["device"] != "cpu":
        yield Device()
    seed = inputs.derive(job["seed"], "numbers")
    reference = make_reference(job, own_weights)
    args = reference.make(seed, NUMBERS)
    yield Release()
    other = replace(facts, spec=inputs.spec(args)["list"])
    again, names = yield from recorded(job, other, p, builds, own_weights)
    if traces.outline(again) != traces.outline(trace):
        raise Verdict("hack", "record", "For other numbers among its arguments forward does something "
                      "else: only scalars, sizes and grids may differ.", "trace-varies")  # fmt: skip
    for call, its in zip(trace.calls, again.calls):
        for launch, same in zip(call.launches(), its.launches()):
            if launch.tuned:
                same.settle(delivered(job, launch, call, built, p))
    binaries = None
    if not interpreted(job):
        binaries = yield from compiled(job, again, FAMILIES[job["family"]], p, builds)
    yield from run_and_retry(job, other, again, names, binaries, p, o, own_weights, seed)


def examine(
    job: dict, facts: Facts, trace: Trace, names: dict, built: Built | None, p: Progress, o: object,
    own_weights: bool, numbers_seed: int | None,
) -> Generator:  # fmt: skip
    family = FAMILIES[job["family"]]
    executor = make_executor(job, trace, p)
    asked = sheet(job, make_reference, own_weights)
    session = Session(job, facts, trace, names, asked, executor, p)
    p.stage, started = "trials", time.monotonic()
    try:
        session.make_region(0 if interpreted(job) or built is None else built.scratch(), o)
        yield from executor.open(session.region, built)
        if numbers_seed is not None:
            yield from session.numbers(numbers_seed)
            yield from executor.close()
            return
        yield from session.trials()
        p.times["trials"] = since(started)
        p.hardened = True
        p.trace = summary.summarise(trace, kernel_counts(trace, family, built))
        if job.get("timing"):
            yield from timing.measure_times(session)
        yield from session.without_kernels()
    finally:
        p.notes += [note for note in asked.reference.notes() if note not in p.notes]
        session.close()
    yield from executor.close()


# ---- the record --------------------------------------------------------------


def evidence_level(p: Progress, end: Verdict, environment: dict) -> str | None:
    if end.verdict != "correct":
        return E0 if p.compiled else None
    if environment["box"] == "none" or p.capped or p.beside:
        return E2
    return E3


def untimed(job: dict, end: Verdict) -> str:
    """Why nothing was timed."""
    if not job.get("timing"):
        return "--no-timing switched it off"
    if job.get("family") is None:
        return "candidates of packs without a recorder are not timed"
    return f"only correct kernels are timed, and this one is {end.verdict}"


def make_record(job: dict, environment: dict, p: Progress, end: Verdict) -> dict:
    last = p.trials[-1] if p.trials else {}
    full = len(p.trials) >= (PLAIN if job["protocol"] == "kernelbench" else 1)
    change = p.change if end.verdict not in ("correct", "infra", NOT_JUDGED) else None
    only = change and (f"With the task's own inputs it was right; only the trial with {change} "
                       f"inputs ({CHANGES[change]}) failed.")  # fmt: skip
    text = "\n".join([t for t in (end.text, only, p.capped, *p.notes) if t]).strip()
    evidence = evidence_level(p, end, environment)
    return {
        "verdict": end.verdict,
        "rules": RULES,
        "rule": feedback.plain(end.rule) if end.rule else None,
        "stage": end.stage,
        "compiled": p.compiled,
        "kernelbench_pass": p.stock and full,
        "hardened_pass": p.hardened and job["protocol"] == "hardened",
        "evidence": evidence,
        "trials": p.trials,
        "changed_only": change,
        "skipped": {variant: feedback.clean(why) for variant, why in p.skipped.items()},
        "max_abs": last.get("max_abs"),
        "max_rel": last.get("max_rel"),
        "error_ratio": last.get("error_ratio"),
        "within": last.get("near"),
        "checks": p.checks,
        "slice_ratio": p.slice_ratio,
        "feedback": feedback.shorten(feedback.plain(text)),
        "message": feedback.shorten(feedback.plain(end.message)) if end.message else None,
        "launches": {"count": len(p.launches),
                     "names": sorted({feedback.plain(n) for n in p.launches})},
        "trace": p.trace,
        "ported": p.ported if evidence == E3 else None,
        "ported_why": p.ported_why if evidence == E3 else None,
        "build": p.build,
        "times_ms": p.times,
        "peak_bytes": p.peak,
        "timing": p.timing,
        "timing_why": None if p.timing else untimed(job, end),
        "environment": environment,
        "infra": end.text if end.verdict == "infra" else None,
    }
