"""Where tensors come from that were made before forward: the log of all operations until
then, and what of it has to be repeated to get a tensor from a model's parameters.

A tensor that was only moved there from named parameters (packed, transposed, padded) can be
made again from any parameters. One that was computed from them cannot.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from recorder.memory import Store
from recorder.moves import Copy, Fill, Move, whole_store


@dataclass(frozen=True, slots=True)
class Step:
    """One operation; `moves` is None where it computed."""

    moves: tuple[Move, ...] | None
    reads: tuple[Store, ...]
    writes: tuple[Store, ...]


class Origins:
    def __init__(self) -> None:
        self.log: list[Step] = []
        self.writers: dict[Store, list[int]] = defaultdict(list)
        self.state: set[Store] = set()
        self.stands: dict[Store, tuple[Store, int]] = {}  # what state was cast from, and when
        self.built = 0  # steps of the model's own making; a cast follows
        self.derived: set[Store] = set()
        self.repeated: set[int] = set()  # steps that `moves` has returned

    def note(self, step: Step) -> None:
        for store in step.writes:
            self.writers[store].append(len(self.log))
        self.log.append(step)

    def settle(self, state: set[Store]) -> set[Store]:
        """The model is built, and this memory holds its state. Returns the memory whose
        contents depend on it."""
        self.state = state
        for store in state:
            self._follow_cast(store)
        self.derived = state | set(self.stands)
        for step in self.log:
            if any(s in self.derived for s in step.reads):
                self.derived.update(step.writes)
            elif _overwrites(step):
                self.derived -= set(step.writes) - state - set(self.stands)
        return self.derived

    def _follow_cast(self, store: Store) -> None:
        """A parameter that was cast after the model had been made: what it was cast from
        stands for it, since whatever was made of that could be made of the parameter."""
        while len(self.writers[store]) == 1 and self.writers[store][0] >= self.built:
            at = self.writers[store][0]
            moves = self.log[at].moves
            if not moves or not isinstance(moves[0], Copy) or not moves[0].to.whole():
                return
            source = moves[0].source
            if not source.whole() or source.store in self.state or source.store in self.stands:
                return
            final = self.stands[store][0] if store in self.stands else store
            self.stands[source.store] = (final, at)
            store = source.store

    def moves(self, store: Store) -> list[Move] | None:
        """What makes the contents of `store` from the state and from literals, after all
        that was returned before; None where they were computed."""
        steps: set[int] = set()
        if not self._needs(store, len(self.log), steps):
            return None
        if store in self.stands:
            return [Copy(whole_store(store), whole_store(self.stands[store][0]))]
        fresh = sorted(steps - self.repeated)
        self.repeated |= steps
        return [self._rewritten(m) for i in fresh for m in self.log[i].moves or ()]

    def _needs(self, store: Store, time: int, steps: set[int]) -> bool:
        """Adds the steps that gave `store` what it held at `time`. False: they computed,
        or something that they read has changed since."""
        if store in self.stands:
            cast = self.stands[store][1]
            return not any(i >= min(time, cast) for i in self.writers[store])
        if store in self.state or store not in self.derived:
            return not any(i >= time for i in self.writers[store])
        for i in self.writers[store]:
            if i >= time or i in steps:
                continue
            if self.log[i].moves is None:
                return False
            steps.add(i)
            if not all(self._needs(s, i, steps) for s in self.log[i].reads):
                return False
        return True

    def _rewritten(self, move: Move) -> Move:
        if isinstance(move, Copy) and move.source.store in self.stands:
            store = self.stands[move.source.store][0]
            return Copy(move.to, replace(move.source, store=store, dtype=store.dtype))
        return move


def _overwrites(step: Step) -> bool:
    """All that was there is gone."""
    return bool(step.moves) and all(isinstance(m, Fill) and m.to.whole() for m in step.moves)
