"""What the model is told: short, clean, the same each time for the same cause."""

import re

HEAD, TAIL = 2500, 1500

_CLEAN = (
    (re.compile(r"/[^\s'\"]*?/candidate_\d+\.py"), "candidate.py"),
    (re.compile(r"\bcandidate_\d+\b"), "candidate"),
    (re.compile(r"/(?:[\w.+-]+/)+(?=[\w.+-]+\.(?:py|c|cu|so|h)\b)"), ""),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x…"),
    (re.compile(r"/tmp/[\w./-]+"), "/tmp/…"),
)


def clean(text: str) -> str:
    for pattern, by in _CLEAN:
        text = pattern.sub(by, text)
    return text


def shorten(text: str) -> str:
    if len(text) <= HEAD + TAIL:
        return text
    return text[: HEAD - 10] + "\n[…]\n" + text[-(TAIL - 10) :]


def from_error(stage: str, text: str) -> str:
    where = {
        "load": "The file could not be loaded.",
        "init": "ModelNew could not be constructed.",
        "call": "forward raised an exception.",
        "compile": "A kernel that was launched does not compile for the GPU.",
        "timing": "Timing failed.",
    }.get(stage, "The candidate failed.")
    return shorten(where + "\n" + clean(text))


def number(x: float) -> str:
    """Figures rounded to what repeats from machine to machine."""
    return f"{x:.1e}"
