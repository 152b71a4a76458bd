"""Fewer cases than all combinations, and nearly as good: most faults need one value, or two of them together."""

from allpairspy import AllPairs


def pairs(*factors):
    """Cases such that any two values of two factors meet in one of them, for ``pytest.mark.parametrize``."""
    return [tuple(case) for case in AllPairs([list(factor) for factor in factors])]
