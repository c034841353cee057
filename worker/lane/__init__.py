"""The lane's side: compiles the kernels of a trace, boxed, without data and without the
candidate's host code."""

import json


def packed(head: dict, parts: list[bytes]) -> bytes:
    """A lane's answer: a line of JSON, then binaries, one after the other."""
    return json.dumps(head).encode() + b"\n" + b"".join(parts)
