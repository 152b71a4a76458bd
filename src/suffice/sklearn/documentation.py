"""What the docstrings of these classes take over from scikit-learn's."""

from __future__ import annotations

import re

_PARAMETERS = re.compile(r"^( *)Parameters\n\1---.*?(?=^\1\w[^\n]*\n\1---)", re.MULTILINE | re.DOTALL)


def add_parameters(own: type) -> None:
    """Put the Parameters section of scikit-learn's class, which is the last base, before the examples of a class."""
    theirs = own.__bases__[-1]
    if own.__doc__ and (found := _PARAMETERS.search(theirs.__doc__ or "")):
        section, indent = found.group(0, 1)
        own.__doc__ = own.__doc__.replace(f"{indent}Examples\n", f"{section}{indent}Examples\n", 1)
