"""The steps that a job can request from the judge's loop: a job is a generator that yields one of
these and is resumed with the answer, or with one of the exceptions."""

from dataclasses import dataclass, field


class Gone(Exception):
    """The child died: the reason, and what it had printed."""

    def __init__(self, why: str, output: str) -> None:
        super().__init__(why)
        self.why, self.output = why, output


class Forged(Exception):
    """The child sent something that its harness never sends: not an answer to the request."""


class NoChild(Exception):
    """The worker could not provide a child: our fault, not the candidate's."""


@dataclass
class Fork:
    """A child for this job, for recording, compiling or executing."""

    zygote: str  # PACK, or PACK+MODE
    deadline_ms: int
    memory: int = 0


@dataclass
class Device:
    """The device, exclusively for this job until released, with its executor, which outlives jobs.
    Without a zygote's name, only the device."""

    zygote: str = ""
    deadline_ms: int = 0


@dataclass
class Ask:
    """Sends this to the child, or to the device's executor if there is no child, and waits for the
    answer: bytes if bytes were sent."""

    message: dict | bytes
    deadline_ms: int
    fds: list[int] = field(default_factory=list)


class Beside:
    """Asks which processes live in the child's box beside the one that has answered."""


@dataclass
class Release:
    """Returns the device. `hurt`: its executor must not be used again."""

    hurt: bool = False


@dataclass
class Baseline:
    """The reference under torch.compile, measured alongside other work (baseline.py). The answer is
    {"ms", "why"}."""

    asked: dict


class Exclusive:
    """Waits until no other job runs."""


class End:
    """Ends the child."""
