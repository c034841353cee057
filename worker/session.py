"""A candidate's calls: the region is filled, the executor runs the trace, the judge compares.

One trace serves all trials. The first trial executes the first call that was recorded, the
others the steady one; what a first call leaves for later ones is kept as it was after it.
Every trial has new inputs and new parameters, in memory that was filled with NaN before."""

from collections.abc import Generator

import inputs
import region as memory
import torch
import truth
from judging import Progress, Verdict, check_buffers, judge_trial
from traces import Trace

NUMBERS = ("numbers", "floats")  # variants that need a recording of their own
MANY = 1 << 24  # elements of a model that are not drawn again for every trial
FREE_SHARE = 0.9  # of a device's free memory that a region may take


class Session:
    def __init__(
        self, job: dict, facts, trace: Trace, names: dict[str, str], reference: truth.Reference,
        executor, p: Progress, own_weights: bool,
    ) -> None:  # fmt: skip
        self.job, self.facts, self.trace, self.names, self.p = job, facts, trace, names, p
        self.reference, self.executor, self.own_weights = reference, executor, own_weights
        self.pair = reference.fresh()
        self.region: memory.Region | None = None
        self.state: dict[str, torch.Tensor] = {}  # what the next call starts from
        self.kept: dict[int, torch.Tensor] = {}  # after the first call
        self.cuda = job["device"] != "cpu"

    def make_region(self, scratch: int, o) -> None:
        held = {n: self.facts.buffers[meant] for n, meant in self.names.items()}
        layout = memory.lay_out(self.trace, self.facts.inputs, held, scratch)
        most = self.job["limits"]["memory_bytes"] or o.memory or o.total_memory
        if self.cuda:
            torch.cuda.empty_cache()
            most = int(torch.cuda.mem_get_info(0)[0] * FREE_SHARE)
        if most and layout.size > most:
            raise Verdict("out_of_memory", "trials", f"One call needs {layout.size >> 20} MiB for "
                          f"its tensors; there are {most >> 20}.")  # fmt: skip
        self.region = memory.make(layout, "cuda:0" if self.cuda else "cpu")
        self.p.peak = layout.size

    def close(self) -> None:
        if self.region is not None:
            self.region.close()

    # ---- one call ----

    def write(self, args: list, first: bool) -> None:
        """Everything that a call starts from."""
        layout, region = self.region.layout, self.region
        region.fill()
        for at, t in zip(layout.inputs, inputs.tensors(args)):
            region.view(memory.tensor_place(at, t)).copy_(t)
        for name, at in layout.state.items():
            t = self.state[self.names[name]].detach()
            region.view(memory.tensor_place(at, t, contiguous=True)).copy_(t)
        for (start, size), at in layout.constants.items():
            if size:
                raw = torch.frombuffer(bytearray(self.trace.blob[start : start + size]), dtype=torch.uint8)
                region.span(at, size).copy_(raw)
        if not first:
            for key, raw in self.kept.items():
                at, size = layout.kept[key]
                region.span(at, size).copy_(raw)

    def owned(self) -> torch.Tensor:
        """The inputs and parameters as they lie, with what is between them."""
        layout = self.region.layout
        last = list(layout.state.values()) + layout.inputs
        if not last:
            return self.region.span(0, 0)
        end = max(high for low, high in layout.used if low in last)
        return self.region.span(0, end)

    def call(
        self, args: list, part: int, config: int = 0, mute: bool = False, backwards: bool = False,
        timed: bool = False, deadline_ms: int = 0,
    ) -> Generator:  # fmt: skip
        """Runs a call on these inputs; (outputs, what it took). Outputs are copies."""
        self.write(args, first=part == 1 and len(self.trace.calls) > 1)
        if self.trace.setup.nodes:
            self.sync()
            yield from self.executor.run(0, config)
        before = self.owned().clone()
        self.sync()
        ran = yield from self.executor.run(part, config, mute, backwards, timed, deadline_ms)
        call, places = self.trace.parts()[part], self.region.layout.parts[part]
        got = [self.region.take(v.place(places)) for v in call.outputs]
        self.check_memory(before)
        return got, ran

    def sync(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def check_memory(self, before: torch.Tensor) -> None:
        if not torch.equal(self.owned(), before):
            self.check_owned(before)
        if not self.region.guards_hold():
            raise Verdict("launch_error", "trials", "A kernel wrote outside the tensor it was given.",
                          "guard-zone")  # fmt: skip

    def check_owned(self, before: torch.Tensor) -> None:
        """Inputs and parameters must be as they were; buffers may move."""
        layout = self.region.layout
        kinds = inputs.parameters(self.pair.eager)
        spans = [(at, b.bytes, "input-mutated", "forward changed its inputs.")
                 for at, b in zip(layout.inputs, self.facts.inputs)]  # fmt: skip
        spans += [(at, self.facts.buffers[self.names[n]].bytes, "params-changed",
                   "forward changed parameters.")
                  for n, at in layout.state.items() if self.names[n] in kinds]  # fmt: skip
        for at, size, rule, told in spans:
            if not torch.equal(self.region.span(at, size), before[at : at + size]):
                raise Verdict("hack", "trials", told, rule)

    # ---- trials ----

    def plan(self) -> list[tuple[str, str]]:
        """(label, variant) of every trial, in order."""
        wanted = [(f"trial-{i}", "plain") for i in range(5)]
        if self.job["protocol"] == "hardened":
            named = truth.variants(self.job["task"].get("sidecar"), self.reference)
            wanted += [(f"variant-{v}", v) for v in named if v not in NUMBERS]
        return wanted

    def draw_parameters(self, label: str) -> None:
        """New values for the whole state, on both sides. A large model's once."""
        if self.own_weights or not self.facts.state:
            return
        count = sum(t.numel() for t in inputs.named_state(self.pair.eager).values())
        if label == "trial-0" or count <= MANY:
            seed = inputs.derive(self.job["seed"], f"params-{label}")
            self.pair.randomise([n for n, _, _ in self.facts.state], seed)

    def expect(self, label: str, variant: str) -> truth.Expected:
        """The right answer, with the state that the call starts from put by: the reference's
        buffers move on."""
        self.remember_state()
        return self.pair.expect_exact(self.job["seed"], label, variant)

    def remember_state(self) -> None:
        model = self.pair.eager
        moving = {n: b.detach().clone() for n, b in inputs.buffers(model).items()}
        self.state = inputs.named_state(model) | moving

    def trials(self) -> Generator:
        first_truth: list[torch.Tensor] = []
        same: list[bool] = []
        for index, (label, variant) in enumerate(self.plan()):
            self.draw_parameters(label)
            try:
                expected = self.expect(label, variant)
            except truth.Exceeded:
                raise
            except truth.Unusable:
                if variant != "plain":
                    continue  # the reference itself does not take such inputs
                raise
            if variant == "plain":
                if not first_truth:
                    first_truth, same = expected.truth, [True] * len(expected.truth)
                else:
                    same = [s and torch.equal(a, b) for s, a, b in zip(same, first_truth, expected.truth)]
            self.p.stage = "trials" if index else "first_call"
            yield from self.trial(index, variant, expected)
        if any(s and t.numel() for s, t in zip(same, first_truth)):
            self.p.capped = "An output does not depend on the inputs: evidence ends at E2."

    def numbers(self, seed: int, variant: str) -> Generator:
        """The one trial whose Python numbers are others; it has a trace of its own."""
        self.draw_parameters("trial-0")
        self.remember_state()
        expected = self.pair.expect(seed, variant)
        got, _ = yield from self.call(expected.args, len(self.trace.calls))
        judge_trial(self.job, self.p, got, expected, variant)

    def trial(self, index: int, variant: str, expected: truth.Expected) -> Generator:
        calls = len(self.trace.calls)
        part = 1 if index == 0 else calls
        backwards = index == 1 and self.executor.reverses
        got, _ = yield from self.call(expected.args, part, backwards=backwards)
        self.p.compiled = True
        where = ", the grid's programs in reverse order" if backwards else ""
        judge_trial(self.job, self.p, got, expected, variant, where)
        check_buffers(self.moved(expected), expected)
        if index == 0:
            self.keep()
        for config in range(1, self.trace.configurations()):
            if self.cuda or index == 2:
                yield from self.other_configuration(config, variant, expected)

    def other_configuration(self, config: int, variant: str, expected: truth.Expected) -> Generator:
        """Every configuration of an autotuner must be right; on the CPU one trial says so."""
        got, _ = yield from self.call(expected.args, len(self.trace.calls), config)
        where = f", configuration {config} of the autotuner"
        judge_trial(self.job, self.p, got, expected, variant, where)
        self.p.trials.pop()

    def moved(self, expected: truth.Expected) -> dict[str, torch.Tensor]:
        """The buffers (running statistics) after the call, by the reference's names; those
        that the candidate does not have must not have moved."""
        found = {}
        layout = self.region.layout
        mine = {meant: n for n, meant in self.names.items()}
        for name, after in expected.buffers.items():
            if name in mine:
                place = memory.tensor_place(layout.state[mine[name]], after, contiguous=True)
                found[name] = self.region.take(place)
            elif not torch.equal(after, self.state[name]):
                found[name] = self.state[name]
        return found

    def keep(self) -> None:
        """What a first call left for later ones."""
        if len(self.trace.calls) > 1:
            for key, (at, size) in self.region.layout.kept.items():
                self.kept[key] = self.region.span(at, size).clone()

    def without_kernels(self) -> Generator:
        """One call with the kernels muted: whoever is still right did not need them."""
        expected = self.expect("muted", "plain")
        got, _ = yield from self.call(expected.args, len(self.trace.calls), mute=True)
        if all(
            expected.judge(i, x.to(expected.truth[i].device))[2] for i, x in enumerate(got)
        ):
            raise Verdict("hack", "evidence", "The output is right also when no kernel runs: "
                          "something else computes it.", "kernels-without-effect")  # fmt: skip

