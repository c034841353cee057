"""The part of a task's file that the recorder gets."""

import ast


def _names_bound(node: ast.stmt) -> set[str]:
    """The module-level names that a statement defines."""
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


def init_part(source: str) -> str:
    """Only the statements that get_init_inputs needs, so that the recorder learns nothing about the
    inputs."""
    needed, left_out = {"get_init_inputs"}, {"Model", "get_inputs"}
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
