"""What a kernel may contain, and a kernel by itself. Everything that is not named here is
refused: a kernel's text is compiled and interpreted by programs that run Python.

`extract` finds a function in the candidate's file, checks it and returns its text without
decorators and annotations, each statement on the line it has in the file. It neither runs
nor imports anything.

Names that a kernel takes from its surroundings arrive as plain values from the recorder:

  BIND = {"value": number|str|null} | {"constexpr": BIND} | {"dtype": name} | {"kernel": k}
       | {"tuple": [BIND]} | {"layout": [class, {field: BIND}]} | {"module": full name}
       | {"from": [module, name]} | {"unknown": type}
"""

import ast
import functools
from dataclasses import dataclass, field

from shared import kernel_assembly
from shared.kernel_names import (
    ANNOTATIONS, ATTRIBUTES, BUILTIN_CLASSES, BUILTINS, MODULES, NAMES, STATIC_METHODS,
)  # fmt: skip

LANGUAGE = "__tl"  # how checked kernels name the language: no candidate can
MOST_CHARACTERS = 1_000_000  # of a candidate's file
MOST_NODES = 20_000  # of a kernel's tree
_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Return, ast.Expr,
    ast.Pass, ast.Assert, ast.Break, ast.Continue, ast.With,
)  # fmt: skip
_ITERATORS = ("range", "static_range")
_REGIONS = ("async_task", "async_tasks")  # what a with statement opens
_PRINTS = ("static_print", "device_print")
_MESSAGES = ("static_assert", "device_assert")  # their text is shown, never computed with
_CONSTANTS = (type(None), bool, int, float, str)
_ELSEWHERE = {
    "abs": "tl.abs", "sum": "tl.sum", "round": "libdevice.rint", "pow": "libdevice.pow",
    "bool": ".to(tl.int1)", "tuple": "a literal tuple", "list": "a literal tuple",
    "getattr": "the attribute", "hasattr": "the attribute",
}  # fmt: skip


class Denied(Exception):
    """A kernel contains something that is not its language."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(f"line {line}: {text}" if line else text)


@dataclass
class Kernel:
    """A kernel by itself."""

    name: str
    tree: ast.Module  # one function, checked; lines as in the file
    used: list[str] = field(default_factory=list)  # the bound names that it really uses
    defaults: list[str] = field(default_factory=list)  # parameters whose default is bound

    @functools.cached_property
    def text(self) -> str:
        """The same as text. Not all who want the tree want it, and it takes as long to write."""
        return _written(self.tree.body[0])


def parse_source(source: str) -> ast.Module:
    if len(source) > MOST_CHARACTERS:
        raise Denied("the file is too long")
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise Denied(f"the file cannot be parsed: {problem}") from None


def extract(tree: ast.Module, spec: dict) -> Kernel:
    """The kernel that the recorder names, or Denied."""
    node = _find(tree, spec["name"], spec["line"])
    try:
        return _Checker(spec).kernel(node)
    except RecursionError:
        raise Denied("the kernel is nested too deeply", node.lineno) from None


def is_plain(name: object) -> bool:
    """An identifier that Python gives no meaning of its own."""
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")


def _find(tree: ast.Module, name: str, line: int) -> ast.FunctionDef:
    if not is_plain(name):
        raise Denied(f"a kernel cannot be called {name!r}")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([d.lineno for d in node.decorator_list] + [node.lineno])
            if line in (first, node.lineno):
                return node
    raise Denied(f"the file has no function {name} at line {line}: kernels must be written out "
                 "in it")  # fmt: skip


class _Checker:
    """One kernel: checks its tree and makes a clean one."""

    def __init__(self, spec: dict) -> None:
        self.bind: dict[str, dict] = spec["bind"]
        self.given_defaults: dict[str, dict] = spec.get("defaults") or {}
        self.local: set[str] = set()
        self.texts: dict[str, list[ast.expr]] = {}  # what each local name is assigned
        self.used: dict[str, None] = {}
        self.defaults: list[str] = []

    def kernel(self, node: ast.FunctionDef) -> Kernel:
        for name in (*self.bind, *self.given_defaults):
            if not is_plain(name):
                raise Denied(f"the name {name!r} cannot be used in a kernel")
        self._find_locals(node)
        made = ast.FunctionDef(
            name=node.name, args=self._arguments(node.args), body=self._body(node.body),
            decorator_list=[], returns=None, type_comment=None, type_params=[],
        )  # fmt: skip
        return Kernel(node.name, ast.Module([_at(made, node)], []), list(self.used), self.defaults)

    def _find_locals(self, node: ast.FunctionDef) -> None:
        args = node.args
        if args.vararg or args.kwarg:
            raise Denied("a kernel takes no star arguments", node.lineno)
        self.local = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        for count, part in enumerate(ast.walk(ast.Module(node.body, []))):
            if count > MOST_NODES:
                raise Denied("the kernel is too long", node.lineno)
            if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
                self.local.add(part.id)
            if isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.texts.setdefault(target.id, []).append(part.value)
        for name in self.local:
            if not is_plain(name):
                raise Denied(f"the name {name} cannot be used in a kernel", node.lineno)
            if self.bind.get(name, {}).keys() & {"module", "kernel", "from"}:
                raise Denied(f"{name} is a module or function outside the kernel and is assigned "
                             "in it: choose another name", node.lineno)  # fmt: skip

    # ---- parameters ----

    def _arguments(self, args: ast.arguments) -> ast.arguments:
        if args.kwonlyargs or args.posonlyargs:
            raise Denied("a kernel takes neither keyword-only nor positional-only parameters",
                         (*args.posonlyargs, *args.kwonlyargs)[0].lineno)  # fmt: skip
        made = [
            _at(ast.arg(arg=a.arg, annotation=_annotation(a.annotation)), a)
            for a in args.args
        ]
        with_default = args.args[len(args.args) - len(args.defaults) :]
        defaults = [self._default(a, d) for a, d in zip(with_default, args.defaults)]
        return ast.arguments(posonlyargs=[], args=made, vararg=None, kwonlyargs=[], kw_defaults=[],
                             kwarg=None, defaults=defaults)  # fmt: skip

    def _default(self, arg: ast.arg, value: ast.expr) -> ast.expr:
        """A literal, or a name whose value the recorder sent."""
        if _is_literal(value):
            return value
        if arg.arg not in self.given_defaults:
            raise Denied(f"the default of {arg.arg} is not a literal", value.lineno)
        self.defaults.append(arg.arg)
        return _at(ast.Name(default_name(arg.arg), ast.Load()), value)

    # ---- statements ----

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made = [m for s in body if (m := self._statement(s)) is not None]
        return made or [_at(ast.Pass(), body[0])]

    def _statement(self, node: ast.stmt) -> ast.stmt | None:
        """The statement as it is kept; None: it has no effect."""
        if not isinstance(node, _STATEMENTS):
            raise Denied(f"{_spoken(node)} is not part of the kernel language", node.lineno)
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant) or self._is_print(node.value):
                return None
            return _at(ast.Expr(self._expression(node.value)), node)
        made = getattr(self, "_" + type(node).__name__.lower(), self._as_it_is)(node)
        return _at(made, node)

    def _as_it_is(self, node: ast.stmt) -> ast.stmt:
        return type(node)()  # pass, break, continue

    def _assign(self, node: ast.Assign) -> ast.stmt:
        if len(node.targets) != 1:
            raise Denied("assign one name after the other", node.lineno)
        return ast.Assign([self._target(node.targets[0])], self._expression(node.value), None)

    def _augassign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            raise Denied("only names can be assigned in a kernel", node.lineno)
        return ast.AugAssign(self._target(node.target), node.op, self._expression(node.value))

    def _annassign(self, node: ast.AnnAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            raise Denied("only names can be assigned in a kernel", node.lineno)
        if node.value is None:
            return ast.Pass()
        value = self._expression(node.value)
        target = self._target(node.target)
        if _is_constexpr(node.annotation):
            return ast.AnnAssign(target, _constexpr(node.annotation), value, 1)
        return ast.Assign([target], value, None)

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return _at(ast.Name(node.id, ast.Store()), node)
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self._target(e) for e in node.elts]
            return _at(ast.Tuple(parts, ast.Store()), node)
        raise Denied("only names can be assigned in a kernel, never attributes or elements",
                     node.lineno)  # fmt: skip

    def _for(self, node: ast.For) -> ast.stmt:
        if not isinstance(node.iter, ast.Call) or self._iterator(node.iter.func) is None:
            raise Denied("a kernel's for loop goes over range, tl.range or tl.static_range",
                         node.lineno)  # fmt: skip
        if not isinstance(node.target, ast.Name) or node.orelse:
            raise Denied("a kernel's for loop has one variable and no else", node.lineno)
        call = self._call(node.iter, head=True)
        return ast.For(self._target(node.target), call, self._body(node.body), [], None)

    def _iterator(self, func: ast.expr) -> str | None:
        if isinstance(func, ast.Name) and func.id not in self.local:
            bound = self.bind.get(func.id)
            if bound is None:
                return func.id if func.id == "range" else None
            return bound["from"][1] if "from" in bound and bound["from"][1] in _ITERATORS else None
        found = self._from_module(func)
        return found[1] if found and found[1] in _ITERATORS else None

    def _while(self, node: ast.While) -> ast.stmt:
        if node.orelse:
            raise Denied("a kernel's while loop has no else", node.lineno)
        return ast.While(self._expression(node.test), self._body(node.body), [])

    def _if(self, node: ast.If) -> ast.stmt:
        orelse = self._body(node.orelse) if node.orelse else []
        return ast.If(self._expression(node.test), self._body(node.body), orelse)

    def _with(self, node: ast.With) -> ast.stmt:
        """A region of TLX: the compiler knows no other."""
        item = node.items[0]
        opened = item.context_expr
        if len(node.items) > 1 or item.optional_vars or not self._is_region(opened):
            raise Denied("a kernel's with statement opens tlx.async_tasks() or tlx.async_task(…)",
                         node.lineno)  # fmt: skip
        return ast.With([ast.withitem(self._call(opened, head=True))], self._body(node.body), None)

    def _is_region(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._callee(node.func)[1] in _REGIONS

    def _return(self, node: ast.Return) -> ast.stmt:
        return ast.Return(self._expression(node.value) if node.value is not None else None)

    def _assert(self, node: ast.Assert) -> ast.stmt:
        return ast.Assert(self._expression(node.test), _message(node.msg) if node.msg else None)

    def _is_print(self, node: ast.expr) -> bool:
        """Printing is left out: what it shows would be data."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            return "print" not in self.local and "print" not in self.bind
        found = self._from_module(node.func)
        return found is not None and found[1] in _PRINTS

    # ---- expressions ----

    def _expression(self, node: ast.expr) -> ast.expr:
        method = getattr(self, "_" + type(node).__name__.lower() + "_value", None)
        if method is None:
            raise Denied(f"{_spoken(node)} is not part of the kernel language", node.lineno)
        return _at(method(node), node)

    def _all(self, nodes: list[ast.expr]) -> list[ast.expr]:
        return [self._expression(n) for n in nodes]

    def _constant_value(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, _CONSTANTS):
            raise Denied(f"a constant of type {type(node.value).__name__}", node.lineno)
        return ast.Constant(node.value)

    def _name_value(self, node: ast.Name) -> ast.expr:
        if node.id in self.local:
            return ast.Name(node.id, ast.Load())
        bound = self.bind.get(node.id)
        if bound is None:
            raise Denied(_unknown_name(node.id), node.lineno)
        if bound.keys() & {"module", "from"} and not _stands_alone(bound):
            raise Denied(f"{node.id} can only be called in a kernel", node.lineno)
        return self._bound(node)

    def _bound(self, node: ast.Name) -> ast.expr:
        bound = self.bind[node.id]
        if bound.get("unknown") == "ConstexprFunction":
            raise Denied(f"{node.id} is a triton.constexpr_function, which is Python that the compiler "
                         "would run: compute it in forward and pass the result as a tl.constexpr "
                         "argument", node.lineno)  # fmt: skip
        if "unknown" in bound:
            raise Denied(f"{node.id} is of type {bound['unknown']}: a kernel can use numbers, "
                         "strings, dtypes, kernels and tuples of these from outside, best as "
                         "tl.constexpr", node.lineno)  # fmt: skip
        if "module" in bound and bound["module"] not in MODULES:
            raise Denied(f"the module {bound['module']} is not part of the kernel language",
                         node.lineno)  # fmt: skip
        self.used[node.id] = None
        return _at(ast.Name(node.id, ast.Load()), node)

    def _attribute_value(self, node: ast.Attribute) -> ast.expr:
        found = self._from_module(node)
        if found is not None:
            names, last, rest = found
            if last not in names.values:
                raise Denied(f"{ast.unparse(node)} can only be called in a kernel", node.lineno)
            return self._copied(node, rest)
        self._allow_attribute(node)
        return ast.Attribute(self._expression(node.value), node.attr, ast.Load())

    def _allow_attribute(self, node: ast.Attribute) -> None:
        if node.attr not in ATTRIBUTES:
            raise Denied(f"the attribute .{node.attr} is not part of the kernel language",
                         node.lineno)  # fmt: skip

    def _from_module(self, node: ast.expr) -> tuple | None:
        """Where a dotted name leads that starts at a module: the names of the last
        module, the name in it, and the attributes that follow. None: no such name."""
        parts: list[ast.Attribute] = []
        root = node
        while isinstance(root, ast.Attribute):
            parts.insert(0, root)
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.local or not parts:
            return None
        bound = self.bind.get(root.id)
        if bound is None or "module" not in bound:
            return None
        self._bound(root)
        names = NAMES[MODULES[bound["module"]]]
        for at, part in enumerate(parts):
            if part.attr in names.modules:
                names = NAMES[names.modules[part.attr]]
            elif part.attr in names.functions | names.classes | names.values:
                return names, part.attr, parts[at + 1 :]
            else:
                break
        raise Denied(f"{ast.unparse(node)} is not part of the kernel language", node.lineno)

    def _copied(self, node: ast.expr, rest: list[ast.Attribute]) -> ast.expr:
        """A dotted name from a module, looked through; `rest` are attributes of its value."""
        for part in rest:
            self._allow_attribute(part)
        return _dotted(node)

    def _call_value(self, node: ast.Call) -> ast.expr:
        return self._call(node)

    def _call(self, node: ast.Call, head: bool = False) -> ast.expr:
        """`head`: it stands in the head of a for loop or of a with statement."""
        func, name = self._callee(node.func)
        if name in _ITERATORS + _REGIONS and not head:
            where = "for loop" if name in _ITERATORS else "with statement"
            raise Denied(f"{name} belongs into a {where}", node.lineno)
        if name == "isinstance":
            return self._isinstance(node, func)
        args = list(node.args)
        starred = any(isinstance(a, ast.Starred) for a in args)
        if starred or any(k.arg is None for k in node.keywords):
            raise Denied("star arguments are not part of the kernel language", node.lineno)
        for keyword in node.keywords:
            if not is_plain(keyword.arg) or keyword.arg.startswith("_"):
                raise Denied(f"the keyword {keyword.arg}", node.lineno)
        keywords = {k.arg: k.value for k in node.keywords}
        if name == "inline_asm_elementwise":
            self._inline_assembly(node, args, keywords)
        if name in _MESSAGES:
            self._shorten_messages(args, keywords)
        made = ast.Call(func, self._all(args), [
            _at(ast.keyword(name, self._expression(value)), value) for name, value in keywords.items()
        ])  # fmt: skip
        return _at(made, node)

    def _shorten_messages(self, args: list[ast.expr], keywords: dict[str, ast.expr]) -> None:
        if len(args) > 1:
            args[1] = _message(args[1])
        if "msg" in keywords:
            keywords["msg"] = _message(keywords["msg"])

    def _callee(self, func: ast.expr) -> tuple[ast.expr, str]:
        """What is called, and its name where it is a function of the language."""
        found = self._from_module(func)
        if found is not None:
            names, last, rest = found
            if not rest and last in names.functions | names.classes - {"tensor"}:
                return self._copied(func, []), last
            if len(rest) == 1 and rest[0].attr in STATIC_METHODS.get(last, ()):
                return self._copied(func, []), last
            if last not in names.values or not rest:
                raise Denied(f"{ast.unparse(func)} cannot be called in a kernel", func.lineno)
            return self._copied(func, rest), ""
        if isinstance(func, ast.Name) and func.id not in self.local:
            bound = self.bind.get(func.id)
            if bound is None and func.id in BUILTINS:
                return _at(ast.Name(func.id, ast.Load()), func), func.id
            if bound is not None and "from" in bound and _is_known(bound["from"]):
                return self._bound(func), bound["from"][1]
        return self._expression(func), ""

    def _isinstance(self, node: ast.Call, func: ast.expr) -> ast.expr:
        if len(node.args) != 2 or node.keywords:
            raise Denied("isinstance takes two arguments", node.lineno)
        kinds = node.args[1]
        for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
            found = self._from_module(kind)
            is_class = found is not None and not found[2] and found[1] in found[0].classes
            is_builtin = (isinstance(kind, ast.Name) and kind.id in BUILTIN_CLASSES
                          and kind.id not in self.local and kind.id not in self.bind)  # fmt: skip
            if not is_class and not is_builtin:
                raise Denied(f"isinstance of {ast.unparse(kind)}", node.lineno)
        return ast.Call(func, [self._expression(node.args[0]), kinds], [])

    def _binop_value(self, node: ast.BinOp) -> ast.expr:
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                raise Denied("arithmetic on text is not part of the kernel language", node.lineno)
        return ast.BinOp(self._expression(node.left), node.op, self._expression(node.right))

    def _unaryop_value(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(node.op, self._expression(node.operand))

    def _boolop_value(self, node: ast.BoolOp) -> ast.expr:
        return ast.BoolOp(node.op, self._all(node.values))

    def _compare_value(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) != 1:
            raise Denied("write a < b < c as (a < b) & (b < c)", node.lineno)
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            raise Denied("`in` is not part of the kernel language", node.lineno)
        left, right = self._all([node.left, node.comparators[0]])
        return ast.Compare(left, node.ops, [right])

    def _ifexp_value(self, node: ast.IfExp) -> ast.expr:
        return ast.IfExp(*self._all([node.test, node.body, node.orelse]))

    def _subscript_value(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(*self._all([node.value, node.slice]), ast.Load())

    def _slice_value(self, node: ast.Slice) -> ast.expr:
        parts = (node.lower, node.upper, node.step)
        return ast.Slice(*(self._expression(p) if p is not None else None for p in parts))

    def _tuple_value(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple(self._all(node.elts), ast.Load())

    def _list_value(self, node: ast.List) -> ast.expr:
        return ast.List(self._all(node.elts), ast.Load())

    # ---- inline assembly ----

    def _inline_assembly(
        self, node: ast.Call, args: list[ast.expr], keywords: dict[str, ast.expr]
    ) -> None:
        """Text and constraints are replaced by the literals that were checked."""
        checks = (("asm", kernel_assembly.check_assembly),
                  ("constraints", kernel_assembly.check_constraints))  # fmt: skip
        for at, (name, check) in enumerate(checks):
            given = args[at] if len(args) > at else keywords.get(name)
            text = self._literal_text(given)
            if text is None:
                raise Denied("the text of inline assembly must be a literal", node.lineno)
            try:
                check(text)
            except ValueError as problem:
                raise Denied(str(problem), node.lineno) from None
            made = _at(ast.Constant(text), node)
            if len(args) > at:
                args[at] = made
            else:
                keywords[name] = made

    def _literal_text(self, node: ast.expr | None) -> str | None:
        if isinstance(node, ast.Name) and len(self.texts.get(node.id, ())) == 1:
            node = self.texts[node.id][0]
        elif isinstance(node, ast.Name) and node.id not in self.local:
            bound = self.bind.get(node.id, {})
            bound = bound.get("constexpr", bound)
            value = bound.get("value")
            return value if isinstance(value, str) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return None


# ---- small questions about trees ----


def _at(made: ast.AST, node: ast.AST) -> ast.AST:
    """ast.copy_location for nodes that have a location, in a third of its time."""
    made.lineno, made.col_offset = node.lineno, node.col_offset
    made.end_lineno, made.end_col_offset = node.end_lineno, node.end_col_offset
    return made


def _dotted(node: ast.expr) -> ast.expr:
    """A copy of a name with attributes."""
    if isinstance(node, ast.Attribute):
        return _at(ast.Attribute(_dotted(node.value), node.attr, ast.Load()), node)
    return _at(ast.Name(node.id, ast.Load()), node)


def default_name(parameter: str) -> str:
    """The name under which the recorded default of a parameter is found."""
    return f"__default_{parameter}"


def _is_known(path: object) -> bool:
    """Whether [module, name] is a function or class that the language has."""
    if not isinstance(path, list) or len(path) != 2 or path[0] not in MODULES:
        return False
    names = NAMES[MODULES[path[0]]]
    return path[1] in names.functions | names.classes - {"tensor"}


def _stands_alone(bound: dict) -> bool:
    """A value of the language that was imported by name, such as a dtype."""
    if "from" not in bound:
        return False
    module, name = bound["from"]
    return module in MODULES and name in NAMES[MODULES[module]].values


def _unknown_name(name: str) -> str:
    if name in _ELSEWHERE:
        return f"{name} is not part of the kernel language; use {_ELSEWHERE[name]}"
    if name in BUILTINS:
        return f"{name} can only be called in a kernel"
    return f"the name {name} is not known in the kernel"


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        node = node.operand
    if isinstance(node, ast.Tuple):
        return all(map(_is_literal, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, _CONSTANTS)


def _annotation_text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) \
        else ast.unparse(node)  # fmt: skip


def _is_constexpr(node: ast.expr) -> bool:
    return "constexpr" in _annotation_text(node)


def _constexpr(at: ast.expr) -> ast.expr:
    made = ast.Attribute(ast.Name(LANGUAGE, ast.Load()), "constexpr", ast.Load())
    return ast.fix_missing_locations(_at(made, at))


def _annotation(node: ast.expr | None) -> ast.expr | None:
    """What of a parameter's annotation changes the kernel: constexpr, or a number's type."""
    if node is None:
        return None
    if _is_constexpr(node):
        return _constexpr(node)
    kind = ANNOTATIONS.get(_annotation_text(node).strip().rpartition(".")[2])
    return _at(ast.Constant(kind), node) if kind else None


def _message(node: ast.expr) -> ast.expr:
    """The text of an assertion; the values of an f-string stay unevaluated."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node
    if isinstance(node, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else "{" + ast.unparse(p.value) + "}"
                 for p in node.values)  # fmt: skip
        return _at(ast.Constant("".join(parts)), node)
    return _at(ast.Constant(ast.unparse(node)[:200]), node)


def _spoken(node: ast.AST) -> str:
    known = {
        ast.JoinedStr: "an f-string", ast.Lambda: "a lambda", ast.ListComp: "a comprehension",
        ast.GeneratorExp: "a comprehension", ast.Dict: "a dictionary", ast.Try: "try",
        ast.With: "with", ast.Import: "import", ast.ImportFrom: "import", ast.Raise: "raise",
        ast.FunctionDef: "a function inside a kernel", ast.Global: "global", ast.Delete: "del",
        ast.NamedExpr: ":=", ast.Starred: "a star argument", ast.ClassDef: "a class",
    }  # fmt: skip
    return known.get(type(node), type(node).__name__)


# ---- text on the lines it had ----


def _written(function: ast.FunctionDef) -> str:
    lines: list[str] = []
    _write_statement(function, "", lines)
    return "\n".join(lines) + "\n"


def _write_statement(node: ast.stmt, indent: str, lines: list[str]) -> None:
    lines.extend([""] * (node.lineno - 1 - len(lines)))
    bodies = [(name, getattr(node, name, None)) for name in ("body", "orelse")]
    if not bodies[0][1]:
        lines.append(indent + ast.unparse(node))
        return
    lines.append(indent + _header(node))
    for name, body in bodies:
        if body and name == "orelse":
            lines.extend([""] * (body[0].lineno - 2 - len(lines)))
            lines.append(indent + "else:")
        for statement in body or ():
            _write_statement(statement, indent + "    ", lines)


def _header(node: ast.stmt) -> str:
    """The first line of a statement that has a body."""
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}({ast.unparse(node.args)}):"
    if isinstance(node, ast.For):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}:"
    if isinstance(node, ast.With):
        return f"with {ast.unparse(node.items[0])}:"
    word = "while" if isinstance(node, ast.While) else "if"
    return f"{word} {ast.unparse(node.test)}:"
