"""Messages for the model: short, clean, and always the same for the same cause."""

import re

HEAD, TAIL = 2500, 1500
KEPT = 16000  # characters that are looked at

# Each pattern passes over the text once: the text is a candidate's.
_PATH = re.compile(r"(?:/[\w.+-]+)+")
_FILE = re.compile(r"[\w.+-]+\.(?:py|c|cu|so|h)")
_CLEAN = (
    (re.compile(r"\bcandidate_\d+\b"), "candidate"),
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x…"),
)
# What no JSON reader, terminal or prompt should have to take.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _short_path(match: re.Match) -> str:
    """Only the file's name; nothing for a temporary file."""
    name = match[0].rpartition("/")[2]
    if _FILE.fullmatch(name):
        return name
    return "/tmp/…" if match[0].startswith("/tmp/") else match[0]


def plain(text: str) -> str:
    return _ODD.sub("?", text)


def clean(text: str) -> str:
    if len(text) > KEPT:
        text = text[: KEPT // 2] + "\n[…]\n" + text[-KEPT // 2 :]
    text = _PATH.sub(_short_path, plain(text))
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
        "compile": "A kernel that was launched does not compile.",
        "timing": "Timing failed.",
    }.get(stage, "The candidate failed.")
    return shorten(where + "\n" + clean(text))


def rounded(x: float) -> str:
    """Rounds figures so that they are the same on every machine."""
    return f"{x:.1e}"
