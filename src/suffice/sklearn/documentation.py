"""What the docstrings of these classes take over from scikit-learn's."""

from __future__ import annotations

import re

_PARAMETERS = re.compile(r"^( *)Parameters\n\1---.*?(?=^\1\w[^\n]*\n\1---)", re.MULTILINE | re.DOTALL)


def add_parameters(own: type) -> None:
    """Put the Parameters section of the class of the same name of scikit-learn before the examples of a class."""
    theirs = next(base for base in own.__mro__[1:] if base.__name__ == own.__name__)
    if own.__doc__ and (found := _PARAMETERS.search(theirs.__doc__ or "")):
        section, indent = found.group(0, 1)
        own.__doc__ = own.__doc__.replace(f"{indent}Examples\n", f"{section}{indent}Examples\n", 1)
