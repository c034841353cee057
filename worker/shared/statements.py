"""Which statements of a file its functions need."""

import ast


def names_bound(node: ast.stmt) -> set[str]:
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


def names_used(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def needed(tree: ast.Module, name: str, left_out: set[str]) -> list[ast.stmt]:
    """The statements that `name` needs, in order, with all imports."""
    wanted, keep = {name}, set()
    changed = True
    while changed:
        changed = False
        for i, node in enumerate(tree.body):
            bound = names_bound(node) & wanted
            if i in keep or not bound or bound & left_out:
                continue
            keep.add(i)
            wanted |= names_used(node)
            changed = True
    return [
        node
        for i, node in enumerate(tree.body)
        if i in keep or isinstance(node, (ast.Import, ast.ImportFrom))
    ]
