"""The part of a task's file that the recorder gets."""

import ast

from shared import statements


def init_part(source: str) -> str:
    """Only the statements that get_init_inputs needs, so that the recorder learns nothing about the
    inputs."""
    body = statements.needed(ast.parse(source), "get_init_inputs", {"Model", "get_inputs"})
    return ast.unparse(ast.Module(body=body, type_ignores=[])) + "\n"
