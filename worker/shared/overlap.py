"""Whether strided views share memory: a copy's result must not depend on the order of its elements."""

import math
from collections import Counter
from collections.abc import Sequence

WAYS = 64  # of a search; where there are more, memory counts as shared


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], expanded: Sequence[int] = ()) -> bool:
    """Whether two elements may share memory, other than those along dimensions that are expanded here
    and in `expanded`, strides of a view of the same shape."""
    reach = 0
    meant = expanded or (1,) * len(shape)
    for stride, n in sorted((s, n) for s, n, m in zip(strides, shape, meant) if s or m):
        if n > 1 and stride <= reach:
            return True
        reach += (n - 1) * stride
    return False


def meet(a, b) -> bool:  # noqa: ANN001
    """Whether two views of the same memory have an element in common: whether multiples of their
    strides add up to the way from the lowest element of one to the highest of the other."""
    most: Counter[int] = Counter()  # of each stride
    for n, s in [*zip(a.shape, a.strides), *zip(b.shape, b.strides)]:
        most[abs(s)] += n - 1
    way = b.offset - a.offset + sum((n - 1) * max(s, 0) for n, s in zip(b.shape, b.strides))
    ways = {way - sum((n - 1) * min(s, 0) for n, s in zip(a.shape, a.strides))}  # that are left
    strides = sorted((s for s in most if s and most[s]), reverse=True)
    for i, stride in enumerate(strides):
        rest, found = strides[i + 1 :], set()
        reach, unit = sum(s * most[s] for s in rest), math.gcd(*rest)
        for left in ways:
            times = range(max(0, -((reach - left) // stride)), min(most[stride], left // stride) + 1)
            if len(times) > WAYS or len(found) > WAYS:
                return True
            after = (left - stride * n for n in times)
            found.update(x for x in after if not (x % unit if unit else x))
        ways = found
    return 0 in ways and 0 not in (*a.shape, *b.shape)
