"""native_adapter.py: what the adapters of packs share whose kernels native.py builds:
launches are calls of built functions, and what runs is what was compiled."""

import native

_launched: list[str] = []
_muted: list[bool] = []  # not empty: launches are counted and do nothing


def child(mode: str) -> None:
    """In each child, before the candidate's source is read."""
    native.launch_hooks.append(_on_launch)


def _on_launch(launch: native.Launch) -> bool:
    _launched.append(launch.function)
    return not _muted


def mute() -> bool:
    """From now on kernels do nothing; False where that cannot be done."""
    _muted.append(True)
    return True


def reset() -> None:
    _launched.clear()


def launches() -> list[str]:
    return list(_launched)


def is_compile_error(problem: BaseException) -> bool:
    return isinstance(problem, native.BuildError)


def describe() -> list[dict]:
    """Nothing more to try: there is no second way in which a kernel is compiled."""
    return []
