"""Jobs that take a task apart, for tests."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class PieceJob:
    """`decompose`, or `validate` where there is a proposal."""

    id: str
    source: str
    level: str = "coarse"
    proposal: object = None
    call_ms: int = 60_000
    memory: int = 0
    deadline_ms: int = 600_000

    def frame(self) -> bytes:
        body = {
            "kind": "decompose" if self.proposal is None else "validate", "device": "cpu",
            "precision": "fp32", "level": self.level,
            "task": {"id": f"tests/{self.id}", "source": self.source, "sidecar": None},
            "seed": hashlib.sha256(self.id.encode()).hexdigest(),
            "deadlines": {"call_ms": self.call_ms}, "limits": {"memory_bytes": self.memory},
        }  # fmt: skip
        if self.proposal is not None:
            body["proposal"] = self.proposal
        payload = json.dumps(body).encode()
        return f"monkeys/1 job {self.id} {self.deadline_ms} {len(payload)}\n".encode() + payload


@dataclass
class TaskJob:
    """Whether a piece can be judged, as `tasks check` asks."""

    id: str
    piece: dict
    deadline_ms: int = 300_000

    def frame(self) -> bytes:
        task = {"id": f"tests/{self.id}", "source": self.piece["source"],
                "sidecar": self.piece.get("sidecar")}  # fmt: skip
        payload = json.dumps({
            "kind": "task", "device": "cpu", "precision": "fp32", "task": task,
            "seed": hashlib.sha256(self.id.encode()).hexdigest(),
        }).encode()  # fmt: skip
        return f"monkeys/1 job {self.id} {self.deadline_ms} {len(payload)}\n".encode() + payload


def source_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")
