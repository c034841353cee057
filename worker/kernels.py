"""The kernels of a candidate's file without the Python that launches them, so that what
is known of the kernels stays known when only the rest changes.

Kept are the statements of the module, decorated functions among them; classes and plain
functions are left out. The file is read, never run. Where what is left out could have a
say in what a kernel is, there is no such text, and the file counts as a whole."""

import ast

MOST = 500_000  # characters
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_QUIET = (*_FUNCTIONS, ast.Assign, ast.AnnAssign, ast.Pass)  # in the body of a class
_REACHING = {"globals", "locals", "vars", "exec", "eval", "compile", "setattr", "delattr",
             "__import__", "modules", "__dict__", "__globals__", "__builtins__", "__setattr__",
             "__code__", "fn", "src"}  # fmt: skip


def alone(source: str) -> tuple[str, dict[str, int]] | None:
    """The text, and the first line that each decorated function has in the file."""
    kept: list[ast.stmt] = []
    lines: dict[str, int] = {}
    for node in ast.parse(source).body:
        if isinstance(node, _FUNCTIONS) and node.decorator_list:
            lines[node.name] = node.decorator_list[0].lineno
            kept.append(node)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            kept.append(node)
        elif _reaches_out(node):
            return None
    text = ast.unparse(ast.Module(kept, []))
    return (text, lines) if lines and len(text) <= MOST else None


def _reaches_out(node: ast.stmt) -> bool:
    """Whether it may change the module's other names when the file is loaded."""
    if isinstance(node, ast.ClassDef) and not all(map(_is_quiet, node.body)):
        return True
    for part in ast.walk(node):
        named = part.id if isinstance(part, ast.Name) else getattr(part, "attr", None)
        if isinstance(part, (ast.Global, ast.NamedExpr)) or named in _REACHING:
            return True
    return False


def _is_quiet(node: ast.stmt) -> bool:
    return isinstance(node, _QUIET) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
