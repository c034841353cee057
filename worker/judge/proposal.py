"""A proposal read as foreign bytes: the contract of docs/CURRICULUM.md, and its graph."""

import json
import re
from dataclasses import dataclass, field

from judge import piece_language
from judge.reasons import Finding

ID = re.compile(r"[a-z0-9_]{3,40}\Z")
LEVELS = ("coarse", "medium", "fine")
KINDS = ("partition", "reformulation", "stepping_stone")
DTYPES = {"fp32": "float32", "bf16": "float32", "fp16": "float32", "float32": "float32",
          "int64": "int64", "int32": "int32", "bool": "bool"}  # of a run in fp32  # fmt: skip
DISTS = ("normal", "uniform", "neg_log_gate", "unit_norm", "index")
MOST = 64  # subproblems
TEXT = 500  # characters of a title or a reason


@dataclass
class Given:
    """An input: where it comes from is ("orig", name), (id, "0") or ("fresh", "")."""

    name: str
    source: tuple[str, str]
    shape: tuple[int, ...]
    dtype: str


@dataclass
class Sub:
    id: str
    title: str
    kind: str
    inputs: list[Given]
    shape: tuple[int, ...]
    dtype: str
    depends_on: list[str]
    source: str
    raw: dict = field(repr=False)  # as it came

    def needs(self) -> list[str]:
        found = dict.fromkeys(g.source[0] for g in self.inputs)
        return [n for n in found if n not in ("orig", "fresh")]


@dataclass
class Proposal:
    level: str
    subs: list[Sub]
    claimed: bool
    output: str  # the id of the subproblem that gives the task's output
    covers: list[str]


def read_proposal(raw: object) -> dict:
    """The object, which may come as text."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError) as problem:
            raise Finding("bad_json", str(problem)) from None
    if not isinstance(raw, dict):
        raise Finding("bad_json", f"a {type(raw).__name__}, not an object")
    return raw


def parse_proposal(raw: object, findings: list[Finding]) -> Proposal:
    """The subproblems that are well formed; the others are named in `findings`."""
    whole = read_proposal(raw)
    subs = _proposed(list, whole.get("subproblems"), "subproblems")
    if not 0 < len(subs) <= MOST:
        raise Finding("bad_schema", f"{len(subs)} subproblems; 1 to {MOST} are allowed")
    level = _one_of(LEVELS, whole.get("level"), "level")
    composition = _proposed(dict, whole.get("composition"), "composition")
    claimed = _proposed(bool, composition.get("claimed"), "composition.claimed")
    output = _proposed(str, composition.get("output", ""), "composition.output")
    covers = [str(_proposed(str, c, "composition.covers"))
              for c in _proposed(list, composition.get("covers", []), "composition.covers")]  # fmt: skip
    found: list[Sub] = []
    for one in subs:
        name = one.get("id") if isinstance(one, dict) else None
        name = name if isinstance(name, str) else None
        try:
            found.append(_sub(one, {s.id for s in found}))
        except Finding as refusal:
            refusal.sub = name
            findings.append(refusal)
    return Proposal(level, found, claimed, output.removesuffix(":0"), covers)


def _sub(raw: object, taken: set[str]) -> Sub:
    raw = _proposed(dict, raw, "a subproblem")
    name = _proposed(str, raw.get("id"), "id")
    if not ID.match(name) or name in ("orig", "fresh"):
        raise Finding("bad_id", f"the id {name[:60]!r}")
    if name in taken:
        raise Finding("duplicate_id", name)
    outputs = _proposed(list, raw.get("outputs"), "outputs")
    if len(outputs) != 1:
        raise Finding("bad_schema", f"{len(outputs)} outputs: a piece returns one tensor")
    out = _proposed(dict, outputs[0], "an output")
    given = [_given(g) for g in _proposed(list, raw.get("inputs"), "inputs")]
    if not given:
        raise Finding("bad_schema", "no inputs")
    source = _proposed(str, raw.get("source"), "source")
    piece_language.check_piece(source)
    return Sub(
        name, _proposed(str, raw.get("title"), "title")[:TEXT],
        _one_of(KINDS, raw.get("kind"), "kind"), given, _proposed_shape(out.get("shape")),
        _dtype(out.get("dtype")), [str(_proposed(str, d, "depends_on"))
                                   for d in _proposed(list, raw.get("depends_on"), "depends_on")],
        source, raw,
    )  # fmt: skip


def _given(raw: object) -> Given:
    raw = _proposed(dict, raw, "an input")
    dist = _proposed(dict, raw.get("dist", {"kind": "normal"}), "dist")
    _one_of(DISTS, dist.get("kind"), "dist.kind")
    where = _proposed(str, raw.get("from"), "from")
    kind, _, rest = where.partition(":")
    return Given(_proposed(str, raw.get("name"), "an input's name")[:TEXT], (kind, rest),
                 _proposed_shape(raw.get("shape")), _dtype(raw.get("dtype")))  # fmt: skip


def _proposed(kind: type, value: object, what: str):  # noqa: ANN202
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise Finding("bad_schema", f"{what} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _one_of(known: tuple, value: object, what: str) -> str:
    if value not in known:
        raise Finding("bad_schema", f"{what} is {str(value)[:40]!r}, not one of {', '.join(known)}")
    return value


def _proposed_shape(value: object) -> tuple[int, ...]:
    shape = _proposed(list, value, "a shape")
    if len(shape) > 12 or not all(type(n) is int and 0 < n < 1 << 40 for n in shape):
        raise Finding("bad_schema", f"the shape {str(shape)[:60]}")
    return tuple(shape)


def _dtype(value: object) -> str:
    return DTYPES[_one_of(tuple(DTYPES), value, "dtype")]


# ---- the graph ------------------------------------------------------------------


def ordered(subs: list[Sub], known: set[str], arguments: dict[str, tuple[int, ...]],
            findings: list[Finding]) -> list[Sub]:  # fmt: skip
    """In an order in which each comes after what it needs. `known`: all ids of the proposal, also
    refused ones; `arguments`: the task's, with their shapes."""
    left = {s.id: s for s in subs}
    for sub in subs:
        try:
            check_sources(sub, known, arguments, left)
        except Finding as refusal:
            refusal.sub = sub.id
            findings.append(refusal)
    refused = {f.sub for f in findings}
    done: dict[str, Sub] = {}
    waiting = [s for s in subs if s.id not in refused]
    while waiting:
        ready = [s for s in waiting if all(n in done for n in s.needs())]
        if not ready:
            break
        done |= {s.id: s for s in ready}
        waiting = [s for s in waiting if s.id not in done]
    for sub in waiting:
        lost = [n for n in sub.needs() if n in refused or n not in left]
        code, text = ("needs_refused", f"needs {lost[0]}") if lost else ("cyclic", "a circle")
        if not lost and not _in_circle(sub, left):
            code, text = "needs_refused", "needs subproblems that need each other"
        findings.append(Finding(code, text, sub.id))
    return list(done.values())


def _in_circle(sub: Sub, by_id: dict[str, Sub]) -> bool:
    seen, todo = set(), sub.needs()
    while todo:
        name = todo.pop()
        if name == sub.id:
            return True
        if name not in seen and name in by_id:
            seen.add(name)
            todo += by_id[name].needs()
    return False


def check_sources(sub: Sub, known: set[str], arguments: dict[str, tuple[int, ...]],
                  by_id: dict[str, Sub]) -> None:  # fmt: skip
    for given in sub.inputs:
        kind, rest = given.source
        if kind == "orig":
            if rest not in arguments:
                raise Finding("unknown_source", f"the task has no argument {rest[:60]!r}")
            if arguments[rest] != given.shape:
                raise Finding("source_mismatch", f"{rest} has the shape {list(arguments[rest])}, "
                              f"not {list(given.shape)}")  # fmt: skip
        elif kind == "fresh" and not rest:
            continue
        elif kind not in known or rest != "0":
            raise Finding("unknown_source", f"{kind[:60]}:{rest[:20]}: there is no such output")
        elif kind in by_id and by_id[kind].shape != given.shape:
            raise Finding("source_mismatch", f"{kind}:0 has the shape {list(by_id[kind].shape)}, "
                          f"not {list(given.shape)}")  # fmt: skip
    if sorted(set(sub.depends_on)) != sorted(sub.needs()):
        raise Finding("wrong_depends_on", f"depends_on is {sorted(set(sub.depends_on))}, the inputs "
                      f"come from {sorted(sub.needs())}")  # fmt: skip
