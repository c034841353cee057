"""The tables of `monkeys analyze` and `monkeys compare`, computed a second time from the databases.

    recompute.py COMMAND PROGRAM RUN…     COMMAND: analyze or compare
    recompute.py borrowing PROGRAM STORE WORD NUMBERS RUN
                                          the table borrowing for attempts 1,2,…; reader.py is the
                                          model, gets WORD, and writes its answers to STORE.log

Runs the program and compares its rows with ours; prints what differs, and exits with 1 then.
Nothing here looks at the program's code, and sums are done the slow and plain way.
"""

import ast
import io
import json
import math
import os
import re
import sqlite3
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "run"))
from answers import unpack  # noqa: E402

TRAINING = ("book", 800, 1600)
PS = (0, 0.5, 0.8, 1, 1.5, 2)
KS = (1, 5, 10, 25, 100)


class Run:
    def __init__(self, folder: str) -> None:
        self.db = sqlite3.connect(f"file:{folder}/run.db?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        self.name = Path(folder).name
        self.fact = dict(self.db.execute("select name, value from fact").fetchall())
        self.entries = {r["entry"]: r for r in self.db.execute("select * from entry")}
        gone = {r[0] for r in self.db.execute(
            "select task from entry join entry_left using (entry) where origin = 'run'")}  # fmt: skip
        self.tasks = {}
        for row in self.db.execute("select * from task where skipped is null and kind is null order by ord"):
            attempts = [dict(a) for a in self.db.execute(
                "select * from attempt where task = ? order by attempt", (row["ord"],))]  # fmt: skip
            for a in attempts:
                key = (row["ord"], a["attempt"])
                verdict = self.db.execute(
                    "select compiled, times from verdict left join verdict_time using (task, attempt)"
                    " where task = ? and attempt = ?", key).fetchone()  # fmt: skip
                a["compiled"] = bool(verdict and verdict["compiled"])
                a["timing"] = (json.loads(verdict["times"] or "{}") if verdict else {}).get("timing") or {}
                a["shown"] = [r[0] for r in self.db.execute(
                    "select entry from shown where task = ? and attempt = ? order by rank", key)]  # fmt: skip
                a["good"] = bool(a["solved"]) and row["ord"] not in gone
            self.tasks[row["id"]] = attempts
        self.hash = dict(self.db.execute("select id, hash from task").fetchall())
        self.ord = dict(self.db.execute("select id, ord from task").fetchall())
        self.attempts = int(self.fact["attempts"])
        counts = {len(a) for a in self.tasks.values()}
        self.full = counts == {self.attempts}
        used = {a["retrieval"] for t in self.tasks.values() for a in t} - {None, "seeds"}
        self.retrieval = (
            "coverage" if "coverage" in used else "alternating" if len(used) == 2 else "".join(used)
        )

    def head(self) -> dict:
        return {"run": self.name, "language": self.fact["dsl"], "model": self.fact["model"],
                "method": self.fact["method"]}  # fmt: skip

    def solved_at(self, task: str) -> int:
        return next((a["attempt"] for a in self.tasks[task] if a["good"]), 0)

    def solved(self, within: int = 10**9) -> set[str]:
        return {t for t in self.tasks if 0 < self.solved_at(t) <= within}

    def speedup(self, task: str, within: int, over: str) -> float | None:
        best = None
        for a in self.tasks[task]:
            ms, reference = (((a["timing"].get(k)) or {}).get("median") or 0 for k in ("ms", over))
            if a["good"] and a["attempt"] <= within and ms > 0 and reference > 0:
                best = max(best or 0, reference / ms)
        return best

    def open_attempts(self):
        """(task, index, attempt) of attempts that were made before the task was solved."""
        for task, attempts in self.tasks.items():
            end = self.solved_at(task) or 10**9
            for i, a in enumerate(attempts):
                if a["attempt"] <= end:
                    yield task, i, a


def wilson(k: int, n: int) -> tuple[float, float]:
    """By bisection: the shares that are 1.96 standard errors away from the one seen."""

    def edge(low: float, high: float) -> float:
        for _ in range(200):
            p = (low + high) / 2
            if (k / n - p) ** 2 * n <= 3.841458820694124 * p * (1 - p):
                low = p
            else:
                high = p
        return low

    return edge(k / n, 0.0) if k else 0.0, edge(k / n, 1.0) if k < n else 1.0


def mcnemar(b: int, c: int) -> float:
    n = b + c
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(min(b, c) + 1)) / 2**n)


def pass_at_k(n: int, c: int, k: int) -> float:
    return 1 - math.comb(n - c, k) / math.comb(n, k)


# ---- analyze -----------------------------------------------------------------


def solved(runs):
    for r in runs:
        n, k = len(r.tasks), len(r.solved())
        low, high = wilson(k, n)
        seeds = sum(e["origin"] != "run" for e in r.entries.values())
        yield r.head() | {"seeds": seeds, "attempts": r.attempts, "tasks": n, "solved": k, "share": k / n,
                          "low": low, "high": high}  # fmt: skip


def samples(runs):
    most = max([r.attempts for r in runs if r.full], default=1)
    for r in runs:
        levels = sorted({t.rpartition("/")[0].split("/")[0] for t in r.tasks})
        for level in (levels if len(levels) > 1 else []) + ["all"]:
            tasks = [t for t in r.tasks if level == "all" or t.startswith(level + "/")]
            made = [a for t in tasks for a in r.tasks[t]]
            row = r.head() | {"level": level, "tasks": len(tasks), "N": r.attempts,
                "accuracy": sum(a["good"] for a in made) / len(made) if r.full else None,
                "coverage": len(r.solved() & set(tasks)) / len(tasks),
                "first": len(r.solved(1) & set(tasks)) / len(tasks)}  # fmt: skip
            for k in (k for k in KS if k <= most):
                known = r.full and k <= r.attempts
                each = [pass_at_k(r.attempts, sum(a["good"] for a in r.tasks[t]), k) for t in tasks if known]
                row[f"pass@{k}"] = sum(each) / len(tasks) if known else None
            yield row


def bars(runs):
    for r in runs:
        each = [sum(a["good"] for a in t) / len(t) if r.full else t[0]["good"] if t else 0
                for t in r.tasks.values()]  # fmt: skip
        share = sum(each) / len(each)
        yield r.head() | {"N": r.attempts if r.full else 1, "pass@1": share, "bar": "#" * math.floor(share * 50 + 0.5)}


def tuned(runs):
    """With what TRAINING says of the first run's model."""
    for r in runs:
        known = TRAINING if r.fact["model"] == runs[0].fact["model"] else (None, 0, 0)
        best = [[x for x in (r.speedup(t, 10**9, o) for o in ("reference_ms", "compile_ms")) if x] for t in r.tasks]
        reach, above, k = sum(any(x >= 1 for x in b) for b in best), sum(any(x > 1 for x in b) for b in best), len(r.solved())
        timed = any(best)
        yield {"model": r.fact["model"], "run": r.name, "source_of_data": known[0], "problems": known[1],
               "samples": known[2], "solved": k, "reach_1": reach if timed else None,
               "share": reach / k if timed else None, "above_1": above if timed else None}  # fmt: skip


def retrieval(runs):
    if len({r.retrieval for r in runs} - {""}) > 1:
        for kind in ("random", "similar", "alternating", "coverage"):
            for r in (r for r in runs if r.retrieval == kind):
                n, k = len(r.tasks), len(r.solved())
                yield {"retrieval": kind, "run": r.name, "attempts": r.attempts, "tasks": n, "solved": k, "share": k / n}


def iterations(runs):
    for r in runs:
        for t in range(1, r.attempts + 1):
            compiled = sum(any(a["compiled"] for a in x if a["attempt"] <= t) for x in r.tasks.values())
            yield {"run": r.name, "attempt": t, "correct": len(r.solved(t)), "compiled": compiled,
                   "tasks": len(r.tasks)}  # fmt: skip


def novelty(runs):
    for r in (r for r in runs if r.retrieval):
        for mode, newer, name in ((0, 0, "previous attempt"), (1, 0, "previous of the same mode"),
                                  (0, 1, "previous attempt, newer kernels"),
                                  (1, 1, "previous of the same mode, newer kernels")):  # fmt: skip
            seen, good = defaultdict(int), defaultdict(int)
            for task, i, a in r.open_attempts():
                earlier = [b for b in r.tasks[task][:i] if not mode or b["retrieval"] == a["retrieval"]]
                if not earlier or not a["shown"]:
                    continue
                was = earlier[-1]
                fresh = [e for e in a["shown"] if e not in was["shown"]]
                if newer:
                    fresh = [e for e in fresh if r.entries[e]["version"] > was["archive_version"]]
                seen[len(fresh)] += 1
                good[len(fresh)] += a["good"]
            for c in sorted(seen):
                yield {"run": r.name, "compared_with": name, "examples_changed": c, "attempts": seen[c],
                       "successful": good[c], "success_rate": good[c] / seen[c]}  # fmt: skip


def quick(r: Run, within: int, p: float, names: tuple[str, ...]) -> dict:
    row = {}
    for over, (above, least) in zip(("reference_ms", "compile_ms"), (names[:2], names[2:])):
        known = any(r.speedup(t, 10**9, over) for t in r.tasks)
        v = [x for x in (r.speedup(t, within, over) for t in r.tasks) if x is not None]
        row[above] = sum(x > p for x in v) / len(r.tasks) if known else None
        row[least] = sum(x >= p for x in v) / len(r.tasks) if known else None
    return row


def timed(runs):
    return [r for r in runs if any(r.speedup(t, 10**9, o) for t in r.tasks for o in ("reference_ms", "compile_ms"))]


def fast(runs):
    names = ("eager_>_1", "eager_>=_1", "compile_>_1", "compile_>=_1")
    for r in timed(runs):
        for t in range(1, r.attempts + 1):
            yield {"run": r.name, "attempt": t, "solved": len(r.solved(t)) / len(r.tasks)} | quick(r, t, 1, names)


def speed(runs):
    names = ("eager_>_p", "eager_>=_p", "compile_>_p", "compile_>=_p")
    for r in timed(runs):
        for p in PS:
            yield {"run": r.name, "p": p} | quick(r, 10**9, p, names)


def cost(runs):
    for r in runs:
        made, k = r.db.execute("select count(*) from attempt").fetchone()[0], len(r.solved())
        calls, tin, tout, usd = r.db.execute(
            "select sum(state = 'answered'), sum(input), sum(output), sum(cost_usd_micro) / 1e6 from call"
        ).fetchone()
        yield r.head() | {"solved": k, "attempts": made, "calls": calls, "tokens_in": tin, "tokens_out": tout,
            "dollars": usd, "attempts_per_solve": made / k if k else None,
            "tokens_per_solve": (tin + tout) / k if k else None, "dollars_per_solve": usd / k if k else None}  # fmt: skip


def credit(runs):
    """p exactly: the distribution of hits is a sum of hypergeometric ones."""
    for r in (r for r in runs if r.retrieval):
        made = [a for _, _, a in r.open_attempts() if a["shown"]]
        for number, entry in sorted(r.entries.items()):
            marked = [a for a in made if number in a["shown"]]
            if not marked:
                continue
            chance, expected = {0: 1.0}, 0.0
            for stratum in {(a["attempt"], a["retrieval"]) for a in made}:
                these = [a for a in made if (a["attempt"], a["retrieval"]) == stratum]
                n, m = len(these), sum(a in marked for a in these)
                h = sum(a["good"] for a in these)
                expected += m * h / n
                after = defaultdict(float)
                for before, p in chance.items():
                    for x in range(min(m, h) + 1):
                        after[before + x] += p * math.comb(h, x) * math.comb(n - h, m - x) / math.comb(n, m)
                chance = after
            hits = sum(a["good"] for a in marked)
            p = sum(q for x, q in chance.items() if abs(x - expected) >= abs(hits - expected) - 1e-9)
            yield {"run": r.name, "entry": number, "example": entry["name"], "origin": entry["origin"],
                   "shown": len(marked), "solved": hits, "expected": expected, "p": p}  # fmt: skip


def curriculum(runs):
    somewhere = set().union(*(r.solved() for r in runs))
    for r in runs:
        levels = {row[0] for row in r.db.execute("select level from task where kind not null")}
        total, solved = r.db.execute(
            "select count(distinct ord), count(distinct iif(solved, ord, null)) from task"
            " left join attempt on task = ord where kind not null and skipped is null").fetchone()  # fmt: skip
        yield r.head() | {
            "kernels_at_the_start": sum(e["origin"] != "run" for e in r.entries.values()),
            "setting": ", ".join(x for x in ("coarse", "medium", "fine") if x in levels) or "monolithic",
            "pieces": total if levels else None, "pieces_solved": solved if levels else None,
            "tasks": len(r.tasks), "tasks_solved": len(r.solved()),
        } | {t: "yes" if t in r.solved() else None for t in somewhere}  # fmt: skip


# ---- programs ----------------------------------------------------------------

SYMBOLS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "MatMult": "matmul", "Pow": "pow"}
TORCH = ("torch.nn.functional.", "torch.nn.", "torch.")


def imports(tree: ast.Module) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for n in node.names:
                names[n.asname or n.name.split(".")[0]] = n.name if n.asname else n.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            names |= {n.asname or n.name: f"{node.module}.{n.name}" for n in node.names}
    return names


def dotted(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value, known)
        return inner and f"{inner}.{node.attr}"
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def chain(source: str) -> list[str]:
    """The operators of forward, in the order in which Python evaluates them."""
    tree = ast.parse(source)
    known, layers, found = imports(tree), {}, []

    def name_of(call: ast.Call) -> str:
        full = dotted(call.func, known)
        for home in TORCH:
            if full.startswith(home):
                rest = full.removeprefix(home)
                return "" if "." in rest else rest
        f = call.func
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "self":
            return layers.get(f.attr, "")
        return f.attr if isinstance(f, ast.Attribute) and not full else ""

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Subscript):
            visit(node.value)
            return
        for child in ast.iter_child_nodes(node):
            visit(child)
        if isinstance(node, ast.Call) and name_of(node):
            found.append(name_of(node))
        elif isinstance(node, ast.BinOp):
            found.append(SYMBOLS[type(node.op).__name__])

    functions = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
    for node in ast.walk(functions.get("__init__", tree)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and "__init__" in functions:
            target = node.targets[0]
            if isinstance(target, ast.Attribute):
                layers[target.attr] = name_of(node.value)
    for statement in functions["forward"].body if "forward" in functions else ():
        visit(statement)
    return found


def lines_of(code: str) -> int:
    """Lines with code: neither comments, also those of C within strings, nor strings that are
    statements."""
    tree = ast.parse(code)
    alone = {(n.lineno, n.col_offset) for n in ast.walk(tree)
             if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str)}  # fmt: skip
    found = set()
    for t in tokenize.generate_tokens(io.StringIO(code).readline):
        if t.type in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT) or t.start in alone:
            continue
        if t.type == tokenize.STRING:
            bare = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), t.string, flags=re.S)
            found |= {t.start[0] + i for i, line in enumerate(bare.split("\n")) if line.strip()}
        elif t.string.strip():
            found.add(t.start[0])
    return len(found)


def primitives(code: str) -> list[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    known = {k: v for k, v in imports(tree).items() if v.split(".")[0] not in ("torch", "math", "typing")}
    inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    full = {dotted(n, known) for n in ast.walk(tree)
            if isinstance(n, (ast.Attribute, ast.Name)) and id(n) not in inner}  # fmt: skip
    names = {".".join(n.split(".")[-2:]) for n in full if "." in n}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.Call)):
            for text in [node.value] if isinstance(node, ast.Assign) else node.args:
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and "\n" in text.value:
                    names |= called(text.value)
    return sorted(names)


def called(program: str) -> set[str]:
    program = re.sub(r"/\*.*?\*/|//[^\n]*|^#[^\n]*", " ", program, flags=re.S | re.M)
    names = {m[1] for m in re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\])?\s*\(", program)}
    made = set(re.findall(r"\b(?!return\b|else\b|in\b|below\b|by\b)[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*\(", program))
    return names - made - {"if", "for", "while", "switch", "return", "sizeof", "float", "int", "long", "and", "or",
                           "not", "double"}  # fmt: skip


def text_of(r: Run, key: str | None) -> str:
    row = r.db.execute("select data from blob where hash = ?", (key,)).fetchone()
    return unpack(row[0]).decode() if row else ""


def features(runs):
    for r in runs:
        for task, attempts in r.tasks.items():
            for a in (a for a in attempts if a["attempt"] == r.solved_at(task)):
                names = primitives(text_of(r, a["code"]))
                yield {"run": r.name, "task": task, "attempt": a["attempt"], "lines": lines_of(text_of(r, a["code"])),
                       "primitives": len(names), "names": ", ".join(names)}  # fmt: skip


def used(runs):
    """The table primitives, of those that an attempt uses."""
    for r in runs:
        count = Counter(n for t in r.solved() for n in primitives(kernel(r, t)))
        failed = Counter(n for t in r.tasks.values() for a in t if not a["solved"] for n in primitives(text_of(r, a["code"])))
        seeds = set().union(*(primitives(text_of(r, e["solution"])) for e in r.entries.values() if e["origin"] != "run"))
        for name in sorted(count | failed):
            row = {"run": r.name, "primitive": name, "solved": count[name], "failed_attempts": failed[name],
                   "share": count[name] / len(r.solved()) if r.solved() else 0}  # fmt: skip
            yield row | ({"taught": "seeds"} if name in seeds else {})


def source_of(r: Run, task: str) -> str:
    return text_of(r, r.db.execute("select source from task where id = ?", (task,)).fetchone()[0])


def coverage(runs):
    for r in runs:
        chains = {t: chain(source_of(r, t)) for t in r.tasks}
        for kind, cut in (("operators of the reference", set),
                          ("neighbouring operators of the reference", lambda c: set(zip(c, c[1:])))):  # fmt: skip
            there = set().union(*(cut(chains[t]) for t in r.solved()))
            needed = [cut(chains[t]) for t in r.tasks if t not in r.solved() and cut(chains[t])]
            if needed:
                yield covered(r, kind, needed, there)
        needed = []
        for t in (t for t in r.tasks if t not in r.solved()):
            other = next((o for o in runs if o is not r and t in o.solved() and o.hash[t] == r.hash[t]), None)
            if other:
                needed.append(set(primitives(kernel(other, t))))
        if any(needed):
            seeds = [text_of(r, e["solution"]) for e in r.entries.values() if e["origin"] != "run"]
            there = set().union(*(primitives(c) for c in seeds + [kernel(r, t) for t in r.solved()]))
            yield covered(r, "primitives of another run's kernel", needed, there)


def kernel(r: Run, task: str) -> str:
    return text_of(r, next(a["code"] for a in r.tasks[task] if a["attempt"] == r.solved_at(task)))


def covered(r: Run, kind: str, needed: list[set], there: set) -> dict:
    whole = sum(n <= there for n in needed)
    return {"run": r.name, "components": kind, "unsolved": len(needed), "all_present": whole,
            "share": whole / len(needed), "mean_covered": sum(len(n & there) / len(n) for n in needed) / len(needed),
            "with_new": len(needed) - whole}  # fmt: skip


PLAIN = set("add sub mul div neg pow lt le gt ge eq ne view reshape permute transpose contiguous size unsqueeze squeeze "
            "expand flatten to float dim zeros ones empty detach clone type shape t expand_as view_as Parameter ModuleList "
            "Sequential".split())  # fmt: skip


def guide_of(r: Run) -> str:
    """The system message of the first attempt that has one."""
    for task in r.tasks:
        for (key,) in r.db.execute("select prompt from call where task = ? and attempt = 1 and prompt is not null order by "
                                   "asked_at", (r.ord[task],)):  # fmt: skip
            for message in json.loads(text_of(r, key)):
                if message["role"] == "system":
                    return "".join(text_of(r, part) for part in message["parts"])
    return ""


def words_for(op: str, kernels: list[tuple[set, list]]) -> set[str]:
    """The words that stand out in solved kernels of the operator; several if they do so equally."""
    having, others = [w for ops, w in kernels if op in ops], [w for ops, w in kernels if op not in ops]
    lift = {}
    for word in {w for words in having for w in words} if len(having) > 1 else ():
        here = sum(word in words for words in having) / len(having)
        there = sum(word in words for words in others) / len(others) if others else 0
        if here >= 0.8 and here - there > 0.5:
            lift[word] = here - there
    return {w for w, x in lift.items() if x == max(lift.values())}


def unsolved(runs):
    kernels = [(set(chain(source_of(r, t))), primitives(kernel(r, t))) for r in runs for t in r.tasks if t in r.solved()]
    for r in runs:
        guide = guide_of(r)
        for t in (t for t in r.tasks if t not in r.solved()):
            ops, seen, own = chain(source_of(r, t)), set(), set()
            for a in r.tasks[t]:
                own |= set(primitives(text_of(r, a["code"])))
                for e in a["shown"]:
                    seen |= set(primitives(text_of(r, r.entries[e]["solution"])))
            where, never = Counter(), []
            needed = [op for op in dict.fromkeys(ops) if op not in PLAIN]
            for op in needed:
                names = {re.split(r"\W", w)[-1].lower() for w in {op} | words_for(op, kernels)}
                found = [any(re.search(rf"(?i)(?<=[.:`])\b{n}\b|\b{n}\b(?=[(\[<`])", guide) for n in names)]
                found += [bool(names & {re.split(r"\W", w)[-1].lower() for w in words}) for words in (seen, own)]
                where.update(dict(zip(("guide", "examples", "code"), found)))
                never += [op] if not any(found) else []
            yield {"run": r.name, "task": t, "length": len(ops), "operators": " > ".join(ops), "needed": len(needed),
                   "in_guide": where["guide"] if guide else None, "in_examples": where["examples"],
                   "in_code": where["code"], "never_visible": ", ".join(never)}  # fmt: skip


# ---- borrowing ---------------------------------------------------------------


def borrowing(runs, log: str, numbers: list[int]):
    """From what the model answered about a task and attempt."""
    said = {}
    for line in Path(log).read_text().splitlines():
        _, task, attempt, reply = json.loads(line)
        said[task, attempt] = reply  # that of a repair comes later
    for r in runs:
        for number in numbers:
            for outcome in (1, 0):
                shares, unreadable = [], 0
                for task, attempts in r.tasks.items():
                    for a in attempts:
                        if a["attempt"] != number or a["solved"] != outcome or not a["code"] or not a["shown"]:
                            continue
                        found = re.search(r"```json\n(.*)\n```", said[task, number], re.S)
                        if not found:
                            unreadable += 1
                            continue
                        lines = text_of(r, a["code"]).strip("\n").split("\n")
                        full = {i for i, s in enumerate(lines, 1) if s.strip()}
                        shown = {str(i) for i in range(1, len(a["shown"]) + 1)}
                        named = {i for x in json.loads(found[1])["borrowed"] if x["parent_id"] in shown
                                 for low, high in x["target_lines"] for i in range(low, high + 1)}  # fmt: skip
                        shares.append(len(full & named) / len(full))
                if shares or unreadable:
                    yield {"run": r.name, "attempt": number, "outcome": "solved" if outcome else "failed",
                           "kernels": len(shares), "borrowed": sum(shares) / len(shares) if shares else None,
                           "unreadable": unreadable, "no_answer": 0}  # fmt: skip


# ---- compare -----------------------------------------------------------------


def compared_runs(runs):
    for r in runs:
        common = [t for t in r.tasks if all(t in o.tasks for o in runs)]
        made = [a for t in common for a in r.tasks[t]]
        k = len(r.solved() & set(common))
        low, high = wilson(k, len(common))
        tin = tout = usd = 0
        for t in common:
            row = r.db.execute("select sum(input), sum(output), sum(cost_usd_micro) from call where task = ?",
                               (r.ord[t],)).fetchone()  # fmt: skip
            tin, tout, usd = tin + (row[0] or 0), tout + (row[1] or 0), usd + (row[2] or 0) / 1e6
        yield r.head() | {"tasks": len(common), "solved": k, "low": low * len(common), "high": high * len(common),
            "attempts": len(made), "tokens_in": tin, "tokens_out": tout, "dollars": usd,
            "tokens_per_solve": (tin + tout) / k if k else None, "dollars_per_solve": usd / k if k else None}  # fmt: skip


def curve(runs):
    common = set.intersection(*(set(r.tasks) for r in runs))
    for t in range(1, max(r.attempts for r in runs) + 1):
        yield {"attempts": t} | {r.name: len(r.solved(t) & common) for r in runs}


def pairs(runs):
    common = set.intersection(*(set(r.tasks) for r in runs))
    most = max(r.attempts for r in runs)
    steps = [2**i for i in range(20) if 2**i < most] + [most]
    for a, b in combinations(runs, 2):
        for k in steps:
            x, y = a.solved(k) & common, b.solved(k) & common
            yield {"one": a.name, "other": b.name, "attempts": k, "both": len(x & y), "only_one": len(x - y),
                   "only_other": len(y - x), "p": mcnemar(len(x - y), len(y - x))}  # fmt: skip


# ---- both --------------------------------------------------------------------

ANALYZE = (solved, samples, bars, tuned, retrieval, iterations, novelty, fast, speed, coverage, curriculum,
           unsolved, features, cost, credit)  # fmt: skip
TABLES = {
    "analyze": {f.__name__: f for f in ANALYZE} | {"primitives": used},
    "compare": {"runs": compared_runs, "curve": curve, "pairs": pairs},
}


def same(ours, theirs, key: str, table: str) -> bool:
    if isinstance(ours, float) and isinstance(theirs, (int, float)):
        return abs(ours - theirs) < (0.06 if (table, key) == ("credit", "p") else 1e-6)
    return ours == theirs


def main() -> int:
    command, program, *folders = sys.argv[1:]
    options, tables = [f for f in folders if f == "--force"], TABLES.get(command)
    folders = [f for f in folders if f != "--force"]
    if command == "borrowing":
        store, word, numbers, *folders = folders
        reader = f"{sys.executable} {Path(__file__).with_name('reader.py')} {Path(store).resolve()}.log {word}"
        command, options = "analyze", ["--table", "borrowing", "--store", store, "--command", reader]
        options += [x for n in numbers.split(",") for x in ("--attempt", n)]
        tables = {"borrowing": lambda runs: borrowing(runs, f"{store}.log", [*map(int, numbers.split(","))])}
    runs = [Run(folder) for folder in folders]
    if "tuned" in tables:
        options = ["--training", f"{runs[0].fact['model']}={','.join(map(str, TRAINING))}"]
    done = subprocess.run([program, command, "--json", *options, *folders], check=True, capture_output=True, text=True)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    unknown = {r["table"] for r in printed} - tables.keys() - {"borrowing"}  # which is asked for alone
    wrong = [f"table {name} is printed but not recomputed: add a function to ANALYZE" for name in sorted(unknown)]
    for name, compute in tables.items():
        theirs = [r for r in printed if r["table"] == name and not {"note", "missing"} & r.keys()]
        ours = list(compute(runs))
        if name == "primitives":
            theirs = [r for r in theirs if r["solved"] or r["failed_attempts"]]
        if name == "credit":  # sorted by a p that is drawn
            order = [r.name for r in runs]
            theirs.sort(key=lambda r: (order.index(r["run"]), r["entry"]))
        if len(ours) != len(theirs):
            wrong.append(f"{name}: the program has {len(theirs)} rows, the script {len(ours)}")
        for mine, row in zip(ours, theirs):
            wrong += [f"{name}: {key}: the program says {row.get(key)!r}, the script {value!r}, in {row}"
                      for key, value in mine.items() if not same(value, row.get(key), key, name)]  # fmt: skip
        if os.environ.get("SHOW"):
            print(name, len(ours), "rows", file=sys.stderr)
    print("\n".join(wrong[:20]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
