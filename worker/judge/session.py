"""Runs a candidate's calls: fills the region, lets the executor run the trace, and compares.

One trace serves all trials. Each runs the first recorded call from empty memory and, where later
calls differ, the steady one, which starts from what the first call of the first trial kept: with
other parameters, so that what was folded there shows. Every trial has new inputs and new
parameters, in memory whose contents nobody knows (shared/fresh.py). Programs of a grid run in any
order and side by side: where they are interpreted, the second trial reverses their order, and in all
later calls it is random; on a GPU one trial's calls are made again."""

import functools
from collections.abc import Generator

import torch
from judge import region as memory
from judge.expected import Expected
from judge.judging import NOT_JUDGED, SHARED, Progress, Verdict, check_buffers, judge_trial
from judge.sheets import NUMBERS, Draw, Sheet
from judge.steps import Forged, Gone
from judge.traces import RANGES, Alias, Move, Trace
from shared import inputs, structure
from shared.fresh import LOUD, TURNS, fresh_page
from shared.program import Place

CONSTANTS_CHANGED = (
    "A kernel changed a tensor that __init__ made, which each call of forward has to find as it was. "
    "Allocate what kernels write in forward: torch.empty, or torch.zeros."
)
FREE_SHARE = 0.9  # of a device's free memory that a region may take
SMALL = 1 << 16  # elements of a buffer that is copied without a look at it
drawn_page = functools.lru_cache(256)(fresh_page)  # five for each job
UNWRITTEN = 0.02  # of an output's elements, which some may equal by chance
FORWARD, REVERSED = "forward", "reversed"  # orders of a grid's programs
# Trial 0 is the task as KernelBench runs it, in order, and has no steady call: the trials after it
# try other orders where kernels are interpreted (random ones from the third on), and a second time
# on a GPU.
REVERSED_TRIAL, RANDOM_TRIAL = 1, 2
AGAIN_TRIAL = 1
BESIDE = (", the grid's programs in a random order, side by side, and random values for what is undefined, "
          "as what a mask leaves out of a load without other")  # fmt: skip


class Session:
    def __init__(
        self, job: dict, facts, trace: Trace, names: dict[str, str], sheet: Sheet, executor,
        p: Progress,
    ) -> None:  # fmt: skip
        self.job, self.facts, self.trace, self.names, self.p = job, facts, trace, names, p
        self.sheet, self.executor = sheet, executor
        # Whatever the strides of a trial's inputs are, the recorder was given these.
        self.input_specs = structure.leaves({"list": facts.spec})
        self.region: memory.Region | None = None
        self.constants: list[tuple[int, torch.Tensor]] = []
        self.kept: dict[int, torch.Tensor] = {}  # after the first call
        self.parts = trace.parts()  # and the first call as a later one, if it leaves scratch memory changed
        self.leaves = False  # whether it does: the first trial shows it
        self.begun = False  # the first call of the first trial has been judged
        self.turn = inputs.derive(job["seed"], "turn")  # of fresh memory
        self.filled: set[tuple[int, int]] = set()  # parts in their configurations, workspaces included
        self.cuda = job["device"] != "cpu"

    def make_region(self, scratch: int, o) -> None:
        held = {n: self.facts.buffers[meant] for n, meant in self.names.items()}
        # On the CPU kernels are held to their tensors, and a delivered file lays out C's as here.
        seed = inputs.derive(self.job["seed"], "places") if self.cuda else 0
        layout = memory.lay_out(self.trace, self.facts.inputs, held, scratch, seed)
        most = self.job["limits"]["memory_bytes"] or o.memory or o.total_memory
        if self.cuda:
            free = int(torch.cuda.mem_get_info(0)[0] * FREE_SHARE)
            if layout.size > free:
                torch.cuda.empty_cache()
                free = int(torch.cuda.mem_get_info(0)[0] * FREE_SHARE)
            most = min(self.job["limits"]["memory_bytes"] or free, free)
        if most and layout.size > most:
            raise Verdict("out_of_memory", "trials", f"One call needs {layout.size >> 20} MiB for "
                          f"its tensors; there are {most >> 20}.")  # fmt: skip
        device = "cuda:0" if self.cuda else "cpu"
        self.region = memory.make_region(layout, device)
        self.p.peak = layout.size
        for (start, size), at in layout.constants.items():
            if size:
                raw = bytearray(self.trace.blob[start : start + size])
                self.constants.append((at, torch.frombuffer(raw, dtype=torch.uint8).to(device)))

    def close(self) -> None:
        if self.region is not None:
            self.region.close()

    # ---- one call ----

    def write(self, state: dict[str, torch.Tensor], part: int, config: int) -> None:
        """Writes everything that a call starts from, but for its inputs."""
        layout, region = self.region.layout, self.region
        whole = self.turn % TURNS < LOUD and (part, config) not in self.filled
        region.fill(drawn_page(self.turn % TURNS, self.job["seed"]), whole)
        self.turn += 1
        if whole:
            self.filled.add((part, config))
        for name, at in layout.state.items():
            t = state[self.names[name]].detach()
            region.view(memory.tensor_place(at, t, contiguous=True)).copy_(t)
        for at, raw in self.constants:
            region.span(at, raw.numel()).copy_(raw)

    def write_inputs(self, args: list, part: int) -> None:
        """After the setup, which must not see them, while the executor waits for the next request."""
        for key, raw in self.kept.items() if part > 1 else ():
            at, size = self.region.layout.kept[key]
            self.region.span(at, size).copy_(raw)
        for i, t in enumerate(inputs.tensors(args)):
            inputs.write_values(self.region.view(self.input_place(i)), t)

    def input_place(self, i: int) -> Place:
        shape, dtype, strides = self.input_specs[i]
        return Place(self.region.layout.inputs[i], dtype, tuple(shape), tuple(strides))

    def call(
        self, args: list, state: dict[str, torch.Tensor], part: int, config: int = 0,
        mute: bool = False, order: str | int = FORWARD, timed: bool = False, deadline_ms: int = 0,
    ) -> Generator:  # fmt: skip
        """Runs a call on these inputs. Returns (outputs, what it took); outputs are copies."""
        self.write(state, part, config)
        if self.trace.setup.nodes:
            self.check_casts(0)
            self.sync()
            yield from self.run(0, config)
        self.write_inputs(args, part)
        self.check_casts(part)
        before = self.region.owned().clone()
        self.sync()
        try:
            recorded = min(part, len(self.trace.calls))
            end, ran = None, (yield from self.run(recorded, config, mute, order, timed, deadline_ms))
        except Verdict as verdict:
            end = verdict
            if end.unknown is None:
                raise
        self.p.compiled = True
        call, places = self.parts[part], self.region.layout.parts[part]
        got = [self.region.take(v.place(places)) for v in call.outputs]
        got += [self.region.take(self.input_place(i)) for i in self.facts.written]
        self.check_memory(before)
        if end is not None:
            lost = {i: b for i, b in enumerate(call.buffers) if i in end.unknown}
            given = {b.key for b in lost.values() if b.kind == "input"}
            known = [v.buffer not in lost for v in call.outputs] + [i not in given for i in self.facts.written]
            end.got = [x if k else None for x, k in zip(got, known)]
            raise end
        return got, ran

    def check_casts(self, part: int) -> None:
        """What moves make smaller integers of must fit into them, in the memory that was just
        written; anything else would be a remainder."""
        layout = self.region.layout
        for node in self.parts[part].nodes:
            for held in node.must_fit if isinstance(node, Move) else ():
                if not held.bytes:
                    continue
                at = layout.inputs[held.key] if held.kind == "input" else layout.state[held.key]
                values = self.region.span(at, held.bytes).view(getattr(torch, held.dtype)).to(torch.int64)
                low, high = torch.stack(torch.aminmax(values)).tolist()
                to = node.to.dtype
                if low < max(RANGES[to][0], RANGES[held.dtype][0]) or high > RANGES[to][1]:
                    raise Verdict("hack", "trials", f"A cast from {node.source.dtype} to {to} changes values "
                                  "of an input or buffer, which computes; do it in a kernel.", "cast")  # fmt: skip

    def run(self, *args: object, **more: object) -> Generator:
        """Runs the executor once. What it prints or sends instead of an answer is never shown: it
        may contain inputs, which other candidates get, too."""
        try:
            return (yield from self.executor.run(*args, **more))
        except Gone as gone:
            raise Gone(gone.why, "") from None
        except Forged:
            raise Forged("a call was not answered as the runner answers") from None

    def sync(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def check_memory(self, before: torch.Tensor) -> None:
        alike = (self.region.owned() == before).all()
        same, whole = torch.stack([alike, self.region.guards()]).tolist()  # one question
        if not same:
            self.check_owned(before)
        if not whole:
            raise Verdict("launch_error", "trials", "A kernel wrote outside the tensor it was given.",
                          "guard-zone")  # fmt: skip

    def check_owned(self, before: torch.Tensor) -> None:
        """Parameters, inputs that the reference leaves alone, and what __init__ made must be
        unchanged, unless later calls overwrite it first; buffers may change. Memory that __init__ filled
        with numbers may change if it does so in the first call: then later calls start from that, too."""
        layout = self.region.layout
        spans = [(at, b.bytes, "input-mutated", "forward changed its inputs.")
                 for at, b in zip(layout.inputs, self.facts.inputs) if not b.changes]  # fmt: skip
        spans += [(at, self.facts.buffers[self.names[n]].bytes, "params-changed",
                   "forward changed parameters.")
                  for n, at in layout.state.items() if self.names[n] in self.facts.parameters]  # fmt: skip
        made = [(*place, key) for key, place in layout.made.items() if key not in self.trace.steady.rewritten()]
        made += [(at, raw.numel(), None) for at, raw in self.constants]
        free = self.trace.scratch() if self.leaves or not self.begun else ()
        spans += [(at, size, "" if key in free else "constants-changed", CONSTANTS_CHANGED) for at, size, key in made]
        for at, size, rule, text in spans:
            if not torch.equal(self.region.span(at, size), before[at : at + size]):
                if rule:
                    raise Verdict("hack", "trials", text, rule)
                self.leaves = True

    # ---- trials ----

    def trials(self) -> Generator:
        planned = [variant for _, variant in self.sheet.plan]
        self.p.skipped = {v: why for v, why in self.sheet.skipped.items() if v not in planned}
        for index, variant in enumerate(planned[:-1]):
            draw = self.sheet.draw(index)
            if draw is None:
                self.p.skipped[variant] = self.sheet.skipped[variant]
                continue
            self.p.stage = "trials" if index else "first_call"
            self.p.change = None if draw.variant == "plain" else draw.change
            yield from self.trial(index, draw)
        self.p.change = None
        views = self.views(self.last())
        if self.sheet.has_constant(views):
            self.p.capped = "An output does not depend on the inputs: evidence ends at E2."
        elif len(views) == len(self.facts.outputs) and not self.facts.written:
            self.p.capped = ("All outputs are views of inputs or of the state: no kernel computed them, "
                             "and evidence ends at E2.")  # fmt: skip

    def trial(self, index: int, draw: Draw) -> Generator:
        order, where = self.order(index)
        yield from self.both(draw, index, 0, order, where)
        for config in range(1, self.trace.configurations()):
            if self.cuda or index == 2:  # on the CPU one trial says that it is right
                tuned = f", configuration {config} of the autotuner{where}"
                yield from self.both(draw, index, config, order, tuned)
                self.p.trials.pop()
        if self.cuda and index == AGAIN_TRIAL and not self.job.get("timing"):
            # A race need not show the first time. Timed repetitions are compared, too.
            yield from self.both(draw, index, 0, FORWARD, ", right in another call with these inputs")
            self.p.trials.pop()

    def order(self, index: int) -> tuple[str | int, str]:
        """In which a trial runs the programs of a grid, and how feedback names it. A random order
        comes from the job's seed, so that the same job has the same."""
        if not self.executor.orders or not index:
            return FORWARD, ""
        if index == REVERSED_TRIAL:
            return REVERSED, ", the grid's programs in reverse order"
        seed = inputs.derive(self.job["seed"], f"order-{index}")
        return seed, BESIDE if index == RANDOM_TRIAL else ""

    def both(self, draw: Draw, index: int, config: int, order: str | int, where: str) -> Generator:
        """The first call and, where it differs, the steady one: one entry of the record."""
        first = where if self.last() == 1 else f", the first call of forward{where}"
        yield from self.asked(draw, 1, config, order, first)
        if not self.begun:
            self.keep()
        elif self.last() > 1:
            self.p.trials.pop()
            later = ", a later call of forward, which starts from what the first one kept"
            yield from self.asked(draw, self.last(), config, order, later + where)

    def asked(self, draw: Draw, part: int, config: int, order: str | int, where: str) -> Generator:
        """Runs and judges one call. A message to the model about a wrong answer always comes from a
        draw that is used only once."""
        try:
            yield from self.call_and_compare(draw, part, config, order, where)
        except Verdict as end:
            if not self.sheet.pooled or end.verdict not in ("wrong_values", "not_finite"):
                raise
            own = self.sheet.make(draw.label, draw.variant, self.job["seed"])
            if own is not None:
                tried, count = self.p.trials.pop() if self.p.trials else None, len(self.p.trials)
                try:
                    yield from self.call_and_compare(own, part, config, order, where)
                except Verdict as later:
                    if later.verdict != NOT_JUDGED:
                        raise
                self.p.trials[count:] = [tried] if tried else []
            raise Verdict(end.verdict, end.stage, f"Wrong values on {draw.variant} inputs{where}.",
                          end.rule) from None  # fmt: skip

    def call_and_compare(
        self, draw: Draw, part: int, config: int, order: str | int, where: str
    ) -> Generator:
        expected = draw.expected
        try:
            got, _ = yield from self.call(expected.args, draw.state, part, config, order=order)
        except Verdict as end:
            if end.got is not None:  # not all could be computed here: the rest may be wrong
                known = [expected.put_back(i, t.to(e.dtype)) if x is None else x for i, (x, t, e) in
                         enumerate(zip(end.got, expected.truth, expected.eager))]  # fmt: skip
                judge_trial(self.job, self.p, known, expected, draw.change, where)
                self.p.trials.pop()
            raise
        for i, view in self.views(part).items():
            if view not in expected.aliases[i]:
                raise Verdict("hack", "trials", f"Output {i} shares memory with an input or the state, "
                              "as the reference's does not on all inputs.", "output-aliases-input")  # fmt: skip
        if self.parts[part].shares(expected.overlapping_outputs):
            raise Verdict("hack", "trials", SHARED, "output-not-plain")
        try:
            judge_trial(self.job, self.p, got, expected, draw.change, where)
        except Verdict as end:
            end.text += self.unwritten(part)
            raise
        check_buffers(self.buffers_to_judge(expected, draw.state, self.left(draw.state)), expected)

    def unwritten(self, part: int) -> str:
        """What a wrong answer may come from."""
        call, places = self.parts[part], self.region.layout.parts[part]
        shares = [self.region.untouched(v.place(places)) for v in call.outputs if v.count()]
        most = max(shares, default=0.0)
        return f" {100 * most:.0f} % of an output was not written by any kernel." if most > UNWRITTEN else ""

    def left(self, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The candidate's buffers (running statistics) after a call, by the reference's names,
        without large ones that are as they were."""
        found = {}
        for name, at in self.region.layout.state.items():
            meant = self.names[name]
            if meant not in self.facts.parameters:
                place = memory.tensor_place(at, state[meant], contiguous=True)
                if state[meant].numel() <= SMALL or not torch.equal(self.region.view(place), state[meant]):
                    found[meant] = self.region.take(place)
        return found

    def buffers_to_judge(
        self, expected: Expected, state: dict[str, torch.Tensor], left: dict[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Those that the candidate does not have, or left as they
        were, must not have changed."""
        found = dict(left)
        for name, after in expected.buffers.items():
            if name not in left and not torch.equal(after, state[name]):
                found[name] = state[name]
        return found

    def views(self, part: int) -> dict[int, Alias]:
        """The outputs of a call that are views of an input or of the state."""
        call = self.parts[part]
        found = {i: call.alias(i, self.names) for i in range(len(call.outputs))}
        return {i: view for i, view in found.items() if view is not None}

    def keep(self) -> None:
        """Keeps what a first call left for later ones, but for what the setup makes of the state."""
        self.begun, layout = True, self.region.layout
        if self.leaves and self.last() == 1:
            self.parts, layout.parts = ([*parts, parts[1]] for parts in (self.parts, layout.parts))
        if self.last() > 1:
            for key, (at, size) in layout.kept.items():
                if key not in layout.made or key in self.trace.scratch():
                    self.kept[key] = self.region.span(at, size).clone()

    def last(self) -> int:
        """The part that later calls are."""
        return len(self.parts) - 1

    def numbers(self, seed: int) -> Generator:
        """The one trial with different floats; it has its own trace."""
        state = self.sheet.start(NUMBERS, self.job["seed"])
        order, _ = self.order(len(self.sheet.plan))
        expected = self.sheet.pair.expect(seed, NUMBERS)
        self.p.change = NUMBERS
        self.sheet.pair.take_back()
        for part in (1, 2):
            if part > self.last():
                break
            got, _ = yield from self.call(expected.args, state, part, order=order)
            if part > 1:
                self.p.trials.pop()
            judge_trial(self.job, self.p, got, expected, NUMBERS)
            self.keep()
        self.p.change = None

    def without_kernels(self) -> Generator:
        """Each call with the kernels muted: if the result is still right, they were not needed."""
        self.p.stage = "evidence"
        draw = self.sheet.draw(len(self.sheet.plan) - 1)
        expected = draw.expected
        for part in range(1, len(self.parts)):
            got, _ = yield from self.call(expected.args, draw.state, part, mute=True)
            views = self.views(part)
            computed = [(i, x) for i, x in enumerate(got) if i not in views]
            right = (expected.judge(i, x.to(expected.truth[i].device))[2] for i, x in computed)
            if computed and all(right):
                raise Verdict("hack", "evidence", "The output is right also when no kernel runs: "
                              "something else computes it.", "kernels-without-effect")  # fmt: skip

