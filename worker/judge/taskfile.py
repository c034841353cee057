"""The part of a task's file that the recorder gets."""

import ast
import functools

from shared import statements

FILES = 64  # that are known by heart: all candidates of a task ask the same


@functools.lru_cache(FILES)
def init_part(source: str) -> str:
    """Only the statements that get_init_inputs needs, so that the recorder learns nothing about the
    inputs."""
    body = statements.needed(ast.parse(source), "get_init_inputs", {"Model", "get_inputs"})
    return ast.unparse(ast.Module(body=body, type_ignores=[])) + "\n"


@functools.lru_cache(FILES)
def arguments_of(source: str) -> tuple[str, ...]:
    """The names of forward's arguments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for f in node.body:
                if isinstance(f, ast.FunctionDef) and f.name == "forward":
                    return tuple(a.arg for a in f.args.posonlyargs + f.args.args)[1:]
    return ()
