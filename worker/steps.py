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
class Ask:
    """A job's request: send this and wait for the answer."""

    message: dict
    deadline_ms: int
    fds: list[int] = field(default_factory=list)


@dataclass
class Fork:
    pack: str
    deadline_ms: int
    memory: int = 0


class Exclusive:
    """A job's request: wait until nothing else runs on the device."""


class End:
    """A job's request: be rid of the child."""
