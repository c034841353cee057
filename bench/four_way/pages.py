"""What was measured as CSV, Markdown and a plot."""

import csv
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

COLOURS = {"eager": "#777777", "compile": "#d95f02", "fla": "#7570b3", "ours": "#1b9e77"}
TITLES = {"eager": "PyTorch, eager", "compile": "torch.compile", "fla": "expert Triton",
          "ours": "ours"}  # fmt: skip
PANEL_W, PANEL_H, LEFT, TOP, GAP, ROW = 300, 220, 60, 40, 70, 3


@dataclass
class Row:
    """One implementation at one point in one sweep; times in milliseconds."""

    sweep: int
    task: str
    T: int
    implementation: str
    layout: str
    status: str  # ok, wrong, or why it was not measured
    error_ratio: float | None = None
    truth: str = ""
    median: float | None = None
    p20: float | None = None
    p80: float | None = None
    n: int = 0
    graph_median: float | None = None
    graph_p20: float | None = None
    graph_p80: float | None = None
    graph_n: int = 0
    graph_status: str = ""
    compile_s: float | None = None
    note: str = ""


def write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, [f.name for f in fields(Row)])
        out.writeheader()
        out.writerows(asdict(r) for r in rows)


def read_csv(path: Path) -> list[Row]:
    """What write_csv wrote."""
    kinds = {f.name: {int: int, str: str}.get(f.type, _number) for f in fields(Row)}
    with path.open(newline="") as file:
        return [Row(**{n: kinds[n](v) for n, v in r.items()}) for r in csv.DictReader(file)]


def _number(text: str) -> float | None:
    return float(text) if text else None


# ---- Markdown -------------------------------------------------------------------


def _time(low: float | None, mid: float | None, high: float | None) -> str:
    return "–" if mid is None else f"{mid:.4g} ({low:.4g}–{high:.4g})"


def _of(rows: Iterable[Row], **wanted: object) -> list[Row]:
    return [r for r in rows if all(getattr(r, k) == v for k, v in wanted.items())]


def medians(rows: list[Row], key: str = "median") -> list[float]:
    return [v for r in rows if (v := getattr(r, key)) is not None]


def verdict(rows: list[Row], task: str, steps: int) -> str:
    """Ours against the fastest other; a gap smaller than what two sweeps differ by is noise."""
    best: dict[str, list[float]] = {}
    for r in _of(rows, task=task, T=steps):
        if r.median is not None:
            best.setdefault(f"{r.implementation} {r.layout}", []).append(r.median)
    mine = best.pop("ours caller", None)
    if not mine or not best:
        return ""
    name, other = min(best.items(), key=lambda item: min(item[1]))
    ratio = min(other) / min(mine)
    spread = max(max(v) / min(v) for v in (mine, other))
    text = f"ours against {name}: {ratio:.2f} times as fast"
    return text + (f"; sweeps differ by {spread:.2f}: noise" if max(ratio, 1 / ratio) <= spread else "")


def markdown(rows: list[Row], facts: dict[str, str]) -> str:
    lines = ["# Linear attention: measured", "", "| what | value |", "|---|---|"]
    lines += [f"| {k} | {v} |" for k, v in facts.items()]
    lines += ["", "Medians in milliseconds, with the 20th and 80th percentiles, of every sweep. "
              "`eager launch`: each call is launched from Python; `graph`: replayed as a CUDA "
              "graph. `native`: arguments and output in the implementation's own layout; `caller`: "
              "in the task's."]  # fmt: skip
    for task in dict.fromkeys(r.task for r in rows):
        lines += ["", f"## {task}", "",
                  "| T | implementation | layout | sweep | error ratio | eager launch | graph | n | note |",
                  "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
        for r in sorted(_of(rows, task=task), key=lambda r: (r.T, r.implementation, r.layout, r.sweep)):
            error = "–" if r.error_ratio is None else f"{r.error_ratio:.2g} ({r.truth})"
            notes = [t for t in (r.note, "" if r.status == "ok" else r.status, r.graph_status) if t]
            if r.compile_s is not None:
                notes.append(f"compiled in {r.compile_s:.1f} s")
            lines.append(
                f"| {r.T} | {r.implementation} | {r.layout} | {r.sweep} | {error} | "
                f"{_time(r.p20, r.median, r.p80)} | "
                f"{_time(r.graph_p20, r.graph_median, r.graph_p80)} | {r.n} | "
                f"{'; '.join(notes).replace('|', '/')} |"
            )
        verdicts = [(t, verdict(rows, task, t)) for t in sorted({r.T for r in _of(rows, task=task)})]
        lines += ["", *(f"- T = {t}: {text}" for t, text in verdicts if text)]
    return "\n".join(lines) + "\n"


# ---- a plot like the paper's Figure 6 ----------------------------------------------


def plot(rows: list[Row], title: str) -> str:
    """One panel for each variant: latency over T, both logarithmic. Solid: launched from Python;
    dashed: as a CUDA graph. Of two layouts the faster one."""
    tasks = [t for t in dict.fromkeys(r.task for r in rows) if medians(_of(rows, task=t))]
    across = min(ROW, max(1, len(tasks)))
    width = LEFT + across * (PANEL_W + GAP)
    height = TOP + -(-max(1, len(tasks)) // across) * (PANEL_H + GAP) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{LEFT}" y="18" font-size="13">{_text(title)}</text>']  # fmt: skip
    for i, task in enumerate(tasks):
        x = LEFT + (i % across) * (PANEL_W + GAP)
        y = TOP + 14 + (i // across) * (PANEL_H + GAP)
        parts += _panel(_of(rows, task=task), task, x, y)
    x = LEFT
    for name in [n for n in COLOURS if _of(rows, implementation=n)]:
        y = height - 12
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{COLOURS[name]}" '
                     f'stroke-width="2"/><text x="{x + 30}" y="{y + 4}">{TITLES[name]}</text>')  # fmt: skip
        x += 150
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _panel(rows: list[Row], task: str, x: float, y: float) -> list[str]:
    steps = sorted({r.T for r in rows})
    times = medians(rows) + medians(rows, "graph_median")
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    span = max(1.0, math.log2(steps[-1] / steps[0]))

    def at(t: int, ms: float) -> tuple[float, float]:
        right = PANEL_W * math.log2(t / steps[0]) / span if len(steps) > 1 else PANEL_W / 2
        return x + right, y + PANEL_H * (high - math.log10(ms)) / (high - low)

    parts = [f'<text x="{x}" y="{y - 6}" font-weight="bold">{_text(task)}</text>',
             f'<rect x="{x}" y="{y}" width="{PANEL_W}" height="{PANEL_H}" fill="none" '
             'stroke="#999999"/>']  # fmt: skip
    for power in range(low, high + 1):
        _, line = at(steps[0], 10.0**power)
        parts.append(f'<line x1="{x}" y1="{line:.1f}" x2="{x + PANEL_W}" y2="{line:.1f}" '
                     f'stroke="#e5e5e5"/><text x="{x - 6}" y="{line + 4:.1f}" '
                     f'text-anchor="end">{10.0**power:g} ms</text>')  # fmt: skip
    for t in steps:
        parts.append(f'<text x="{at(t, 1)[0]:.1f}" y="{y + PANEL_H + 14}" '
                     f'text-anchor="middle">{t}</text>')  # fmt: skip
    for name, colour in COLOURS.items():
        for key, dash in ("median", ""), ("graph_median", ' stroke-dasharray="4 3"'):
            points = []
            for t in steps:
                found = medians(_of(rows, implementation=name, T=t), key)
                if found:
                    points.append(at(t, min(found)))
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            if len(points) > 1:
                parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" '
                             f'stroke-width="2"{dash}/>')  # fmt: skip
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
    return parts
