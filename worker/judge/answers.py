"""Reads answers from boxed processes as bytes from a hostile peer. An honest harness only sends
what is accepted here, so anything else is a forgery, never an error of the judge."""

from dataclasses import dataclass

from judge.steps import Forged

TEXT = 200  # characters of a name
ERROR = 20000  # characters of an error


def _required(kind: type | tuple, value: object, what: str) -> object:
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise Forged(f"{what} is a {type(value).__name__}")
    return value


@dataclass
class Problem:
    """An exception on the other side; `message` is its own text. `elsewhere`: the other side says
    that the candidate has no part in it."""

    stage: str
    kind: str
    text: str
    compile: bool
    message: str
    rule: str | None
    elsewhere: bool
    unknown: list[int] | None = None  # an interpreter's: buffers that were not computed, of those that were


def problem(answer: dict) -> Problem | None:
    if "error" not in answer:
        return None
    error = _required(dict, answer["error"], "an error")
    rule, unknown = error.get("rule"), error.get("unknown")
    return Problem(
        str(_required(str, error.get("stage"), "an error's stage"))[:TEXT],
        str(_required(str, error.get("type"), "an error's type"))[:TEXT],
        str(_required(str, error.get("text"), "an error's text"))[:ERROR],
        bool(_required(bool, error.get("compile", False), "an error's kind")),
        str(_required(str, error.get("message", ""), "an error's message"))[:ERROR],
        None if rule is None else str(_required(str, rule, "an error's rule"))[:TEXT],
        bool(_required(bool, error.get("elsewhere", False), "where an error is from")),
        None if unknown is None else [
            int(_required(int, n, "a buffer")) for n in _required(list, unknown, "buffers")
        ],
    )


def broken(answer: dict) -> str | None:
    """What is wrong with the pack's own adapter. Only for processes without the candidate's host
    code: a recorder that claims this is lying."""
    if "broken" not in answer:
        return None
    return str(_required(str, answer["broken"], "what is broken"))[:ERROR]


def refusal(answer: dict) -> tuple[str, str] | None:
    """Rule and text of the recorder's refusal."""
    if "refused" not in answer:
        return None
    raw = _required(dict, answer["refused"], "a refusal")
    rule = str(_required(str, raw.get("rule"), "a rule"))[:TEXT]
    return rule, str(_required(str, raw.get("text"), "a refusal's text"))[:ERROR]


def names(answer: dict, known: list[str]) -> dict[str, str]:
    """Maps the candidate's names to the reference's names."""
    found = {}
    for pair in _required(list, answer.get("names"), "names"):
        if len(_required(list, pair, "a name")) != 2 or pair[1] not in known:
            raise Forged("a name that is not the reference's")
        found[str(_required(str, pair[0], "a name"))[:TEXT]] = pair[1]
    return found


def outputs(answer: dict) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and dtypes of what a candidate's forward returned, where it runs beside the data."""
    found = []
    for pair in _required(list, answer.get("outputs"), "outputs"):
        if len(_required(list, pair, "an output")) != 2:
            raise Forged("an output that is no shape and dtype")
        shape = tuple(int(_required(int, n, "a size")) for n in _required(list, pair[0], "a shape")[:TEXT])
        found.append((shape, str(_required(str, pair[1], "a dtype"))[:TEXT]))
    return found


def announced_identity(answer: dict) -> str:
    """Identifies what a pack's compilations depend on. The zygote's child sends it before it has
    seen a candidate."""
    return str(_required(str, answer.get("identity"), "an identity"))[:TEXT]


def announced_target(answer: dict) -> str | None:
    """The architecture that the pack compiles for without a GPU, sent at the same time."""
    raw = answer.get("target")
    return None if raw is None else str(_required(str, raw, "a target"))[:TEXT]


def announced_size(answer: dict, most: int) -> int:
    number = _required(int, answer.get("size"), "a size")
    if not 0 <= number <= most:
        raise Forged("a size is out of range")
    return number
