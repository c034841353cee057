"""A model that follows the protocol of `guide build`, for its tests.

    model.py documents DIR KILOBYTES N   writes a set of N documents
    model.py answer LOG WINDOW [WORD…]   one request: standard input to output

The first reader asks about every document, in halves; a reader that gets a text gives the
names in it, one that gets a list asks about halves again, until a text fits. LOG has a line
for each request: path, turn, level, and the length of the prompt. `made-up` puts a name into
the first guide that no document has; `babble` answers the first request without JSON.
"""

import json
import re
import sys
from pathlib import Path

SPAN = re.compile(r"^(\S+): lines (\d+) to (\d+), about (\d+) tokens$", re.M)


def documents(folder: str, kilobytes: str, count: str) -> None:
    """Documents with sections that define names nobody else has."""
    size = int(kilobytes) * 1024 // int(count)
    for number in range(int(count)):
        path = Path(folder, f"part{number % 3}", f"doc{number}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        text, section = f"# Document {number}\n", 0
        while len(text) < size:
            section += 1
            text += f"\n## Section {section}\n\nThe function `op_{number}_{section}` copies a "
            text += "tile. " + "It needs sizes that are multiples of sixteen. " * 8 + "\n"
        path.write_text(text)
    Path(folder, "picture.bin").write_bytes(b"\x00\x01\x02" * 100)


def guide(names: list[str], extra: str) -> str:
    prose = " ".join(f"Use `{name}` where tiles are copied." for name in names[:60])
    heads = ("Core Philosophy", "Thinking in Quill", "Recognizing Patterns")
    body = "\n\n".join(f"## {head}\n\n{prose}" for head in heads)
    return f"You are an expert.\n\n# Quill: Abstraction and Programming Model\n\n{body}\n{extra}"


def asks(prompt: str, question: str) -> list[dict]:
    found = []
    for name, first, last, _ in SPAN.findall(prompt.split("</documents>")[0]):
        half = (int(first) + int(last)) // 2
        for a, b in ((int(first), half), (half + 1, int(last))):
            found.append({"do": "ask", "document": name, "from": a, "to": b, "question": question})
    return found


def reply(system: str, prompt: str, turn: int, words: list[str]) -> str:
    names = sorted(set(re.findall(r"op_\d+_\d+", prompt)))
    if "babble" in words and turn == 1 and "Write a guide" in prompt:
        return "Let me think about it."
    if "<text>" in prompt:
        return json.dumps({"do": "final", "answer": " ".join(names)})
    if "Write a guide" in prompt:
        if '"ask"' not in system and "<found>" not in prompt:
            spans = SPAN.findall(prompt)[:8]
            return json.dumps([{"do": "peek", "document": s[0], "to": 40} for s in spans])
        asked = "<found>" in prompt or "last turn" in prompt
        if "has findings" in prompt:
            return "FINAL\n" + guide(names, "")
        if "cannot be used" in prompt:
            asked = "Answer:" in prompt
        if asked:
            extra = "Never use `op_made_up`.\n" if "made-up" in words else ""
            return "FINAL\n" + guide(names, extra)
        return json.dumps(asks(prompt, "Which functions are there?")[:16])
    if "Answer:" in prompt or "last turn" in prompt or '"ask"' not in system:
        if '"ask"' not in system and "peek" not in prompt and "last turn" not in prompt:
            name, first, last, _ = SPAN.findall(prompt)[0]
            return json.dumps({"do": "peek", "document": name, "from": int(first)})
        return json.dumps({"do": "final", "answer": " ".join(names)})
    return json.dumps({"actions": asks(prompt, "Which functions are there?")})


def answer(log: str, window: str, *words: str) -> None:
    request = json.load(sys.stdin)
    system, user = (m["content"] for m in request["messages"])
    path, turn = request["key"]["stage"], request["key"]["attempt"]
    length = (len(system) + len(user)) / 4
    level = path.count(".")
    with open(log, "a", encoding="utf-8") as f:
        f.write(f"{path} {turn} {level} {length:.0f} {int(window) >> level}\n")
    text = reply(system, user, turn, list(words))
    usage = {"input": int(length), "cached": 0, "output": len(text) // 4, "reasoning": 0}
    print(json.dumps({"text": text, "usage": usage}))


if __name__ == "__main__":
    {"documents": documents, "answer": answer}[sys.argv[1]](*sys.argv[2:])
