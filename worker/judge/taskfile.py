"""A task's file: the whole of it for the judge, parts of it for the candidate's side."""

import ast

ENTRY = ("get_inputs", "get_init_inputs")


def _names_bound(node: ast.stmt) -> set[str]:
    """The module-level names a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    names = {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))
    }
    # Under a condition or a try.
    imported = {n.asname or n.name for n in ast.walk(node) if isinstance(n, ast.alias)}
    return names | {name.partition(".")[0] for name in imported}


def _names_used(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def without_model(source: str) -> str:
    """The statements that get_inputs and get_init_inputs need, and no others:
    neither class Model nor what only it uses."""
    return _part(source, {*ENTRY}, {"Model"})


def init_part(source: str) -> str:
    """The statements that get_init_inputs needs, and no others: who builds a model
    learns nothing of what it will be given."""
    return _part(source, {"get_init_inputs"}, {"Model", "get_inputs"})


def _part(source: str, needed: set[str], left_out: set[str]) -> str:
    tree = ast.parse(source)
    keep: set[int] = set()
    changed = True
    while changed:
        changed = False
        for i, node in enumerate(tree.body):
            wanted = _names_bound(node) & needed
            if i in keep or not wanted or wanted & left_out:
                continue
            keep.add(i)
            needed |= _names_used(node)
            changed = True
    body = [
        node
        for i, node in enumerate(tree.body)
        if i in keep or isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    return ast.unparse(ast.Module(body=body, type_ignores=[])) + "\n"
