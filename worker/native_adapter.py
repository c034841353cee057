"""native_adapter.py: what the adapters of packs share whose kernels native.py builds:
launches are calls of built functions, and what runs is what was compiled. Where an
adapter has `toolchain`, its candidates' sources are compiled before they run."""

import ast
import json
import tempfile
from pathlib import Path

import native

_launched: list[str] = []
_muted: list[bool] = []  # not empty: launches are counted and do nothing


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    native.launch_hooks.append(_on_launch)


def _on_launch(launch: native.Launch) -> bool:
    _launched.append(launch.function)
    return not _muted


def mute() -> bool:
    """From now on kernels do nothing; False where that cannot be done."""
    _muted.append(True)
    return True


def reset() -> None:
    _launched.clear()


def launches() -> list[str]:
    return list(_launched)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


# ---- building before a candidate runs ----------------------------------------------


def sources(candidate: str) -> list[str]:
    """The texts that a file passes to `build`, read and not run: literals, and names
    that the module gives a literal once."""
    tree = ast.parse(candidate)
    assigned: dict[str, list[ast.expr]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(statement.value)
    constants = {name: values[0] for name, values in assigned.items() if len(values) == 1}
    found: dict[str, None] = {}  # in order
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node.func) == "build":
            for value in [*node.args, *(k.value for k in node.keywords)][:1]:
                value = constants.get(value.id, value) if isinstance(value, ast.Name) else value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[value.value] = None
    return list(found)


def _called(function: ast.expr) -> str:
    return getattr(function, "id", None) or getattr(function, "attr", "")


def prebuild(candidate: str, toolchain: native.Toolchain) -> bytes:
    """The files of what builds, for `take_built`."""
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sources(candidate):
            try:
                files |= native.compiled(source, toolchain, Path(folder))
            except native.BuildError:
                continue
    head = json.dumps([[name, len(data)] for name, data in files.items()])
    return head.encode() + b"\n" + b"".join(files.values()) if files else b""


def take_built(data: bytes, toolchain: native.Toolchain) -> None:
    head, _, rest = data.partition(b"\n")
    files = {}
    for name, size in json.loads(head):
        files[name], rest = rest[:size], rest[size:]
    native.put_compiled(files, toolchain)


def describe() -> list[dict]:
    """Nothing more to try: there is no second way in which a kernel is compiled."""
    return []
