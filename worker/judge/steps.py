"""What a job may ask of the judge's loop: a job is a generator that yields one of
these and is resumed with the answer, or with one of the exceptions."""

from dataclasses import dataclass, field


class Gone(Exception):
    """The child died: why, and what it had printed."""

    def __init__(self, why: str, output: str) -> None:
        super().__init__(why)
        self.why, self.output = why, output


class Forged(Exception):
    """The child said what its harness never says: no answer to what was asked."""


class NoChild(Exception):
    """The worker could not give a child: our fault, not the candidate's."""


@dataclass
class Fork:
    """A child of the job's own, for recording, compiling or executing."""

    zygote: str  # PACK, or PACK+MODE
    deadline_ms: int
    memory: int = 0


@dataclass
class Device:
    """The device, for this job alone until it is released, and its executor, which outlives
    jobs; without a zygote's name only the device."""

    zygote: str = ""
    deadline_ms: int = 0


@dataclass
class Ask:
    """Send this to the child, or without one to the device's executor, and wait for the
    answer: bytes where bytes are sent."""

    message: dict | bytes
    deadline_ms: int
    fds: list[int] = field(default_factory=list)


class Freeze:
    """Stop the child's process, which has answered, until it is asked again."""


@dataclass
class Release:
    """Done with the device. `hurt`: its executor is not to be used again."""

    hurt: bool = False


@dataclass
class Baseline:
    """The reference under torch.compile, measured beside other work (baseline.py): the
    answer is {"ms", "why"}."""

    asked: dict


class Exclusive:
    """Wait until no other job runs."""


class End:
    """Be rid of the child."""
