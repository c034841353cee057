"""native_adapter.py: what the adapters of packs share whose kernels native.py builds:
launches are calls of built functions, and what runs is what was compiled."""

import native

_launched: list[str] = []


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    native.launch_hooks.append(lambda launch: _launched.append(launch.function))


def reset() -> None:
    _launched.clear()


def launches() -> list[str]:
    return list(_launched)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def describe() -> list[dict]:
    """Nothing more to try: there is no second way in which a kernel is compiled."""
    return []
