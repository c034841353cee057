"""The questions for a candidate: inputs, parameters and right answers of every trial.

Drawing inputs and computing truths costs more than running most kernels, so a few candidates of a
task may share them: jobs that name the same `pool` share a sheet. The pool's seed is as secret as a
job's own and changes after a few attempts; no process that runs any of the candidate's code ever
sees it. Messages to the model about a wrong answer never come from a shared sheet (session.py): a
value that was shown is not used again."""

import collections
from collections.abc import Collection
from dataclasses import dataclass

import torch
from judge import sidecar, truth
from judge.expected import Expected
from shared import inputs

NUMBERS = "numbers"  # the variant that needs a recording of its own
FIRST = "trial-0"
MANY = 1 << 24  # elements of a model that is not constructed again for every trial
PLAIN = 5  # trials with the task's own inputs
SHEET_BYTES = 256 << 20  # that a sheet may hold to be shared
POOL_BYTES = 2 << 30  # of all sheets


def init_seed(job: dict) -> int:
    """Of get_init_inputs and the first construction: the candidate's process gets it, too."""
    return inputs.derive(job.get("pool") or job["seed"], "init")


@dataclass
class Draw:
    """One trial: `state` is what the call starts from, by the reference's names."""

    label: str
    variant: str
    expected: Expected
    state: dict[str, torch.Tensor]

    @property
    def change(self) -> str:
        """What was changed in fact: a reference that does not take scaled inputs has tenfold ones."""
        return self.expected.variant.partition(",")[0]


class Sheet:
    """The trials of a task under one seed, drawn on demand."""

    def __init__(self, job: dict, reference: truth.Reference, seed: str, own_weights: bool) -> None:
        self.seed, self.reference, self.own_weights = seed, reference, own_weights
        self.pair = reference.fresh()
        self.protocol = job["protocol"]
        self.at = ""  # what a large model was constructed for
        self.large = sum(t.numel() for t in self.pair.state_values().values()) > MANY
        self.drawn: dict[int, Draw | None] = {}
        self.bytes = 0
        self.first: list[torch.Tensor] = []  # truths of the first plain trial
        self.same: list[bool] = []  # which of them were the same in all others
        self.pooled = False  # shared with other candidates
        self.plan = [(f"trial-{i}", "plain") for i in range(PLAIN)]
        self.skipped: dict[str, str] = {}  # variants that are not tried, and why
        if job["protocol"] == "hardened":
            self.skipped = truth.left_out(reference)
            self.plan += [(f"variant-{v}", v) for v in truth.variants(reference) if v != NUMBERS]
        self.plan.append(("muted", "plain"))

    def draw(self, index: int) -> Draw | None:
        """The trial with that index; None if the reference itself does not accept such inputs."""
        if index not in self.drawn:
            made = self.make(*self.plan[index], self.seed)
            self.bytes += _draw_bytes(made) if made else 0
            if self.bytes > SHEET_BYTES:
                self.drawn.clear()  # whoever asks for those again has them drawn again
            self.drawn[index] = made
            if made and made.variant == "plain":
                self.note_same(made.expected.truth)
        return self.drawn[index]

    def note_same(self, found: list[torch.Tensor]) -> None:
        if not self.first:
            self.first, self.same = found, [t.numel() > 0 for t in found]
        elif found is not self.first:
            self.same = [s and torch.equal(a, b) for s, a, b in zip(self.same, self.first, found)]

    def has_constant(self, but: Collection[int]) -> bool:
        """Whether any other output does not depend on the inputs."""
        return any(same for i, same in enumerate(self.same) if i not in but)

    def start(self, label: str, seed: str) -> dict[str, torch.Tensor]:
        """Puts the pair into the state that a trial or timed call with that label starts from, and
        returns that state: values of a construction of its own, whose seed no process with the
        candidate's code gets. Trial 0 is the task as written. A large model is constructed twice,
        for trial 0 and for all other calls: what a first call folded is never right later."""
        written = label == FIRST or self.protocol == "kernelbench"
        which = label
        if self.large:
            which, seed = label if label == FIRST else "later", self.seed
        made = None if self.own_weights else inputs.derive(seed, f"params-{which}")
        if not self.large or self.at != which:
            self.at = which
            self.drawn = self.drawn if not self.large else {}  # they refer to the model's tensors
            calls = range(0 if written else self.calls(which, seed))
            extra = [inputs.derive(seed, f"extra-{which}-{i}") for i in calls]
            self.pair.start(made, not written and not self.own_weights, extra)
        state = {n: t.detach().clone() for n, t in inputs.buffers(self.pair.eager).items()}
        held = inputs.parameters(self.pair.eager).items()
        return state | {n: t.detach() if self.large else t.detach().clone() for n, t in held}

    def calls(self, label: str, seed: str) -> int:
        """How many calls of the reference came before, where they change its state: a secret number,
        and another one for each of the trials that follow each other."""
        most = self.reference.rules.calls
        place = int(label[-1]) if label[-1].isdigit() else inputs.derive(seed, label)
        return most and 1 + (inputs.derive(seed, "calls") + place) % most

    def make(self, label: str, variant: str, seed: str) -> Draw | None:
        state = self.start(label, seed)
        try:
            expected = self.pair.expect_exact(seed, label, variant)
        except truth.Exceeded:
            raise
        except truth.Unusable as problem:
            if variant == "plain":
                raise
            self.skipped[variant] = str(problem)
            return None
        expected.as_written = label == FIRST
        self.pair.take_back()  # the next trial starts from the same model, whichever it is
        return Draw(label, variant, expected, state)


def literal_trials(job: dict, reference: truth.Reference) -> dict:
    """The self-test `literal`: whether the task as written is right in every trial."""
    sheet = Sheet({"protocol": "hardened"}, reference, job["seed"], False)
    built = truth.Literal(reference)
    found: dict[str, list[str]] = {"passed": [], "failed": [], "inexact": []}
    for label, variant in sheet.plan:
        draw = sheet.make(label, variant, sheet.seed)
        if draw is not None:
            found[built.judged(draw.expected, draw.state)].append(label)
    return found | {"trials": sum(map(len, found.values())), "passed": len(found["passed"])}


def _draw_bytes(draw: Draw) -> int:
    held = [*draw.expected.truth, *draw.expected.eager, *inputs.tensors(draw.expected.args),
            *draw.state.values()]  # fmt: skip
    return sum(t.numel() * t.element_size() for t in held)


_pool: "collections.OrderedDict[tuple, Sheet]" = collections.OrderedDict()


def sheet(job: dict, make_reference, own_weights: bool) -> Sheet:
    """The sheet of a job: its pool's, if it names one."""
    if own_weights or not job.get("pool") or job.get("own_draws"):
        return Sheet(job, make_reference(job, own_weights), job["seed"], own_weights)
    key = (job["task"]["source"], sidecar.sidecar_key(job["task"]), job["precision"], job["device"],
           job["pool"], job["protocol"])  # fmt: skip
    found = _pool.get(key)
    if found is None or found.bytes > SHEET_BYTES:
        found = Sheet(job, make_reference(job, False), job["pool"], False)
        if found.large:
            found.seed = job["seed"]  # it is not shared, and its values may be shown
            return found
        _pool[key] = found
        found.pooled = True
    _pool.move_to_end(key)
    while len(_pool) > 1 and sum(s.bytes for s in _pool.values()) > POOL_BYTES:
        _pool.popitem(last=False)
    return found
