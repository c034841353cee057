"""The kernel language: what is part of it passes, everything else is refused with the line
and the reason. The kernels are read, never run."""
from __future__ import annotations

import ast
import contextlib
import re
import sys
import textwrap

import pytest
from worker_run import ENTRIES, ROOT, STYLES

sys.path.insert(0, str(ROOT / "worker"))

from shared import kernel_assembly, kernel_language  # noqa: E402
from shared.kernel_language import Denied  # noqa: E402

TL = {"module": "triton.language"}
LIBDEVICE = {"module": "triton.language.extra.cuda.libdevice"}
GLUON = {"module": "triton.experimental.gluon.language"}
TLX = {"module": "triton.language.extra.tlx"}
HOPPER = {"from": ["triton.experimental.gluon.language.nvidia.hopper", "warpgroup_mma"]}


def extract(text: str, name: str = "k", line: int | None = None, defaults: dict | None = None,
            **bind: dict) -> kernel_language.Kernel:  # fmt: skip
    source = textwrap.dedent(text)
    if line is None:
        wanted = [n.lineno for n in ast.walk(ast.parse(source))
                  if isinstance(n, ast.FunctionDef) and n.name == name]  # fmt: skip
        line = wanted[0]
    spec = {"name": name, "line": line, "bind": {"tl": TL, **bind}, "defaults": defaults or {}}
    return kernel_language.extract(kernel_language.parse_source(source), spec)


def body(text: str, **bind: dict) -> str:
    """A kernel with that body, as it is kept."""
    whole = "def k(x, y, n, B: tl.constexpr):\n" + textwrap.indent(textwrap.dedent(text), "    ")
    return extract(whole, line=1, **bind).text


def refusal(text: str, **bind: dict) -> str:
    with pytest.raises(Denied) as caught:
        body(text, **bind)
    return str(caught.value)


# ---- what passes ---------------------------------------------------------------------


def kernels_of(text: str) -> list[tuple[ast.Module, dict]]:
    """The functions under a decorator of Triton or Gluon, with what a recorder would say of
    the names in them."""
    tree = ast.parse(text)
    bind: dict[str, dict] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bind |= {a.asname or a.name.split(".")[0]: {"module": a.name} for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            for a in node.names:
                whole = f"{node.module}.{a.name}"
                known = whole in kernel_language.MODULES
                bind[a.asname or a.name] = ({"module": whole} if known
                                            else {"from": [node.module, a.name]})  # fmt: skip
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bind |= {t.id: {"constexpr": {"value": 1}} for t in targets if isinstance(t, ast.Name)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
             and any(re.search(r"jit|^kernel$", ast.unparse(d)) for d in n.decorator_list)]  # fmt: skip
    bind |= {n.name: {"kernel": 0} for n in found}
    return [(tree, {"name": n.name, "line": n.lineno, "bind": bind}) for n in found]


HONEST = {
    "/".join(path.parts[-2:]): path.read_text() for pattern in (
        "tests/verify/triton/*.py", "tests/verify/good/*.py", "tests/verify/honest/*.py",
        "tests/verify/gluon/*.py", "packs/triton/seeds/*/solution.py",
        "packs/triton/selftest/good/*.py", "packs/gluon/selftest/good/*.py",
        "packs/gluon/seeds/*/solution.py", "packs/tlx/selftest/good/*.py",
        "packs/tlx/seeds/*/solution.py",
    ) for path in ROOT.glob(pattern) if not path.name.startswith("c_")
}  # fmt: skip
HONEST |= {name: entry.text() for name, entry in (ENTRIES | STYLES).items() if entry.harmless and entry.pack == "triton"}


@pytest.mark.parametrize("name", sorted(HONEST))
def test_honest_kernels_pass(name: str) -> None:
    found = kernels_of(HONEST[name])
    assert found
    for tree, spec in found:
        kernel_language.extract(tree, spec)


@pytest.mark.parametrize(
    "text",
    [
        "a, (b, c) = 1, (2, 3)\n[d, e] = x, y",
        "i: tl.constexpr = 4\nj: int = 5\nk2: tl.tensor",
        "for i in tl.static_range(B):\n    pass",
        "for i in tl.range(0, n, B, num_stages=3, flatten=True, warp_specialize=True):\n    x += i",
        "for i in range(0, n, B):\n    if i > 3:\n        n -= 1\n    elif i == 2:\n        n = 2\n"
        "    else:\n        n = 3",
        "while n > 0:\n    n = n // 2",
        "z = x if B == 2 else y\nw = not (n > 1 and B > 1 or n == 2)",
        "z = x[:, None] + y[None, :]\nw = x[0]",
        "p = tl.make_block_ptr(x, shape=(n, B), strides=(B, 1), offsets=(0, 0), block_shape=(B, B),"
        " order=(1, 0))\np = tl.advance(p, (0, B))\na = tl.load(p, boundary_check=(0, 1))",
        "d = tl.make_tensor_descriptor(x, [n, B], [B, 1], [B, B])\nd.store([0, 0], d.load([0, 0]))",
        "tl.atomic_add(x, 1.0, mask=n > 2, sem='relaxed')\ntl.atomic_cas(x, 0, 1)",
        "z = tl.load(x).to(tl.float32)\nz = z.to(y.dtype.element_ty)\nb = tl.float32.primitive_bitwidth",
        "z = tl.dot(x, y, input_precision='ieee')\nz = tl.dot_scaled(x, y, 'e4m3', x, y, 'e4m3')",
        "tl.static_assert(B % 2 == 0, f'B is {B}')\ntl.static_print('B', B)\nprint('n', n)",
        "tl.device_assert(n > 0, 'positive')\ntl.device_print('x', x)\nassert n > 0, f'{n}'",
        "z = max(min(n, 3), int(B), len((1, 2)))\nz = float('inf')",
        "z = isinstance(x, tl.tensor) and isinstance(B, (int, tl.constexpr))",
        "z = tl.math.exp(x) + tl.extra.cuda.libdevice.tanh(x) + tl.exp(-x)",
        "z = tl.cast(x, tl.pointer_type(tl.float32))\nc = tl.constexpr(5)\nw = c.value",
        "z = tl.inline_asm_elementwise('{ .reg .b32 t; mov.b32 t, $1; add.u32 $0, t, 1; }', '=r,r',"
        " [x], dtype=tl.int32, is_pure=True, pack=1)",
        "asm: tl.constexpr = 'mov.b32 $0, $1; // a comment\\n'\n"
        "z = tl.inline_asm_elementwise(asm=asm, constraints='=r,r', args=[x], dtype=tl.int32,"
        " is_pure=True, pack=1)",
        "if x is None:\n    return\nelse:\n    return x, y",
    ],
)  # fmt: skip
def test_the_language_passes(text: str) -> None:
    body(text)


def test_functions_and_values_may_be_imported_by_name() -> None:
    body("z = exp(x).to(f32)", exp={"from": ["triton.language", "exp"]},
         f32={"from": ["triton.language", "float32"]})  # fmt: skip
    body("z = ld.tanh(x)", ld=LIBDEVICE)
    body("z = helper(x, EPS)", helper={"kernel": 0}, EPS={"constexpr": {"value": 1e-5}})


def test_gluon_has_names_of_its_own() -> None:
    gl = GLUON
    body("layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])\n"
         "i = gl.arange(0, B, layout=gl.SliceLayout(0, layout))\n"
         "s = gl.allocate_shared_memory(gl.float32, [B], gl.NVMMASharedLayout.get_default_for("
         "[B, B], gl.float16))\ns.store(gl.convert_layout(i, layout))\n"
         "gl.nvidia.hopper.tma.store_wait(pendings=0)\n"
         "a = warpgroup_mma(s, s, i, is_async=True)", gl=gl, warpgroup_mma=HOPPER)  # fmt: skip
    assert "not part" in refusal("z = gl.dot(x, y)", gl=gl)


def test_tlx_has_names_and_regions_of_its_own() -> None:
    text = ("held = tlx.local_alloc((B,), tlx.dtype_of(x), 2)\nbars = tlx.alloc_barriers(2)\n"
            "with tlx.async_tasks():\n    with tlx.async_task('default'):\n        pass\n"
            "    with tlx.async_task(num_warps=4, num_regs=40):\n"
            "        tlx.barrier_wait(bars[0], 0)\n        tl.store(y, tlx.local_load(held[1]))")  # fmt: skip
    assert body(text, tlx=TLX).splitlines()[3:5] == [
        "    with tlx.async_tasks():", "        with tlx.async_task('default'):"
    ]  # fmt: skip
    body("z = tl.extra.tlx.local_alloc((B,), tl.float32, 1, tl.extra.tlx.storage_kind.smem)")
    body("with async_tasks():\n    pass", async_tasks={"from": [TLX["module"], "async_tasks"]})


@pytest.mark.parametrize(
    "text, reason",
    [
        ("with open('/etc/passwd'):\n    pass", "the name open is not known"),
        ("with x:\n    pass", "with statement opens"),
        ("with tlx.local_alloc((B,), tl.float32, 1):\n    pass", "with statement opens"),
        ("with tlx.async_tasks() as t:\n    pass", "with statement opens"),
        ("with tlx.async_tasks(), tlx.async_task('default'):\n    pass", "with statement opens"),
        ("with tlx.async_tasks(x.__class__):\n    pass", "__class__"),
        ("t = tlx.async_task('default')", "belongs into a with statement"),
        ("z = tlx.compiler.dispatch", "not part of the kernel language"),
        ("z = tlx.storage_kind.__members__", "__members__"),
    ],
)  # fmt: skip
def test_regions_of_tlx_open_nothing_else(text: str, reason: str) -> None:
    assert reason in refusal(text, tlx=TLX)


def test_a_kernel_is_found_by_name_and_line_without_its_decorators() -> None:
    text = """
    @decorate(whatever())
    @triton.jit
    def k(x, n, B: tl.constexpr):
        '''Says something.'''
        tl.store(x, n)

    class Other:
        def k(x):
            tl.store(x, 1)
    """
    first = extract(text, line=2)
    assert first.text.splitlines()[3:] == ["def k(x, n, B: __tl.constexpr):", "",
                                           "    tl.store(x, n)"]  # fmt: skip
    second = extract(text, line=9)
    assert second.text.splitlines()[8:] == ["def k(x):", "    tl.store(x, 1)"]
    with pytest.raises(Denied, match="no function k at line 7"):
        extract(text, line=7)


def test_statements_stay_on_their_lines() -> None:
    text = """
    def k(x,
          n):
        # a comment
        if n > 0:
            a = (1 +
                 2)
        elif n < -1:
            a = 3
        else:

            a = 4
        tl.store(x, a)
    """
    lines = extract(text).text.splitlines()
    for number, start in ((5, "    if n > 0"), (6, "        a = 1 + 2"), (13, "    tl.store(x, a)")):
        assert lines[number - 1].startswith(start)


def test_annotations_that_change_a_kernel_are_kept() -> None:
    kept = extract("def k(x: torch.Tensor, n: tl.int64, m: 'i32', f: float, e: Evil().run,"
                   " B: 'tl.constexpr') -> None:\n    pass").text  # fmt: skip
    assert "def k(x, n: 'i64', m: 'i32', f: 'fp32', e, B: __tl.constexpr)" in kept


def test_defaults_are_literals_or_told() -> None:
    kept = extract("def k(x, a=1, b=-2.5, c=(1, 2), d=EPS):\n    pass",
                   defaults={"d": {"value": 1e-5}})  # fmt: skip
    assert "a=1, b=-2.5, c=(1, 2), d=__default_d" in kept.text and kept.defaults == ["d"]
    with pytest.raises(Denied, match="default"):
        extract("def k(x, d=EPS):\n    pass")


# ---- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os", "import"),
        ("from os import system", "import"),
        ("try:\n    pass\nexcept Exception:\n    pass", "try"),
        ("with open('f') as f:\n    pass", "with"),
        ("def inner():\n    pass", "function inside"),
        ("class A:\n    pass", "class"),
        ("raise ValueError", "raise"),
        ("global q", "global"),
        ("del x", "del"),
        ("f = lambda a: a", "lambda"),
        ("z = [a for a in (1, 2)]", "comprehension"),
        ("z = {1: 2}", "dictionary"),
        ("z = (w := 1)", ":="),
        ("z = f'{x}'", "f-string"),
        ("z = b'bytes'", "bytes"),
        ("z = 1j", "complex"),
        ("a = b = 1", "one name after the other"),
        ("z = 1 < n < 3", "(a < b)"),
        ("z = n in (1, 2)", "in"),
        ("for a in (1, 2):\n    pass", "range"),
        ("for a in range(3):\n    pass\nelse:\n    pass", "no else"),
        ("z = range(3)", "for loop"),
        ("for a in f(range(3)):\n    pass", "range"),
    ],
)
def test_other_statements_and_expressions(text: str, said: str) -> None:
    assert said in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "tl.zeros = tl.load", "x.shape = 1", "x[0] = 1", "tl.math.exp.x = 1", "x.value += 1",
        "x[0] += 1", "(x.a, y) = 1, 2", "x.a: tl.constexpr = 1", "for x.a in range(3):\n    pass",
    ],
)  # fmt: skip
def test_only_names_are_assigned(text: str) -> None:
    assert "names" in refusal(text) or "one variable" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "z = __import__('os')", "__x = 1", "z = x.__class__", "z = tl.__builtins__",
        "tl.load(x, __semantic=1)", "z = x.__init__.__globals__", "__builtins__", "z = (1).__class__",
        "for __i in range(3):\n    pass",
    ],
)  # fmt: skip
def test_no_dunder_names_anywhere(text: str) -> None:
    refusal(text)


def test_no_dunder_names_among_parameters_bound_names_and_kernels() -> None:
    for text in ("def k(__x):\n    pass", "def __k(x):\n    pass"):
        with pytest.raises(Denied):
            extract(text, name=text.split("(")[0][4:])
    for name in ("__builtins__", "__name__", "a b", ""):
        with pytest.raises(Denied, match="name"):
            extract("def k(x):\n    pass", **{name: {"value": 1}})
        with pytest.raises(Denied):
            extract("def k(x):\n    pass", defaults={name: {"value": 1}})


@pytest.mark.parametrize(
    "text",
    [
        "tl.core.builtins.exec('1')", "tl.math.wraps(x)", "tl.standard.sum(x)", "tl.semantic",
        "z = tl.extra.modules", "tl.extra.cuda.utils.x(1)", "z = tl.tensor(x, y)", "z = tl.core",
        "tl.target_info.x()", "tl.str_to_ty('a')", "tl.extra.cuda.libdevice.core.x(1)",
        "z = tl.constexpr_function(x)", "tl.PropagateNan",
    ],
)  # fmt: skip
def test_the_language_is_a_literal_list_and_not_what_its_modules_hold(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize(
    "text", ["f = tl.load", "z = (tl.exp, 1)", "g(tl.inline_asm_elementwise)", "z = tl.math",
             "z = tl", "z = min", "z = tl.constexpr"]
)  # fmt: skip
def test_functions_and_modules_are_no_values(text: str) -> None:
    refusal(text, g={"kernel": 0})


@pytest.mark.parametrize(
    "attribute", ["handle", "data", "fn", "src", "format", "to_ir", "mangle", "_flatten_ir", "values",
                  "name", "item_", "numpy", "cell_contents", "gi_frame", "__class__"]
)  # fmt: skip
def test_attributes_are_a_literal_list(attribute: str) -> None:
    refusal(f"z = x.{attribute}")


def test_names_from_outside_are_plain_values_kernels_or_modules_of_the_language() -> None:
    assert "type Thread" in refusal("z = THREAD", THREAD={"unknown": "Thread"})
    assert "not part" in refusal("z = np.exp(x)", np={"module": "numpy"})
    assert "not known" in refusal("z = anything")
    refusal("z = run(x)", run={"from": ["subprocess", "run"]})
    refusal("z = wraps(x)", wraps={"from": ["triton.language.math", "wraps"]})
    refusal("tl = 1")
    refusal("helper = 1", helper={"kernel": 0})


def test_builtins_beyond_the_languages_are_refused() -> None:
    for text in ("eval('1')", "getattr(x, 'handle')", "abs(x)", "type(x)", "open('f')", "vars()",
                 "str(x)", "sorted(x)", "hasattr(x, 'a')", "super()", "isinstance(x, object)"):
        refusal(f"z = {text}")
    assert "tl.abs" in refusal("z = abs(x)")


def test_star_arguments_and_private_keywords_are_refused() -> None:
    assert "star" in refusal("z = tl.load(*x)")
    assert "star" in refusal("z = tl.load(**x)")
    refusal("z = tl.load(x, _semantic=1)")
    refusal("z = tl.load(x, _builder=1)")
    for text in ("def k(*x):\n    pass", "def k(**x):\n    pass", "def k(*, x):\n    pass"):
        with pytest.raises(Denied):
            extract(text)


def test_text_is_not_computed_with() -> None:
    assert "text" in refusal("z = '%s' % x")
    assert "text" in refusal("z = 'a' + 'b'")
    assert "text" in refusal("z = x * 'b'")
    refusal("z = 'a{}'.format(x)")
    refusal("z = 'a'.join((x, y))")


def test_printing_and_messages_evaluate_nothing() -> None:
    kept = body("tl.device_print('x', x.to(tl.int32))\nprint(n)\ntl.static_assert(B > 1, f'{evil()}')")
    assert "print" not in kept and "'{evil()}'" in kept


ASM = "tl.inline_asm_elementwise({!r}, '=r,r', [x], dtype=tl.int32, is_pure=True, pack=1)"


@pytest.mark.parametrize(
    "asm",
    [
        "} .visible .global .u32 counter; .func f() {", "mov.u32 $0, $1; }", "{ mov.u32 $0, $1;",
        ".global .u32 c;", "{ .shared .b32 t; }", "{ .local .b32 t; }", "L: .global .u32 c;",
        "L: M: .const .u32 c;", "mov.u32 $0, $1; /* } */ .entry e()", "// {\n}", ".loc 1 2 3;",
        "mov.u32 $0, $1; .pragma \"nounroll\";", "#include <x>\n", "mov $0, $1;\\\n}",
        "${:comment} {\n} .global .u32 c;", "$(a$|b$)", "mov.u64 $0, __cudart_i2opi_f;", "\x00",
        "mov.u32 $0, $1; // x\r} .global .u32 c;", "mov.u32 $0, $1;\u2028}", ".extern .func f;",
        "{ .regx .u32 a; }", "mov.u64 $0, %clock64;", "mov.u32 $0,%clock;", "mov.u32 $0, %smid;",
        "mov.u64 $0, %globaltimer_lo;", "mov.u64 $0, %gridid;", "ld.param.u64 $0, [k_param_0];",
    ],
)  # fmt: skip
def test_assembly_stays_inside_its_function(asm: str) -> None:
    refusal(ASM.format(asm))


def test_the_time_and_the_place_of_a_program_have_no_names() -> None:
    for name in ("globaltimer", "smid"):
        refusal(f"z = tl.extra.cuda.{name}()")
    body(ASM.format("mov.u32 $0, %laneid; add.u32 $0, $0, %ctaid.x;"))


@pytest.mark.parametrize("asm, constraints, right", [
    ("ld.global.b32 $0, [$1];", "=f,l", True),
    ("{ .reg .b64 a; ld.global.b64 a, [ $1+16 ]; st.global.b32 [${2}+-4], $10; }", "=r,l,l", True),
    ("red.global.add.s32 [$1], $2;", "=r,l,r", True),
    ("mov.u64 $0, $1;", "=l,l", False),
    ("{ ld.global.b32 $0, [$1]; mov.u64 a, ${1}; }", "=r,l", False),
    ("sub.u64 $0, [$1], $2;", "=l,l,l", False),
])  # fmt: skip
def test_assembly_reads_and_writes_through_pointers_alone(asm: str, constraints: str, right: bool) -> None:
    with contextlib.nullcontext() if right else pytest.raises(ValueError):
        kernel_assembly.check_pointers(asm, constraints)


@pytest.mark.parametrize("asm", ["x", "B", "UNKNOWN", "f(x)", "'a' if B else 'b'"])
def test_assembly_is_a_literal(asm: str) -> None:
    refusal(f"tl.inline_asm_elementwise({asm}, '=r', [x], dtype=tl.int32, is_pure=True, pack=1)",
            f={"kernel": 0})  # fmt: skip


def test_bound_assembly_is_checked_like_a_literal() -> None:
    text = "z = tl.inline_asm_elementwise(ASM, '=r,r', [x], dtype=tl.int32, is_pure=True, pack=1)"
    assert "mov.b32" in body(text, ASM={"constexpr": {"value": "mov.b32 $0, $1;"}})
    refusal(text, ASM={"value": "} .global .u32 c; {"})


def test_what_cannot_be_parsed_or_is_too_large_is_refused() -> None:
    for source in ("def k(:", "\0", "(" * 5000, "x" * 2_000_000):
        with pytest.raises(Denied):
            kernel_language.parse_source(source)
    deep = "z = " + "-" * 3000 + "x"
    with pytest.raises(Denied):
        body(deep)
    with pytest.raises(Denied, match="too long"):
        body("\n".join(["z = x + y"] * 10_000))


def test_a_refusal_names_the_line() -> None:
    assert refusal("a = 1\nb = x.handle").startswith("line 3: ")
