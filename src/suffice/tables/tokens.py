"""How text is cut into words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, FamilyError, one_of
from ..kernels.words import Documents, InvalidTextError, WordRules, Words
from .arrow import to_arrow
from .labels import is_missing
from .table import ArrayColumn, Column
from .vocabulary import words_to_arrays

Array = NDArray[Any]

PATTERN = r"(?u)\b\w\w+\b"  # two letters, digits or underscores and more: what scikit-learn's CountVectorizer takes
MOST_BUCKETS = 1 << 30


@dataclass(frozen=True)
class Tokens:
    r"""How text is cut into words, and which words count.

    The defaults, and the counts, are those of scikit-learn's CountVectorizer. Columns of lists of tokens are taken as
    they are: `lowercase` and `pattern` do not apply to them.

    Parameters
    ----------
    lowercase : bool
        Whether text is put into lower case first.
    pattern : str
        A regular expression that finds tokens; if it has a group, the group is the token. The default takes two or
        more letters, digits or underscores. Other patterns are slower.
    ngrams : tuple of two int
        The least and the greatest number of tokens that are counted together, joined by a space.
    stop_words : collection of str or None
        Tokens to leave out, such as scikit-learn's ENGLISH_STOP_WORDS.
    min_df : int or float
        Words of fewer documents are left out; a float is a share of the documents. With sample weights, documents
        count as much as they weigh; 1 leaves no word out.
    max_features : int or None
        The number of words to keep, the most frequent ones.
    hashed : int or None
        Hash words to this number of buckets, as HashingVectorizer(alternate_sign=False, norm=None) does, rather than
        keep them. The model then has a fixed size, but no words to show.
    unknown : {"ignore", "error"}
        What to do with words that were never seen in training. The model can tell them from others unless they are
        hashed.

    Examples
    --------
    >>> from suffice import MultinomialClassifier, Tokens
    >>> clf = MultinomialClassifier(tokens=Tokens(ngrams=(1, 2))).fit(["a good film", "not good"], ["+", "-"])
    >>> clf.statistics_.words().tolist()
    ['film', 'good', 'good film', 'not', 'not good']
    """

    lowercase: bool = True
    pattern: str = PATTERN
    ngrams: tuple[int, int] = (1, 1)
    stop_words: tuple[str, ...] | None = None
    min_df: float = 1
    max_features: int | None = None
    hashed: int | None = None
    unknown: str = "ignore"

    def __post_init__(self) -> None:
        one_of("unknown", self.unknown, ("ignore", "error"))
        if self.lowercase not in (True, False):
            raise DataError(f"lowercase={self.lowercase!r} must be True or False")
        object.__setattr__(self, "lowercase", bool(self.lowercase))
        if self.stop_words is not None and (
            isinstance(self.stop_words, str) or not isinstance(self.stop_words, Iterable)
        ):
            raise DataError(
                f"stop_words={self.stop_words!r} is not a collection of words; give the words themselves, for instance "
                "ENGLISH_STOP_WORDS of sklearn.feature_extraction.text"
            )
        if self.stop_words is not None:
            words = tuple(self.stop_words)
            if not all(isinstance(word, str) for word in words):
                raise DataError("stop_words must be strings")
            object.__setattr__(self, "stop_words", tuple(sorted(set(words))) or None)
        self._check_numbers()
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, TypeError) as error:
            raise DataError(f"pattern={self.pattern!r} is not a regular expression: {error}") from None
        if groups > 1:
            raise DataError(f"pattern={self.pattern!r} has {groups} groups; at most one can be the token")

    def _check_numbers(self) -> None:
        ngrams = tuple(self.ngrams) if isinstance(self.ngrams, Iterable) else (self.ngrams,)
        if len(ngrams) != 2 or not all(_is_whole(n) for n in ngrams) or not 1 <= ngrams[0] <= ngrams[1]:
            raise DataError(f"ngrams={self.ngrams!r} must be two whole numbers, such as (1, 2)")
        object.__setattr__(self, "ngrams", (int(ngrams[0]), int(ngrams[1])))
        number = isinstance(self.min_df, Real) and not isinstance(self.min_df, bool)
        if not number or not (self.min_df >= 1 if _is_whole(self.min_df) else 0 <= self.min_df <= 1):
            raise DataError(f"min_df={self.min_df!r} must be a number of documents, or a share from 0.0 to 1.0")
        object.__setattr__(self, "min_df", int(self.min_df) if _is_whole(self.min_df) else float(self.min_df))
        for name, most in (("max_features", None), ("hashed", MOST_BUCKETS)):
            value = getattr(self, name)
            if value is not None and not (_is_whole(value) and 1 <= value <= (most or value)):
                raise DataError(f"{name}={value!r} must be a whole number above zero{f', at most {most}' * bool(most)}")
            object.__setattr__(self, name, None if value is None else int(value))
        if self.hashed is not None and (self.max_features is not None or self.min_df != 1):
            raise DataError("hashed words cannot be told apart: leave min_df and max_features out, or hashed")

    @classmethod
    def of(cls, tokens: Any) -> Tokens:
        """Return what a user gave for `tokens`: None means the defaults; files hold dictionaries.

        Parameters
        ----------
        tokens : Tokens, dict or None
            What was given.

        Returns
        -------
        Tokens
            The same as an object.

        Examples
        --------
        >>> from suffice import Tokens
        >>> Tokens.of({"ngrams": (1, 2)}) == Tokens(ngrams=(1, 2))
        True
        """
        if tokens is None or isinstance(tokens, cls):
            return tokens or cls()
        if isinstance(tokens, Mapping) and set(tokens) <= set(cls.__dataclass_fields__):
            return cls(**tokens)
        raise DataError(f"tokens={tokens!r} is not known; give a Tokens object")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from the defaults, as JSON values.

        Returns
        -------
        dict
            By name.

        Examples
        --------
        >>> from suffice import Tokens
        >>> Tokens(ngrams=(1, 2), min_df=5).to_dict()
        {'ngrams': [1, 2], 'min_df': 5}
        """
        own, plain = asdict(self), asdict(Tokens())
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in own.items()}
        return {name: value for name, value in listed.items() if own[name] != plain[name]}

    def to_array(self) -> Array:
        """Return the fields as JSON, in an array.

        Returns
        -------
        array of uint8
            To be kept in files.

        Examples
        --------
        >>> from suffice import Tokens
        >>> Tokens(min_df=5).to_array().tobytes()
        b'{"min_df": 5}'
        """
        return np.frombuffer(json.dumps(self.to_dict()).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: Array) -> Tokens:
        """Return what `to_array` has written.

        Parameters
        ----------
        array : array of uint8
            JSON.

        Returns
        -------
        Tokens
            ValueError, TypeError or DataError where the array is damaged.

        Examples
        --------
        >>> from suffice import Tokens
        >>> Tokens.from_array(Tokens(min_df=5).to_array()).min_df
        5
        """
        return cls.of(json.loads(np.asarray(array, np.uint8).tobytes()))

    @property
    def counting(self) -> Self:
        """The same without what is chosen from counts: min_df, max_features and unknown."""
        return replace(self, min_df=1, max_features=None, unknown="ignore")

    @cached_property
    def rules(self) -> WordRules:
        """The same for the kernels."""
        stop = None if self.stop_words is None else Words(*words_to_arrays(list(self.stop_words)))
        return WordRules(self.lowercase, *self.ngrams, stop, self.hashed or 0)

    def documents(self, column: Column, name: str) -> tuple[Documents, Array | None]:
        """Return the documents of a column, and which of them are missing.

        Parameters
        ----------
        column : Column
            Text, or lists of tokens.
        name : str
            Of the column, for messages.

        Returns
        -------
        documents : Documents
            The text for the kernels; empty where it is missing.
        missing : array of bool of shape (n,), or None
            None where no text is missing.

        Examples
        --------
        >>> from suffice import Tokens
        >>> from suffice.tables.batch import Batch
        >>> (column,) = Batch.of([["a film"], [None]]).table.columns()
        >>> documents, missing = Tokens().documents(column, "review")
        >>> missing
        array([False,  True])
        """
        values = _as_arrow(column, name)
        missing = None if not values.null_count else np.asarray(values.is_null())
        if _is_list(values.type):
            return _of_lists(values, name), missing
        if missing is not None:
            values = values.fill_null("")
        if self.pattern == PATTERN:
            return _of_text(values), missing
        return self._found(values), missing

    def _found(self, values: Any) -> Documents:
        """The tokens of text by a pattern that the kernels do not know."""
        find = re.compile(self.pattern).findall
        rows: list[list[str]] = []
        for text in values:
            try:
                own = text.as_py()
            except UnicodeDecodeError:
                raise InvalidTextError(len(rows)) from None
            rows.append(find(own.lower() if self.lowercase else own))
        letters, ends = words_to_arrays([token for row in rows for token in row])
        lists = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Documents(letters, np.concatenate([[0], ends]), lists)


def texts_of(words: Words) -> Any:
    """Return words as an Arrow array of large strings."""
    import pyarrow as pa

    offsets = np.concatenate([[0], words.ends]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(words.letters))]
    return pa.Array.from_buffers(pa.large_string(), len(words.ends), buffers)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def holds_tokens(column: Column) -> bool:
    """Whether a column holds lists of strings."""
    values = getattr(column, "values", None)
    if isinstance(column, ArrayColumn):
        known = (value for value in column.values if not is_missing(value)) if column.values.dtype == object else ()
        lists = [value for value in islice(known, 1000) if isinstance(value, list | tuple | np.ndarray)]
        return bool(lists) and all(isinstance(token, str) for value in lists for token in value)
    return values is not None and hasattr(values, "type") and _is_list(values.type) and _is_text(values.type.value_type)


def is_text(column: Column) -> bool:
    """Whether a column holds strings, or lists of them."""
    return column.kind == "text" or holds_tokens(column)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)
    )


def _as_arrow(column: Column, name: str) -> Any:
    """The values as one Arrow array of large strings, or of large lists of them."""
    import pyarrow as pa

    try:
        values = to_arrow(column)
    except UnicodeEncodeError:
        row = next(i for i, value in enumerate(column.values.tolist()) if _is_broken(value))  # type: ignore[attr-defined]
        raise InvalidTextError(row) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"column {name} holds other values than text: {error}") from None
    kind = values.type
    if _is_list(kind):
        if not _is_text(kind.value_type):
            raise FamilyError(f"column {name} holds lists of {kind.value_type}, not of strings", [0])
        values = values.cast(pa.large_list(pa.large_string()))
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = values.cast(pa.large_binary())
    elif _is_text(kind):
        values = values.cast(pa.large_string())
    elif column.missing().all():  # a file without any text does not tell of which type it would be
        values = pa.nulls(len(column), pa.large_string())
    else:
        raise FamilyError(f"column {name} is {kind}, not text", [0])
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # of no chunks, or more than fit one
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    return values.view(pa.large_string()) if pa.types.is_large_binary(values.type) else values


def _is_broken(value: Any) -> bool:
    try:
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str):
                text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _of_text(values: Any) -> Documents:
    """The documents of an Arrow array of large strings, whose text is not copied."""
    _, offsets, text = values.buffers()
    n, first = len(values), values.offset
    if not n:
        return Documents(np.empty(0, np.uint8), np.zeros(1, np.int64))
    starts = np.frombuffer(offsets, np.int64)[first : first + n + 1]
    return Documents(np.frombuffer(text, np.uint8) if text is not None else np.empty(0, np.uint8), starts)


def _of_lists(values: Any, name: str) -> Documents:
    import pyarrow as pa

    if values.null_count and any(
        a < b
        for (a, b), gone in zip(pairwise(values.offsets.to_pylist()), values.is_null().to_pylist(), strict=True)
        if gone
    ):
        values = pa.array(values.to_pylist(), values.type)  # what is missing may hide tokens
    if values.values.null_count:
        raise DataError(f"column {name} holds lists with missing tokens; remove them")
    tokens = _of_text(values.values)
    return Documents(tokens.text, tokens.offsets, np.asarray(values.offsets.to_numpy(zero_copy_only=False), np.int64))
