"""The structure of a result: the same containers, keys in the same order, the same values
between the tensors. Whatever differs is named by its place."""

from __future__ import annotations

import collections
import json
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker"))

from shared import structure  # noqa: E402
from shared.limits import Unusable  # noqa: E402

LOW, HIGH, ARG = (torch.full((2,), float(i)) for i in range(3))
RESULT = {"minmax": (LOW, HIGH), "arg": ARG}


def difference_of(wanted: object, got: object) -> str | None:
    return structure.difference(structure.describe(wanted)[0], structure.describe(got)[0])


def test_tensors_are_numbered_in_the_order_of_the_result() -> None:
    shape, tensors = structure.describe(RESULT)
    assert shape == {"dict": [["minmax", {"tuple": [{"tensor": 0}, {"tensor": 1}]}],
                              ["arg", {"tensor": 2}]]}  # fmt: skip
    assert [t is r for t, r in zip(tensors, (LOW, HIGH, ARG))] == [True] * 3
    assert structure.tensors(RESULT) == tensors
    assert structure.leaves(shape) == [0, 1, 2]


def test_a_structure_is_json_and_equal_after_a_journey() -> None:
    value = [None, True, 3, 2.5, float("inf"), float("nan"), "s", (LOW,), {1: LOW, "1": HIGH}, []]
    shape = structure.describe(value)[0]
    text = json.dumps(shape, allow_nan=False)
    assert structure.difference(shape, json.loads(text)) is None


@pytest.mark.parametrize(
    "got, said",
    [
        ([ARG, LOW, HIGH], "output: a dict with the keys 'minmax', 'arg' was expected, got a list of 3"),
        ({"arg": ARG, "minmax": (LOW, HIGH)}, "output: a dict with the keys 'minmax', 'arg' was "
         "expected, got a dict with the keys 'arg', 'minmax'"),
        ({**RESULT, "more": LOW}, "output: a dict with the keys 'minmax', 'arg' was expected, got "
         "a dict with the keys 'minmax', 'arg', 'more'"),
        ({"minmax": [LOW, HIGH], "arg": ARG}, "output['minmax']: a tuple of 2 was expected, got a list of 2"),
        ({"minmax": (LOW, [HIGH, LOW]), "arg": ARG},
         "output['minmax'][1]: a tensor was expected, got a list of 2"),
        ({"minmax": (LOW, HIGH), "arg": None}, "output['arg']: a tensor was expected, got None"),
        ({"minmax": (LOW,), "arg": ARG}, "output['minmax']: a tuple of 2 was expected, got a tuple of 1"),
        ({}, "output: a dict with the keys 'minmax', 'arg' was expected, got an empty dict"),
    ],
)  # fmt: skip
def test_what_differs_is_named_by_its_place(got: object, said: str) -> None:
    assert difference_of(RESULT, got) == said
    assert difference_of(got, RESULT) is not None


@pytest.mark.parametrize(
    "a, b",
    [(1, 2), (1, True), (1, 1.0), (0, None), (1.0, float("inf")), ("a", "b"), (2, "2"),
     ({1: LOW}, {"1": LOW}), ([], ()), ({}, [])],
)  # fmt: skip
def test_values_are_equal_only_in_kind_and_value(a: object, b: object) -> None:
    assert difference_of([LOW, a], [LOW, b]).startswith("output[1]: ")
    assert difference_of([LOW, a], [LOW, a]) is None


def test_a_named_tuple_is_a_tuple() -> None:
    point = collections.namedtuple("Point", "x y")(LOW, HIGH)
    assert difference_of(point, (LOW, HIGH)) is None
    assert difference_of(torch.max(torch.rand(2, 3), 1), (LOW, ARG)) is None


def test_an_ordered_dict_is_a_dict() -> None:
    assert difference_of(collections.OrderedDict(RESULT), RESULT) is None


@pytest.mark.parametrize(
    "value, said",
    [({LOW}, "output[0] is of type set"), (object(), "output[0] is of type object"),
     ({(1, 2): LOW}, "output[0] has the key (1, 2)"), ((t for t in [LOW]), "of type generator"),
     (torch.float32, "of type dtype")],
)  # fmt: skip
def test_what_a_trace_cannot_tell_is_refused_by_place(value: object, said: str) -> None:
    with pytest.raises(Unusable) as refused:
        structure.describe([value])
    assert said in str(refused.value)


def test_a_result_that_contains_itself_is_refused() -> None:
    endless: list = []
    endless.append(endless)
    with pytest.raises(Unusable, match="nested too deeply"):
        structure.describe(endless)


def test_containers_keep_their_kind_when_tensors_change() -> None:
    point = collections.namedtuple("Point", "x y")(LOW, 3)
    changed = structure.mapped([point, {"a": (LOW,)}, "s", None], lambda t: t + 1)
    assert type(changed[0]) is type(point) and changed[0].y == 3
    assert changed[1]["a"][0].tolist() == [1.0, 1.0] and changed[2:] == ["s", None]
