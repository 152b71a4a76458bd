"""What Python takes for letters of words, and their lower case, as tables for the native kernels."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LETTER, IRREGULAR, CASED, IGNORABLE = (np.uint32(1 << bit) for bit in (31, 30, 29, 28))
_ALL = 0x110000
_BLOCK = 1 << 12
_SIGMA = 0x3A3  # whose lower case at the end of a word is another letter


class Letters(NamedTuple):
    """What becomes of each code point."""

    table: Array  # uint32, its lower case with flags; for an irregular one, an index of `extra`
    extra: Array  # uint32, for each irregular one how many letters it becomes, and these: room for three
    context: bool  # whether flags tell what the lower case of sigma depends on


@cache
def letters(lowercase: bool, ascii_only: bool, context: bool = False) -> Letters:
    """Return the table of all code points, or of those of ASCII.

    A flag tells if the lower case belongs to words (\\w in regular expressions), and another if it is irregular: more
    than one letter, or dependent on the letters around it.
    """
    n = 128 if ascii_only else _ALL
    is_letter, low, extra = _are_letters(n), np.arange(n, dtype=np.uint32), [[0, 0, 0, 0]]
    irregular: list[int] = []
    if lowercase:
        for start in range(0, n, _BLOCK):
            block = low[start : start + _BLOCK]
            lowered = _lower(_text(block))
            if len(lowered) != len(block):  # some become more than one
                found = [letter.lower() for letter in _text(block)]
                irregular += [start + i for i, own in enumerate(found) if len(own) > 1]
                lowered = "".join(own[0] for own in found)
            low[start : start + _BLOCK] = np.frombuffer(_utf32(lowered), np.uint32)
    table = low | np.where(is_letter[low], LETTER, np.uint32(0))
    for c in irregular:
        own = [ord(letter) for letter in chr(c).lower()]
        flagged = [letter | int(LETTER) * bool(is_letter[letter]) for letter in own]
        table[c] = IRREGULAR | np.uint32(len(extra))
        extra.append([len(own), *flagged, 0, 0][:4])
    if lowercase and not ascii_only:
        table[_SIGMA] = IRREGULAR
    if context:
        table |= _context(irregular)
    table.flags.writeable = False
    return Letters(table, np.array(extra, np.uint32).ravel(), context)


def _context(irregular: list[int]) -> Array:
    """Flags of what the lower case of sigma depends on, as Python shows by the words A\u03a3x and A\u03a3xA."""
    flags = np.zeros(_ALL, np.uint32)
    code_points = np.delete(np.arange(_ALL, dtype=np.uint32), irregular)
    cased, looked_through = _stays_within(code_points, ""), _stays_within(code_points, "A")
    flags[code_points] = np.where(cased, CASED, np.where(looked_through, IGNORABLE, np.uint32(0)))
    for c in irregular:
        alone, followed = (f"A\u03a3{chr(c)}{after}".lower()[1] == "\u03c3" for after in ("", "A"))
        flags[c] = CASED if alone else IGNORABLE if followed else 0
    return flags


def _stays_within(code_points: Array, after: str) -> Array:
    """Whether a sigma before each code point is not at the end of a word."""
    parts = [code_points[i : i + _BLOCK] for i in range(0, len(code_points), _BLOCK)]
    return np.concatenate([_sigma_within(part, after) for part in parts])


def _sigma_within(code_points: Array, after: str) -> Array:
    words = np.array([[ord("A"), _SIGMA, 0, *map(ord, after), ord("\n")]], np.uint32).repeat(len(code_points), axis=0)
    words[:, 2] = code_points
    lowered = np.frombuffer(_utf32(_text(words).lower()), np.uint32)
    return np.asarray(lowered.reshape(words.shape)[:, 1] == 0x3C3)


def _text(code_points: Array) -> str:
    return code_points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _utf32(text: str) -> bytes:
    return text.encode("utf-32-le", "surrogatepass")


def _lower(text: str) -> str:
    return text.replace(chr(_SIGMA), "\u03c3").lower()


def _are_letters(n: int) -> Array:
    found = np.zeros(n, bool)
    for match in re.finditer(r"\w+", _text(np.arange(n, dtype=np.uint32))):
        found[match.start() : match.end()] = True
    return found
