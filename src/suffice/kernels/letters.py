"""What Python takes for letters of words, and their lower case, as tables for the native kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LETTER, IRREGULAR, CASED, IGNORABLE = (np.uint32(1 << bit) for bit in (31, 30, 29, 28))
_CODE_POINT = np.uint32((1 << 21) - 1)
_ALL = 0x110000
_BLOCK, _PAGE = 1 << 12, 1 << 8
_SIGMA = 0x3A3  # whose lower case at the end of a word is another letter


class Letters(NamedTuple):
    """What becomes of each code point. Pages of 256 that are alike are kept once."""

    pages: Array  # uint16, which of the pages below
    table: Array  # (256 m,) uint32, how far away the lower case is, with flags; or an index of `extra`
    extra: Array  # uint32, for each irregular one how many letters it becomes, and these: room for three
    context: bool  # whether flags tell what the lower case of sigma depends on


def letters(lowercase: bool, ascii_only: bool, context: bool = False) -> Letters:
    """Return the table of all code points, or of those of ASCII.

    A flag tells if the lower case belongs to words (\\w in regular expressions), and another if it is irregular: more
    than one letter, or dependent on the letters around it. The table with context takes the place of the one without.
    """
    key = lowercase, ascii_only
    found = _made.get(key)
    if found is None or found.context < context:
        found = _made[key] = _letters(lowercase, _PAGE if ascii_only else _ALL, context)
    return found


_made: dict[tuple[bool, bool], Letters] = {}


def _letters(lowercase: bool, n: int, context: bool) -> Letters:
    pages, kept, extra = [], dict[bytes, int](), [[0, 0, 0, 0]]
    for start in range(0, n, _BLOCK):
        code_points = np.arange(start, min(start + _BLOCK, n), dtype=np.uint32)
        text = _text(code_points)
        lowered, irregular = _lower(text) if lowercase else text, {}
        if len(lowered) != len(text):  # some become more than one
            found = [letter.lower() for letter in text]
            irregular = {i: own for i, own in enumerate(found) if len(own) > 1}
            lowered = "".join(own[0] for own in found)
        block = np.frombuffer(_utf32(lowered), np.uint32) | _letter_flags(lowered)
        for i, own in irregular.items():
            block[i] = IRREGULAR | np.uint32(len(extra))
            flagged = np.frombuffer(_utf32(own), np.uint32) | _letter_flags(own)
            extra.append([len(own), *flagged.tolist(), 0, 0][:4])
        if context:
            block |= _context(code_points, irregular)
        if lowercase and start <= _SIGMA < start + len(block):
            block[_SIGMA - start] = IRREGULAR | (block[_SIGMA - start] & (CASED | IGNORABLE))
        away = np.where(block & IRREGULAR, block, block & ~_CODE_POINT | (block - code_points) & _CODE_POINT)
        pages += [kept.setdefault(page.tobytes(), len(kept)) for page in away.reshape(-1, _PAGE)]
    table = np.frombuffer(b"".join(kept), np.uint32)
    return Letters(np.array(pages, np.uint16), table, np.array(extra, np.uint32).ravel(), context)


def _context(code_points: Array, irregular: Iterable[int]) -> Array:
    """Flags of what the lower case of sigma depends on, as Python shows by the words A\u03a3x and A\u03a3xA."""
    regular = np.delete(np.arange(len(code_points)), list(irregular))
    flags = np.zeros(len(code_points), np.uint32)
    cased, looked_through = (_sigma_within(code_points[regular], after) for after in ("", "A"))
    flags[regular] = np.where(cased, CASED, np.where(looked_through, IGNORABLE, np.uint32(0)))
    for i in irregular:
        alone, followed = (f"A\u03a3{chr(code_points[i])}{after}".lower()[1] == "\u03c3" for after in ("", "A"))
        flags[i] = CASED if alone else IGNORABLE if followed else 0
    return flags


def _sigma_within(code_points: Array, after: str) -> Array:
    """Whether a sigma before each code point is not at the end of a word."""
    words = np.array([[ord("A"), _SIGMA, 0, *map(ord, after), ord("\n")]], np.uint32).repeat(len(code_points), axis=0)
    words[:, 2] = code_points
    lowered = np.frombuffer(_utf32(_text(words).lower()), np.uint32)
    return np.asarray(lowered.reshape(words.shape)[:, 1] == 0x3C3)


def _letter_flags(text: str) -> Array:
    flags = np.zeros(len(text), np.uint32)
    for match in re.finditer(r"\w+", text):
        flags[match.start() : match.end()] = LETTER
    return flags


def _text(code_points: Array) -> str:
    return code_points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _utf32(text: str) -> bytes:
    return text.encode("utf-32-le", "surrogatepass")


def _lower(text: str) -> str:
    return text.replace(chr(_SIGMA), "\u03c3").lower()
