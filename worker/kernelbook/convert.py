"""Makes a KernelBench file of a program from KernelBook. The program is parsed and its text is
edited where the tree says; all else stays as its author wrote it. It is never run here.

- The entry class becomes Model.
- get_init_inputs gives the constructor's arguments by position.
- _mock_config, which is not in the file, is defined in it.
- What differs between training and inference is in inference mode: the constructor ends with
  self.eval().
- forward returns one tensor: of a tuple, list or dict, the first item.
- Imports that are unavailable and unused are dropped, and so are repeated ones."""

import ast
import functools
import re
import unicodedata
import warnings
from dataclasses import dataclass, field

MOST_BYTES = 1 << 20  # of a program, as everywhere
SIZE = 4  # what stands for every size in KernelBook
MOST_INPUT = 256 << 20  # bytes of all inputs, in fp32
# Elements of a dimension, by the number of dimensions: inputs have a million elements or so.
TARGETS = (0, 65536, 1024, 128, 32, 16)
TARGET_WITH_WEIGHTS = 1024  # a vector's size is often that of a weight matrix, too
CHANGES = ("renamed", "positional", "mock-config", "eval", "item-0", "imports")

# What tasks may import: torch, numpy, and modules of Python that have to do with computing.
AVAILABLE = frozenset(
    """torch numpy __future__ abc bisect cmath collections contextlib copy dataclasses decimal enum
    fractions functools heapq inspect itertools logging math numbers operator queue random re
    statistics string sys textwrap time types typing uuid warnings weakref""".split()
)
HELPERS = "_paritybench_helpers"
MOCK = '''class _mock_config(dict):
    """A configuration: a dict with its items as attributes."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    __setattr__ = dict.__setitem__


'''
EVAL = "self.eval()  # inference: no dropout, running statistics"
IN_TRAINING = re.compile(  # in names of what differs between training and inference
    "dropout|batchnorm|batch_norm|training|droppath|drop_path|instancenorm|instance_norm|rrelu"
    "|multiheadattention|transformer",
    re.IGNORECASE,
)
# Parts of the names of arguments that are no sizes, though they are 4.
NO_SIZES = frozenset(
    """kernel stride pad padding dilation group groups layer layers depth head heads nhead block
    blocks level levels iter iters step steps order power degree factor scale ratio reduction eps
    margin alpha beta gamma axis p k temperature""".split()
)
DRAWS = frozenset(
    """rand randn rand_like randn_like randint randint_like randperm bernoulli bernoulli_
    multinomial normal normal_ uniform_ random_ exponential_ geometric_ cauchy_ log_normal_
    gumbel_softmax rsample sample sample_n shuffle poisson""".split()
)
DROPS = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
)
RANDOM_NAMES = DRAWS | DROPS | {"random"}
IDENTIFIER = re.compile(r"[\w\x80-\U0010ffff]+", re.ASCII)
LINE_END = re.compile(rb"\r\n|\r|\n")  # and no other character: as Python counts lines
CLASS_NAME = re.compile(rb"class(?:\s|\\)+")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
UNITS = {*FUNCTIONS, ast.ClassDef}
IMPORTS = {ast.Import, ast.ImportFrom, ast.alias}
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)  # of a statement: what is not in its header
BRACES = (ast.Dict, ast.Set, ast.DictComp, ast.SetComp)
NOTHING_FIRST = (ast.Lambda, ast.Yield, ast.YieldFrom, ast.Set, ast.SetComp, ast.DictComp,
                 ast.GeneratorExp)  # fmt: skip
PLAIN, ITEMS, NEITHER = range(3)  # what an expression gives: one value, several, or none to select
MADE, RUNS = 1, 2  # how a function is reached: while the model is made, or when it runs


class Refused(Exception):
    """The row becomes no task. The reasons are those of the manifest."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@dataclass(eq=False)
class Unit:
    """A function or class. `names` are those that its body mentions, functions and classes in it
    included."""

    node: ast.AST | None = None
    parent: "Unit | None" = None
    names: set[str] = field(default_factory=set)
    run: int = 0  # MADE or RUNS; 0: not reached

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


@dataclass
class Argument:
    name: str  # "": by position
    node: ast.AST | None
    given: bool = True


def convert_row(entry: str, code: str, scale: bool) -> dict:
    """What the row becomes: its texts, at the sizes to try or as it is, or why there is none."""
    try:
        first = Program(entry, code, 0)
        sizes = first.sizes_to_try() if scale else None
        texts = [Program(entry, code, n).text if n else first.text for n in sizes or [0]]
    except Refused as problem:
        return {"reason": problem.reason, "detail": problem.detail}
    changes = [name for name in CHANGES if name in first.changes]
    return {"reason": "kept", "changes": changes, "texts": texts, "sizes": sizes or None}


def parse_row(data: bytes, flags: int, what: str = "") -> ast.Module:
    """With ast.PyCF_ONLY_AST, the tree; else this only finds out whether it is a program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(data.decode(), "<row>", "exec", flags, dont_inherit=True)
    except SyntaxError as problem:
        raise Refused("syntax", f"{what}line {problem.lineno or 1}: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise Refused("syntax", f"{what}line 1: {problem or type(problem).__name__}") from None


def is_size_name(name: str) -> bool:
    return NO_SIZES.isdisjoint(name.lower().split("_"))


@functools.cache
def parts_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The members of a node that are statements, expressions or names."""
    no = ("ctx", "op", "ops", "type_comment", *(kind._fields if kind is ast.Constant else ()))
    return tuple(f for f in kind._fields if f not in no)


def last_name(node: ast.AST) -> str:
    """The last name of a.b.c; of anything else, none."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def is_training(node: ast.AST) -> bool:
    return "training" in (last_name(node), getattr(node, "arg", None))


def bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


class Program:
    """One conversion. Every placeholder size becomes `size`; 0 leaves them."""

    def __init__(self, entry: str, code: str, size: int) -> None:
        self.data = code.removeprefix("\ufeff").encode()
        self.entry, self.size = entry, size
        self.edits: list[tuple[int, int, str]] = []  # from, to, what stands there then
        self.changes: set[str] = set()
        self.input_sizes = self.init_sizes = self.rank = self.inputs = 0
        if len(self.data) > MOST_BYTES:
            raise Refused("syntax", "line 1: the file is larger than 1 MiB")
        self.tree = parse_row(self.data, ast.PyCF_ONLY_AST)
        self.lines = [0, *(m.end() for m in LINE_END.finditer(self.data))]
        self.look_around()
        self.find_parts()
        self.clean_imports()
        self.rename()
        self.refuse_random()
        self.give_arguments()
        self.return_one()
        self.count_sizes()
        self.text = self.edited(0, len(self.data), self.edits)
        parse_row(self.text.encode(), 0, "after conversion: ")

    # ---- places ----

    def start(self, node: ast.AST) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node: ast.AST) -> int:
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def line_start(self, node: ast.AST) -> int:
        """Of the line on which a statement begins, with its decorators."""
        first = [*getattr(node, "decorator_list", []), node][0]
        return self.lines[first.lineno - 1]

    def line_after(self, node: ast.AST) -> int:
        return self.lines[node.end_lineno] if node.end_lineno < len(self.lines) else len(self.data)

    def begins_line(self, node: ast.AST) -> bool:
        return not self.data[self.line_start(node) : self.start(node)].strip()

    def indent(self, node: ast.AST) -> str:
        line = self.data[self.line_start(node) :]
        return line[: len(line) - len(line.lstrip(b" \t\f"))].decode()

    def with_brackets(self, node: ast.AST) -> tuple[int, int]:
        """An item's place, with the brackets that were put round it alone."""
        start, end = self.start(node), self.end(node)
        before = self.data[:start].rstrip(b" \t\r\n\\")
        after = re.compile(rb"(?:[\s\\]|#[^\r\n]*)*\)").match(self.data, end)
        while after and before.endswith(b"("):
            start, end = len(before) - 1, after.end()
            before = before[:-1].rstrip(b" \t\r\n\\")
            after = re.compile(rb"(?:[\s\\]|#[^\r\n]*)*\)").match(self.data, end)
        return start, end

    def edited(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
        """That part of the text. Of two edits at one place an insertion comes first, then the wider
        one, which replaces the other."""
        parts = []
        for begin, to, text in sorted(edits, key=lambda e: (e[0], e[1] > e[0], -e[1])):
            if begin >= start:  # not inside what was replaced
                parts += [self.data[start:begin], text.encode()]
                start = to
        return b"".join([*parts, self.data[start:end]]).decode()

    def replace(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text))

    # ---- one look at the whole tree ----

    def look_around(self) -> None:
        """Notes functions and classes, and the names that each mentions, in one pass."""
        self.units: list[Unit] = []
        self.statements: list[tuple[ast.AST, Unit]] = []  # returns and assignments, and whose
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.calls: list[ast.Call] = []
        self.attributes: list[ast.Attribute] = []
        self.noted = {ast.Import: self.imports, ast.ImportFrom: self.imports, ast.Call: self.calls,
                      ast.Attribute: self.attributes}  # fmt: skip
        self.mentions: list[tuple[ast.AST, str]] = []  # of the entry class, and of Model
        self.plain: set[str] = set()  # names that are neither attributes nor imported
        outside = Unit()
        todo: list[tuple[ast.AST, Unit]] = [(self.tree, outside)]
        while todo:
            node, unit = todo.pop()
            kind = type(node)
            inner = unit
            if kind in UNITS:
                inner = Unit(node, unit if unit is not outside else None)
                self.units.append(inner)
            elif kind in self.noted:
                self.noted[kind].append(node)
            elif kind in (ast.Return, ast.Assign):
                self.statements.append((node, unit))
            for name in parts_of(kind):
                value = getattr(node, name, None)
                if type(value) is list:
                    within = inner if name == "body" else unit
                    for item in value:
                        if isinstance(item, ast.AST):
                            todo.append((item, within))
                        elif type(item) is str:
                            self.mention(node, item, unit)
                elif type(value) is str:
                    self.mention(node, value, unit)
                elif isinstance(value, ast.AST):
                    todo.append((value, unit))
        self.units.sort(key=lambda u: self.start(u.node))
        for unit in reversed(self.units):
            if unit.parent:
                unit.parent.names |= unit.names
        self.names = outside.names.union(*(u.names for u in self.units))

    def mention(self, node: ast.AST, text: str, unit: Unit) -> None:
        first = text
        if type(node) in IMPORTS:  # the others have no dots
            first = text.partition(".")[0]
            unit.names.update(text.split("."))
        else:
            unit.names.add(text)
        if type(node) is ast.Attribute or getattr(node, "level", 0):
            return
        if first in (self.entry, "Model"):
            self.mentions.append((node, first))
        if type(node) not in IMPORTS:
            self.plain.add(first)

    def find(self, parent: Unit | None, kind: type | tuple, name: str) -> Unit | None:
        """The last one counts, as when Python runs the file."""
        return next((u for u in reversed(self.units) if u.parent is parent
                     and isinstance(u.node, kind) and u.node.name == name), None)  # fmt: skip

    def find_parts(self) -> None:
        if not IDENTIFIER.fullmatch(self.entry):
            raise Refused("entry", f"'{self.entry}' is no name")
        self.model = self.find(None, ast.ClassDef, self.entry)
        self.get_inputs = self.find(None, FUNCTIONS, "get_inputs")
        self.get_init_inputs = self.find(None, FUNCTIONS, "get_init_inputs")
        if not self.model:
            raise Refused("entry", f"no class {self.entry}")
        if not self.get_inputs or not self.get_init_inputs:
            raise Refused("entry", "get_inputs or get_init_inputs is missing")
        self.init = self.find(self.model, FUNCTIONS, "__init__")
        self.forward = self.find(self.model, FUNCTIONS, "forward")
        if not self.forward:
            raise Refused("entry", f"class {self.entry} has no forward")

    # ---- imports ----

    def clean_imports(self) -> None:
        top, seen = set(self.tree.body), set()
        lines = sorted((n for n in self.imports if self.begins_line(n)), key=self.start)
        for i, node in enumerate(lines):
            line = self.data[self.start(node) : self.line_after(node)].strip()
            if node in top and line in seen:
                self.drop(node)
                continue
            seen.add(line)
            modules = self.modules(node)
            if AVAILABLE.issuperset(modules):
                continue
            follows = self.data[self.end(node) : self.line_after(node)].strip().startswith(b";")
            if node not in top or follows:
                raise Refused("import", f"{modules[0]} (line {node.lineno})")
            if modules[0] == HELPERS:
                self.changes.add("mock-config")
            else:
                later = [n for n in lines[i + 1 :] if n in top and self.modules(n)[0] in AVAILABLE]
                self.check_unused(node, modules[0], {bound(a) for n in later for a in n.names})
            self.drop(node)
        if "mock-config" in self.changes:
            self.define_mock(lines)

    def modules(self, node: ast.Import | ast.ImportFrom) -> list[str]:
        if isinstance(node, ast.Import):
            return [a.name.partition(".")[0] for a in node.names]
        return ["." if node.level else node.module.partition(".")[0]]

    def check_unused(self, node: ast.Import | ast.ImportFrom, module: str, again: set[str]) -> None:
        """What comes from elsewhere can go if nothing uses its names, or a later import of ours
        gives them another meaning."""
        for alias in node.names:
            if bound(alias) in self.plain - again:
                raise Refused("import", f"{module} (line {alias.lineno})")

    def drop(self, node: ast.AST) -> None:
        self.replace(self.line_start(node), self.line_after(node), "")
        self.changes.add("imports")

    def define_mock(self, imports: list) -> None:
        """In front of the first definition."""
        for node in self.tree.body:
            if node not in imports and not (isinstance(node, ast.Expr) and is_text(node.value)):
                self.replace(self.line_start(node), self.line_start(node), MOCK)
                return

    # ---- names ----

    def rename(self) -> None:
        if self.entry == "Model":
            return
        for node, name in sorted(self.mentions, key=lambda m: self.start(m[0])):
            line = f"line {node.lineno}"
            if name == "Model":
                raise Refused("collision", f"{line}: the name Model is taken")
            if node is self.model.node:
                start = CLASS_NAME.match(self.data, self.start(node)).end()
                length = len(re.match(rb"[\w\x80-\xff]+", self.data[start:])[0])
                self.replace(start, start + length, "Model")
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and self.is_at(node):
                self.replace(self.start(node), self.end(node), "Model")
            else:
                raise Refused("collision", f"{line}: {name} is not only the entry class")
        self.changes.add("renamed")

    def is_at(self, node: ast.Name) -> bool:
        """Python before 3.12 does not say well where the parts of an f-string are."""
        text = self.data[self.start(node) : self.end(node)].decode(errors="replace")
        return unicodedata.normalize("NFKC", text) == node.id

    # ---- random numbers ----

    def refuse_random(self) -> None:
        """Follows names from forward on. What only the constructor runs may be random, and what
        runs only in training does not count."""
        self.reach()
        self.own = {u.node.name for u in self.units}
        self.function_modules = {"F", "functional", "torch"} | {
            a.asname for n in self.imports for a in n.names
            if a.asname and a.name.endswith("functional")}  # fmt: skip
        for unit in self.units:
            can_draw = not RANDOM_NAMES.isdisjoint(unit.names)
            if unit.run == RUNS and not unit.is_class and can_draw:
                self.refuse_draws(unit.node.body)

    def reach(self) -> None:
        named: dict[str, list[Unit]] = {}
        for unit in self.units:
            named.setdefault(unit.node.name, []).append(unit)
        todo = [(self.model, RUNS)]
        while todo:
            unit, how = todo.pop()
            if unit.run >= how:
                continue
            unit.run = how
            if unit.is_class:  # its objects are made, and called
                for name, when in (("__init__", MADE), ("forward", RUNS), ("__call__", RUNS)):
                    found = self.find(unit, FUNCTIONS, name)
                    todo += [(found, when)] if found else []
                names = {last_name(n) for b in unit.node.bases for n in ast.walk(b)}
            else:
                names = unit.names - {"__init__", "forward"}
            for other in (u for name in names for u in named.get(name, ())):
                todo.append((other, RUNS if other.is_class else how))

    def refuse_draws(self, body: list[ast.AST]) -> None:
        """Refuses the row for the first draw. After "if not training: return" there is only what
        runs in training."""
        for node in body:
            parts = list(ast.iter_child_nodes(node))
            head = [n for p in parts if not isinstance(p, BLOCKS) for n in ast.walk(p)]
            inner = [p for p in parts if isinstance(p, BLOCKS)]
            if not any(is_training(n) for n in head):
                self.refuse_draw(head)
            elif isinstance(node, ast.If):
                signs = {type(n) for n in head}
                negated = not signs.isdisjoint((ast.Not, ast.IsNot, ast.NotIn))
                if negated and ast.And not in signs and isinstance(node.body[0], ast.Return):
                    return
                inner = inner if negated or ast.Or in signs else node.orelse
            self.refuse_draws(inner)

    def refuse_draw(self, nodes: list[ast.AST]) -> None:
        found = [place for n in nodes for place in [self.draw(n)] if place]
        if found:
            _, line, name = min(found)
            raise Refused("random", f"line {line}: {name}")

    def draw(self, node: ast.AST) -> tuple[int, int, str] | None:
        """Where random numbers are drawn, the line, and by what."""
        if isinstance(node, ast.Attribute) and last_name(node.value) == "random":
            return self.end(node.value), node.value.end_lineno, "random"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        name, of = node.func.attr, last_name(node.func.value)
        if name in DRAWS - self.own or (name in DROPS and of in self.function_modules):
            return self.end(node.func), node.func.end_lineno, name
        return None

    # ---- how the model is made ----

    def give_arguments(self) -> None:
        """get_init_inputs returns [[], {keyword: value}] in KernelBook, and the values in the order
        of the parameters in KernelBench. The constructor ends in inference mode where that makes a
        difference."""
        pair = self.find_pair()
        given = self.items(pair.elts[0]) + self.items(pair.elts[1]) if pair else []
        ends_in_eval = bool(IN_TRAINING.search(" ".join(self.names)))
        if self.init:
            places = self.place(given) if pair else []
        elif any(not g.name for g in given):
            raise Refused("arguments", "a class without a constructor has arguments without names")
        else:
            places = given
        if pair:
            values = [self.value(p) for p in places]
            self.replace(self.start(pair), self.end(pair), f"[{', '.join(values)}]")
            self.changes.add("positional")
        if ends_in_eval:
            self.changes.add("eval")
        if self.init and ends_in_eval:
            self.end_with_eval()
        elif not self.init and (given or ends_in_eval):
            self.add_constructor([g.name for g in given], ends_in_eval)

    def find_pair(self) -> ast.List | None:
        """The list in "return [[...], {...}]"; None when it looks different."""
        returns = [n for n in ast.walk(self.get_init_inputs.node) if isinstance(n, ast.Return)]
        value = min(returns, key=self.start).value if returns else None
        pair = isinstance(value, ast.List) and len(value.elts) == 2 and value or None
        fits = pair and isinstance(pair.elts[0], ast.List) and isinstance(pair.elts[1], BRACES)
        return pair if fits else None

    def items(self, node: ast.AST) -> list[Argument]:
        if isinstance(node, ast.Dict):
            names = [k.value if k and is_text(k) else None for k in node.keys]
            found = list(zip(names, node.values))
        else:
            found = [("", v) for v in getattr(node, "elts", [None])]
        if any(name is None or isinstance(v, (ast.Starred, type(None))) for name, v in found):
            raise Refused("arguments", "get_init_inputs has no plain values")
        return [Argument(name, v) for name, v in found]

    def place(self, given: list[Argument]) -> list[Argument]:
        """The given arguments at the places of their parameters. What is left out between them has
        its default."""
        args = self.init.node.args
        named = [*args.posonlyargs, *args.args]
        defaults = [*[None] * (len(named) - len(args.defaults)), *args.defaults]
        places = [Argument(a.arg, d, False) for a, d in zip(named, defaults)][1:]
        last = 0
        for i, g in enumerate(given):
            at = next((n for n, p in enumerate(places) if p.name == g.name), -1) if g.name else i
            if not 0 <= at < len(places):
                raise Refused("arguments", f"'{g.name}' is no parameter that has a place")
            places[at] = Argument(places[at].name, g.node)
            last = max(last, at + 1)
        for p in places[:last]:
            if not p.node:
                raise Refused("arguments", f"'{p.name}' has neither value nor default")
        return places[:last]

    def value(self, argument: Argument) -> str:
        """The text of a value as it will stand in the file: renamed, and scaled where it is a size.
        A keyword argument in it (_mock_config(width=4)) has its own name."""
        edits: list[tuple[int, int, str]] = []
        todo = [(argument.node, is_size_name(argument.name))]
        while todo:
            node, size = todo.pop()
            if isinstance(node, ast.Name) and node.id == self.entry:
                edits.append((self.start(node), self.end(node), "Model"))
            elif size and self.is_size(node):
                self.init_sizes += 1
                edits += [(self.start(node), self.end(node), str(self.size))] if self.size else []
            elif isinstance(node, ast.keyword):
                size = is_size_name(node.arg or "")
            if not isinstance(node, ast.JoinedStr):
                todo += [(n, size) for n in ast.iter_child_nodes(node)]
        return self.edited(*self.with_brackets(argument.node), edits)

    def is_size(self, node: ast.AST) -> bool:
        """A placeholder: the number 4, written so."""
        return (isinstance(node, ast.Constant) and node.value == SIZE
                and self.data[self.start(node) : self.end(node)] == b"%d" % SIZE)  # fmt: skip

    def end_with_eval(self) -> None:
        """Wherever the constructor ends."""
        for node, unit in self.statements:
            if unit is self.init and isinstance(node, ast.Return):
                self.replace(self.start(node), self.start(node), "self.eval(); ")
        body = self.init.node.body
        if self.begins_line(body[0]):
            at = self.line_after(body[-1])
            first = "" if self.data[:at].endswith((b"\n", b"\r")) else "\n"
            self.replace(at, at, f"{first}{self.indent(body[0])}{EVAL}\n")
        else:
            self.replace(self.end(body[-1]), self.end(body[-1]), f"; {EVAL}")

    def add_constructor(self, names: list[str], ends_in_eval: bool) -> None:
        """For a class that has none, at the start of its body. A method may stand deeper, under a
        condition, so that is no place for it."""
        body = self.model.node.body
        indent = self.indent(body[0])
        docstring = isinstance(body[0], ast.Expr) and is_text(body[0].value) and len(body) > 1
        lines = [
            f"def __init__({', '.join(['self', *names])}):",
            f"{indent}super().__init__({', '.join(f'{n}={n}' for n in names)})",
            *([f"{indent}{EVAL}"] if ends_in_eval else []),
        ]
        at = self.line_start(body[docstring])
        self.replace(at, at, "".join(f"{indent}{line}\n" for line in lines) + "\n")

    # ---- what forward returns ----

    def return_one(self) -> None:
        """Where a return has a tuple, a list or a dict, only its first item stays. What a name or a
        call stands for is left to the verifier, except a name that was just given such a value."""
        returns = [n for n, unit in self.statements if unit is self.forward
                   and isinstance(n, ast.Return) and n.value]  # fmt: skip
        for node in sorted(returns, key=self.start):
            found = self.first_item(node.value, True)
            if found == NEITHER:
                why = "not a tensor, and no first item to select"
                raise Refused("output", f"line {node.lineno}: {why}")
            if found == ITEMS:
                self.changes.add("item-0")
        if "item-0" in self.changes and self.is_called():
            raise Refused("output", "other code uses what forward returns")

    def first_item(self, node: ast.AST, edit: bool) -> int:
        """What the expression gives; on `edit` it is cut down to its first item."""
        makes = last_name(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.IfExp):
            found = [self.first_item(n, edit) for n in (node.body, node.orelse)]
            return max(found)
        if isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
            items = node.values if isinstance(node, ast.Dict) else node.elts
            if not items:
                return ITEMS if isinstance(node, ast.List) and not edit else NEITHER
            if isinstance(items[0], ast.Starred) or getattr(node, "keys", [node])[0] is None:
                return NEITHER
            if edit:
                self.keep_only(node, items[0])
            return ITEMS
        if isinstance(node, NOTHING_FIRST) or makes in ("dict", "OrderedDict"):
            return NEITHER
        name = isinstance(node, ast.Name) and edit
        listed = isinstance(node, ast.ListComp) or makes in ("tuple", "list")
        found = ITEMS if listed else self.value_of(node) if name else PLAIN
        if found == ITEMS and edit:
            self.replace(self.end(node), self.end(node), "[0]")
        return found

    def keep_only(self, node: ast.AST, item: ast.AST) -> None:
        start, end = self.with_brackets(item)
        text = self.data[start:end].decode()
        self.replace(self.start(node), start, "")
        self.replace(end, self.end(node), "")
        if "\n" in text or "\r" in text:  # what the outer brackets held together
            try:
                ast.parse(text)
            except SyntaxError:
                self.replace(start, start, "(")
                self.replace(end, end, ")")

    def value_of(self, name: ast.Name) -> int:
        """What the name stands for at its place in forward, by the last plain assignment."""
        found = PLAIN
        for node, unit in sorted(self.statements, key=lambda s: self.start(s[0])):
            if unit is not self.forward or not isinstance(node, ast.Assign):
                continue
            if self.start(node) < self.start(name) and last_name(node.targets[0]) == name.id:
                left = node.value
                while isinstance(left, ast.BinOp) and isinstance(left.left, ast.BinOp):
                    left = left.left
                adds = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add)
                if not adds or last_name(left.left) != name.id:  # x = x + (y,) stays what it was
                    found = self.first_item(node.value, False)
        return found

    def is_called(self) -> bool:
        """Code that takes the result apart would break."""
        for_super = {a for c in self.calls if last_name(c.func) == "super" for a in c.args}
        return any(
            n.attr == "forward" and not isinstance(n.value, ast.Call) for n in self.attributes
        ) or any(n is not self.model.node and n not in for_super for n, _ in self.mentions)

    # ---- sizes ----

    def count_sizes(self) -> None:
        """In get_inputs: torch.rand([4, 4]), the list that is the first argument."""
        for call in ast.walk(self.get_inputs.node):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            shape = call.args[0]
            if not isinstance(shape, ast.List) or not shape.elts:
                continue
            self.inputs += 1
            self.rank = max(self.rank, len(shape.elts))
            for node in filter(self.is_size, ast.walk(shape)):
                self.input_sizes += 1
                if self.size:
                    self.replace(self.start(node), self.end(node), str(self.size))

    def sizes_to_try(self) -> list[int]:
        """All placeholders of a program become the same size, so that what must be equal stays
        equal. Half and a quarter of it come next, then 0, the program as it is; nothing where there
        is no placeholder."""
        if not self.input_sizes:
            return []
        size = TARGETS[min(self.rank, len(TARGETS) - 1)]
        if self.rank == 1 and self.init_sizes:
            size = TARGET_WITH_WEIGHTS
        while size > SIZE and 4 * self.inputs * size**self.rank > MOST_INPUT:
            size //= 2
        return [*(n for n in (size, size // 2, size // 4) if n > SIZE), 0]
