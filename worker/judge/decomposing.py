"""The jobs `decompose` and `validate`: takes a task apart, and decides which pieces are accepted.

No process that runs a piece decides anything. The task and each piece run in boxed processes of
their own, one after the other; inputs and outputs travel as bytes through memory that the judge
owns, and only the judge compares them. The check of a piece's text (piece_language.py) comes first
and executes nothing: an accepted piece becomes a task, which the judge will run itself."""

import json
from collections.abc import Generator
from dataclasses import dataclass, field

import torch
from judge import piece_language, programs, proposal, taskfile
from judge.programs import Blob, Program
from judge.proposal import Proposal, Sub
from judge.reasons import Finding
from judge.steps import End, Forged, Gone, NoChild
from shared import inputs, realism
from shared.limits import Unusable

SEEDS = 3  # on which a composition is proved
RMS = 1e-3, 1e3
LEAST = 512  # elements of inputs and output together
ALGEBRA = 1e-9
RATIO = 0.01  # of errors of a rewritten composition, in the run's precision
SAMPLE = 1 << 16  # elements that are looked up in the inputs
CAPTURE_MS = 240_000


@dataclass
class Original:
    """What the task itself computes."""

    arguments: list[str]
    places: list[int]  # of the tensors among forward's arguments
    state: dict[str, Blob]
    drawn: list[list[Blob]]  # by seed
    narrow: list[Blob]
    wide: list[Blob]
    calls: int  # of torch

    def argument(self, name: str, seed: int) -> Blob | None:
        if name not in self.arguments or self.arguments.index(name) not in self.places:
            return None
        return self.drawn[seed][self.places.index(self.arguments.index(name))]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        found = {n: self.argument(n, 0) for n in self.arguments}
        return {n: b.shape for n, b in found.items() if b is not None}


@dataclass
class Checked:
    """A piece and what it gave on the task's own tensors. `real`: none of its inputs, or of those
    that they were made from, is the piece's own."""

    sub: Sub
    real: bool
    narrow: list[Blob] = field(default_factory=list)
    wide: list[Blob] = field(default_factory=list)


def run_piece_job(job: dict, environment: dict) -> Generator:
    findings: list[Finding] = []
    raw: dict = {}
    pieces: list[Checked] = []
    composition = {"claimed": False, "proved": False, "output": "", "covers": [],
                   "detail": "not claimed"}  # fmt: skip
    try:
        if job["kind"] == "decompose":
            raw = yield from proposed(job)
        else:
            raw = proposal.read_proposal(job["proposal"])
        wanted = proposal.parse_proposal(raw, findings)
        if not wanted.subs:
            raise Finding("composition_incomplete", "no subproblem is left")
        original = yield from examined_original(job)
        pieces = yield from examined(job, wanted, original, findings)
        composition = composed(wanted, original, pieces, findings, job["kind"] == "decompose")
    except Finding as refusal:
        findings.append(refusal)
    except NoChild as problem:
        return {"infra": str(problem)}
    answer = {
        "problem_id": job["task"]["id"],
        "level": job.get("level") or str(raw.get("level", ""))[:20],
        "subproblems": [accepted(p.sub) for p in pieces],
        "composition": composition,
        "findings": [f.record() for f in findings],
        "environment": environment,
    }
    if job["kind"] == "decompose":
        answer["trace"] = raw.get("trace", [])
    return answer


# The one sidecar that a proposal may ask for: the values of its inputs are what the task computes.
# Any other would say itself how exact a kernel for the piece must be, and on which inputs.
COMPUTED = {"variants": ["permuted"]}


def accepted(sub: Sub) -> dict:
    """As it came, but for its kind, which is what was found."""
    keep = ("id", "title", "inputs", "outputs", "depends_on", "source", "why")
    kept = {k: sub.raw.get(k, "") for k in keep}
    return kept | {"kind": sub.kind, "sidecar": COMPUTED if sub.raw.get("sidecar") == COMPUTED else {}}


# ---- the task -----------------------------------------------------------------------


def proposed(job: dict) -> Generator:
    message = {
        "op": "propose", "source": job["task"]["source"], "problem": job["task"]["id"],
        "level": job["level"], "seed": inputs.derive(job["seed"], "capture"),
        "init_seed": inputs.derive(job["seed"], "init"),
    }  # fmt: skip
    data = yield from in_child(job, programs.proposal(message, CAPTURE_MS))
    try:
        raw = json.loads(data)
    except ValueError:
        raise Finding("forged_answer", "the proposal is not JSON") from None
    if isinstance(raw, dict) and raw.get("not_captured"):
        raise Finding("not_captured", str(raw["not_captured"]))
    return raw


def in_child(job: dict, work: Generator) -> Generator:
    """Does `work` in a new boxed process, and ends it. What goes wrong there is a Finding."""
    try:
        yield from programs.start(job)
        result = yield from work
        yield End()
        return result
    except Gone as gone:
        raise Finding(*gone_code(gone)) from None
    except Forged as problem:
        yield from ended()
        raise Finding("forged_answer", str(problem)) from None
    except (Finding, Unusable):
        yield from ended()
        raise


def ended() -> Generator:
    try:
        yield End()
    except Gone:
        pass


def gone_code(gone: Gone) -> tuple[str, str]:
    if gone.why in ("timeout", "late"):
        return "timeout", "its process did not answer in time"
    if gone.why == "memory":
        return "out_of_memory", "its process used more memory than it may"
    return "crashed", f"its process ended ({gone.why})"


def examined_original(job: dict) -> Generator:
    seeds = [inputs.derive(job["seed"], f"trial-{i}") for i in range(SEEDS)]

    def work() -> Generator:
        program = Program(job, job["task"]["source"])
        state = yield from program.load()
        values = yield from program.read_state(state)
        drawn, narrow, wide = [], [], []
        for seed in seeds:
            drawn.append((yield from program.draw(seed)))
            narrow.append((yield from program.call(drawn[-1], count=True)))
            wide.append((yield from program.call(drawn[-1], wide=True)))
        return Original(taskfile.arguments_of(job["task"]["source"]), program.places, values, drawn, narrow,
                        wide, program.calls)  # fmt: skip

    try:
        found = yield from in_child(job, work())
    except Finding as refusal:
        raise Finding(refusal.code, f"the task itself: {refusal.detail}") from None
    if not all(bool(torch.isfinite(b.tensor()).all()) for b in found.narrow):
        raise Finding("not_finite", "the task itself: its output has NaN or Inf")
    return found


# ---- the pieces ------------------------------------------------------------------------


def examined(job: dict, wanted: Proposal, original: Original, findings: list[Finding]) -> Generator:
    """The pieces that are accepted, in order."""
    known = {s.id for s in wanted.subs} | {f.sub for f in findings if f.sub}
    done: dict[str, Checked] = {}
    programs_seen: dict[str, str] = {}
    for sub in proposal.ordered(wanted.subs, known, original.shapes(), findings):
        try:
            lost = [n for n in sub.needs() if n not in done]
            if lost:
                raise Finding("needs_refused", f"needs {lost[0]}")
            same = piece_language.normalised(sub.source)
            if same in programs_seen:
                raise Finding("duplicate", f"the same program as {programs_seen[same]}")
            yield from in_child(job, by_itself(job, sub, original))
            done[sub.id] = yield from in_child(job, in_place(job, sub, original, done))
            programs_seen[same] = sub.id
        except Finding as refusal:
            refusal.sub = sub.id
            findings.append(refusal)
    return [done[s.id] for s in wanted.subs if s.id in done]


def by_itself(job: dict, sub: Sub, original: Original) -> Generator:
    """Steps 2 to 5 and 9: the piece on inputs of its own."""
    program = Program(job, sub.source)
    yield from program.load()
    first = yield from program.draw(inputs.derive(job["seed"], "piece-0"))
    check_inputs(sub, first)
    again = yield from program.draw(inputs.derive(job["seed"], "piece-0"))
    if not all(a.same(b) for a, b in zip(first, again)):
        raise Finding("inputs_vary", "get_inputs gives other values for the same seed")
    other = yield from program.draw(inputs.derive(job["seed"], "piece-1"))
    check_inputs(sub, other)
    for given, a, b in zip(sub.inputs, first, other):
        if a.same(b):
            raise Finding("constant_inputs", f"{given.name} is the same for every seed")
    out = yield from program.call(first, seed=1, count=True)
    check_piece_output(sub, out)
    if sub.kind != "reformulation" and program.calls >= original.calls:
        raise Finding("not_smaller", f"{program.calls} calls of torch; the task has {original.calls}")
    for _ in range(2):
        if not out.same((yield from program.call(first, seed=1, fresh=False))):
            raise Finding("state_across_calls", "a second call gives something else")
    if not out.same((yield from program.call(first, seed=2))):
        raise Finding("hidden_rng", "the output depends on the random generator")
    second = yield from program.call(other, seed=1)
    check_piece_output(sub, second)
    if out.same(second):
        raise Finding("constant_output", "the output is the same for other inputs")
    for i, given in enumerate(sub.inputs):
        changed = [*first[:i], other[i], *first[i + 1 :]]
        if out.same((yield from program.call(changed, seed=1))):
            raise Finding("ignores_input", f"{given.name} has no effect")
    if sum(b.count for b in [*first, out]) < LEAST:
        raise Finding("too_small", f"fewer than {LEAST} elements")
    if piece_only_moves((first, out), (other, second)):
        raise Finding("pure_copy", "the output has elements of the inputs at fixed places")
    check_arguments(sub, first, original)


def check_arguments(sub: Sub, drawn: list[Blob], original: Original) -> None:
    """Step 8 for what comes from the task's arguments."""
    for given, blob in zip(sub.inputs, drawn):
        if given.source[0] == "orig":
            check_real(given.name, blob, original.argument(given.source[1], 0))


def check_real(name: str, mine: Blob, real: Blob) -> None:
    said = realism.differs(realism.look_of(mine.tensor()), realism.look_of(real.tensor()))
    if said:
        raise Finding("unrealistic_inputs", f"{name}: {said}")


def check_inputs(sub: Sub, drawn: list[Blob]) -> None:
    claimed = [(g.shape, g.dtype) for g in sub.inputs]
    got = [(b.shape, b.dtype) for b in drawn]
    if claimed != got:
        raise Finding("inputs_differ_from_declared", f"declared {shown(claimed)}, got {shown(got)}")


def shown(kinds: list[tuple]) -> str:
    return ", ".join(f"{list(shape)} {dtype}" for shape, dtype in kinds)[:120]


def check_piece_output(sub: Sub, out: Blob) -> None:
    if (out.shape, out.dtype) != (sub.shape, sub.dtype):
        raise Finding("output_differs_from_declared", f"declared {shown([(sub.shape, sub.dtype)])}, "
                      f"got {shown([(out.shape, out.dtype)])}")  # fmt: skip
    values = out.tensor().double()
    if not bool(torch.isfinite(values).all()):
        raise Finding("not_finite", "the output has NaN or Inf")
    rms = float(values.square().mean().sqrt()) if values.numel() else 0.0
    if not RMS[0] <= rms <= RMS[1]:
        raise Finding("rms_out_of_range", f"the rms of the output is {rms:.3g}")


def piece_only_moves(one: tuple[list[Blob], Blob], two: tuple[list[Blob], Blob]) -> bool:
    """Whether the output's elements are elements of the inputs, at the same places for both
    draws."""
    out = one[1].tensor().flatten()
    step = max(1, out.numel() // SAMPLE)
    places = None
    for drawn, made in (one, two):
        mine = [b.tensor().flatten() for b in drawn if b.dtype == made.dtype]
        if not mine:
            return False
        held, wanted = torch.cat(mine), made.tensor().flatten()[::step].contiguous()
        if places is None:
            if not all(bool((held == value).any()) for value in wanted[:: SAMPLE // 4]):
                return False  # most end here, without sorting
            order = held.argsort(stable=True)
            low, high = (torch.searchsorted(held[order], wanted, right=r) for r in (False, True))
            places = order[low.clamp(max=held.numel() - 1)]
            # Two inputs of one value leave open which of them was moved.
            known = (high - low == 1) | ~(high - low == 1).any()
            if not torch.equal(held[places], wanted):
                return False
        if not torch.equal(held[places][known], wanted[known]):
            return False
    return True


def in_place(job: dict, sub: Sub, original: Original, done: dict[str, Checked]) -> Generator:
    """The piece on the task's own tensors, in a process that has seen nothing else; and step 8 for
    what comes from other pieces. Inputs without a source are the piece's own."""
    program = Program(job, sub.source)
    state = yield from program.load()
    own = yield from program.draw(inputs.derive(job["seed"], "piece-0"))
    out = yield from program.call(own, seed=1)
    yield from program.write_state(matched(state, original.state))
    for given, blob in zip(sub.inputs, own):
        if given.source[0] in done and done[given.source[0]].real:
            check_real(given.name, blob, done[given.source[0]].narrow[0])
    checked = Checked(sub, all(s == "orig" or s in done and done[s].real
                               for s in (g.source[0] for g in sub.inputs)))  # fmt: skip
    for seed in range(SEEDS):
        for wide in (False, True):
            args = [source(g, own[i], original, done, seed, wide) for i, g in enumerate(sub.inputs)]
            made = yield from program.call(args, wide=wide)
            (checked.wide if wide else checked.narrow).append(made)
    repeat = Program(job, sub.source)
    yield from repeat.load()
    repeat.places, repeat.rest = program.places, program.rest
    if not out.same((yield from repeat.call(own, seed=1))):
        raise Finding("not_reproducible", "loaded again, it computes something else")
    for made in checked.narrow:
        if made.shape != sub.shape:
            raise Finding("output_differs_from_declared", "another shape on the task's own tensors")
    return checked


def source(given: proposal.Given, own: Blob, original: Original, done: dict[str, Checked],
           seed: int, wide: bool) -> Blob:  # fmt: skip
    kind, rest = given.source
    if kind == "orig":
        return original.argument(rest, seed)
    if kind == "fresh":
        return own
    return (done[kind].wide if wide else done[kind].narrow)[seed]


def matched(state: list[tuple[str, tuple, str]], held: dict[str, Blob]) -> dict[str, Blob]:
    """The task's parameters by the piece's names for them: the same but for dots."""
    plain = {n.replace(".", "_"): b for n, b in held.items()}
    found = {}
    for name, shape, dtype in state:
        blob = plain.get(name.replace(".", "_"))
        if blob is not None and (blob.shape, blob.dtype) == (shape, dtype):
            found[name] = blob
    return found


# ---- the composition ---------------------------------------------------------------------


def composed(wanted: Proposal, original: Original, pieces: list[Checked], findings: list[Finding],
             exact: bool) -> dict:  # fmt: skip
    """Step 7. Where it fails, the pieces are kept as stepping stones."""
    by_id = {p.sub.id: p for p in pieces}
    for piece in pieces:
        if piece.sub.kind == "reformulation":
            said = rewritten(piece, original)
            if said:
                piece.sub.kind = "stepping_stone"
                findings.append(Finding("reformulation_differs", said, piece.sub.id))
    proved, detail = False, "not claimed"
    if wanted.claimed:
        try:
            proved, detail = True, proof(wanted, original, by_id, exact)
        except Finding as refusal:
            findings.append(refusal)
            detail = f"{refusal.code}: {refusal.detail}"
    if not proved:
        for piece in pieces:
            piece.sub.kind = "stepping_stone" if piece.sub.kind == "partition" else piece.sub.kind
    return {"claimed": proved, "proved": proved, "output": f"{wanted.output}:0" if proved else "",
            "covers": wanted.covers if proved else [], "detail": detail}  # fmt: skip


def proof(wanted: Proposal, original: Original, by_id: dict[str, Checked], exact: bool) -> str:
    needed, todo = set(), [wanted.output]
    while todo:
        name = todo.pop()
        if name not in by_id:
            raise Finding("composition_incomplete", f"{name[:60]!r} is not among the pieces")
        needed.add(name)
        todo += [n for n in by_id[name].sub.needs() if n not in needed]
    if needed != set(wanted.covers):
        raise Finding("composition_incomplete", f"it covers {sorted(wanted.covers)}, the output needs "
                      f"{sorted(needed)}")  # fmt: skip
    fresh = [n for n in needed for g in by_id[n].sub.inputs if g.source[0] == "fresh"]
    if fresh:
        raise Finding("composition_incomplete", f"{fresh[0]} has an input from nowhere")
    last = by_id[wanted.output]
    same = all(a.same_values(b) for a, b in zip(last.narrow, original.narrow))
    if exact and not same:
        raise Finding("composition_not_bitwise", blob_difference(last.narrow, original.narrow))
    said = rewritten(last, original)
    if said:
        code = "composition_algebra" if said.startswith("fp64") else "composition_inexact"
        raise Finding(code, said)
    return f"{'bit for bit, and ' if same else ''}in fp64 to {ALGEBRA:g}, on {SEEDS} seeds"


def rewritten(piece: Checked, original: Original) -> str | None:
    """How another algorithm differs from the task."""
    for mine, real in zip(piece.wide, original.wide):
        if mine.shape != real.shape:
            return "fp64: another shape"
        x, t = mine.tensor().double(), real.tensor().double()
        worst = float(((x - t).abs() / t.abs().clamp(min=float(t.square().mean().sqrt()))).max())
        if not worst <= ALGEBRA:
            return f"fp64: the largest relative error is {worst:.3g}"
    for mine, real in zip(piece.narrow, original.narrow):
        x, t = mine.tensor().double(), real.tensor().double()
        ratio = float((x - t).square().mean().sqrt() / t.square().mean().sqrt().clamp(min=1e-30))
        if not ratio <= RATIO:
            return f"the error ratio is {ratio:.3g}"
    return None


def blob_difference(mine: list[Blob], real: list[Blob]) -> str:
    if mine[0].shape != real[0].shape:
        return f"the shape is {list(mine[0].shape)}, not {list(real[0].shape)}"
    worst = max(float((a.tensor().double() - b.tensor().double()).abs().max())
                for a, b in zip(mine, real))  # fmt: skip
    return f"the largest difference is {worst:.3g}"


