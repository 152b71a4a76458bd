"""The kernels in NumPy: short enough to be read as their definition.

Shapes: X (n, d) float32 or float64 with any strides, for moments also a tuple of d columns (n,) float64; code (n,)
int32 in [0, k); weight (n,) float64 or None for ones. Rows are taken in blocks that fit the cache, and all sums are in
float64. Rows of weight zero are absent. Soft labels are a share (n, k) float64 of each row for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .words import add_words as add_words
from .words import word_codes as word_codes
from .words import word_counts as word_counts
from .words import word_scores as word_scores
from .words import word_table as word_table

Array = NDArray[Any]
Numbers = Array | tuple[Array, ...]
Moments = tuple[Array, Array, Array]


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(256, (1 << 18) // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _joined(X: Numbers) -> Array:
    return np.stack(X, axis=1) if isinstance(X, tuple) else X


def present_rows(X: Array, code: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Without the rows of weight zero: they are absent, whatever they hold."""
    if weight is None or weight.all():
        return X, code, weight
    kept = weight != 0.0
    return X[kept], code[kept], weight[kept]


def _parts(X: Array, code: Array, weight: Array | None) -> Iterator[tuple[Array, Array, Array | None]]:
    for rows in _blocks(len(X), X.shape[1]):
        x, c, w = present_rows(X[rows], code[rows], None if weight is None else weight[rows])
        yield x.astype(np.float64, copy=False), c, w


class _Update:
    """One block's part in the moments: deviations from the running means, and what they add up to."""

    def __init__(self, x: Array, code: Array, weight: Array | None, n: Array, mean: Array) -> None:
        """Update n (k,) and mean (k, d) in place by Chan's formula, n <- n + sum w, mean <- mean + a / n."""
        from scipy.sparse import csr_array

        k = len(n)
        self.order = np.argsort(code, kind="stable")
        sizes = np.bincount(code, minlength=k)
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        ones = np.ones(len(code)) if weight is None else weight[self.order]
        self._membership = csr_array((ones, self.order, self.bounds), shape=(k, len(code)))
        for c in np.flatnonzero((n == 0) & (sizes > 0)):
            rows = self.order[self.bounds[c] : self.bounds[c + 1]]
            # A row stands in for the mean of a class that is new: not one of next to no weight, which may lie anywhere.
            mean[c] = x[rows[0] if weight is None else rows[weight[rows].argmax()]]
        self.z = x - mean[code]  # (n, d)
        self.a = self.sum(self.z)  # (k, d)
        n += np.bincount(code, weight, minlength=k)
        self.shift = self.a / np.where(n > 0, n, 1.0)[:, None]  # of the means, (k, d)
        mean += self.shift

    def sum(self, values: Array) -> Array:
        """Weighted sums of rows (n, d) over each class, (k, d)."""
        return np.asarray(self._membership @ values)


def diag_moments(X: Numbers, code: Array, weight: Array | None, k: int) -> Moments:
    """Weight (k,), mean (k, d) and centred sum of squares (k, d) of every class."""
    X = _joined(X)
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    with np.errstate(over="ignore", invalid="ignore"):
        for x, c, w in _parts(X, code, weight):
            block = _Update(x, c, w, n, mean)
            scatter += block.sum(block.z**2) - block.a * block.shift
    return n, mean, scatter


def full_moments(X: Numbers, code: Array, weight: Array | None, k: int, pooled: bool) -> Moments:
    """Weight (k,), mean (k, d) and scatter matrices (k, d, d), or their sum (d, d) where `pooled`."""
    X = _joined(X)
    d = X.shape[1]
    n, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((d, d) if pooled else (k, d, d))
    with np.errstate(over="ignore", invalid="ignore"):
        for x, c, w in _parts(X, code, weight):
            block = _Update(x, c, w, n, mean)
            z = block.z if w is None else block.z * np.sqrt(w)[:, None]
            if pooled:
                scatter += z.T @ z - block.a.T @ block.shift
                continue
            z = z[block.order]
            for i in range(k):
                zi = z[block.bounds[i] : block.bounds[i + 1]]
                scatter[i] += zi.T @ zi - np.outer(block.a[i], block.shift[i])
    return n, mean, scatter


def quartic_moments(X: Numbers, code: Array, weight: Array | None, k: int) -> tuple[Array, ...]:
    """`full_moments`, and with z = x - mean the sums of w |z|^2 z (k, d) and of w |z|^4 (k,)."""
    X = _joined(X)
    n, mean, scatter = full_moments(X, code, weight, k, False)
    cubic, quartic = np.zeros_like(mean), np.zeros(k)
    with np.errstate(over="ignore", invalid="ignore"):
        for x, c, w in _parts(X, code, weight):
            z = x - mean[c]
            square = np.einsum("ij,ij->i", z, z)
            weighted = square if w is None else w * square
            for i in np.unique(c):
                cubic[i] += weighted[c == i] @ z[c == i]
            quartic += np.bincount(c, weighted * square, minlength=k)
    return n, mean, scatter, cubic, quartic


def _by_class(share: Array, weight: Array | None) -> list[Array]:
    return [column if weight is None else column * weight for column in share.T]


def soft_diag_moments(X: Numbers, share: Array, weight: Array | None) -> Moments:
    """`diag_moments` where every row belongs to every class by a share. X is finite."""
    code = np.zeros(len(share), np.int32)
    n, mean, scatter = zip(*(diag_moments(X, code, own, 1) for own in _by_class(share, weight)), strict=True)
    return np.concatenate(n), np.concatenate(mean), np.concatenate(scatter)


def soft_full_moments(X: Numbers, share: Array, weight: Array | None, pooled: bool) -> Moments:
    """`full_moments` where every row belongs to every class by a share. X is finite."""
    code = np.zeros(len(share), np.int32)
    n, mean, scatter = zip(*(full_moments(X, code, own, 1, False) for own in _by_class(share, weight)), strict=True)
    both = np.concatenate(scatter)
    return np.concatenate(n), np.concatenate(mean), both.sum(axis=0) if pooled else both


def soften(joint: Array, fallback: Array, weight: Array | None) -> tuple[float, float]:
    """Replace log p(row, class) (n, k) by P(class | row); return the weighted sums of log p(row) and of the entropies.

    A row that is impossible under every class goes by its log weights in `fallback`, (k,) or (n, k).
    """
    lost = np.isneginf(joint.max(axis=1))
    joint[lost] = np.broadcast_to(fallback, joint.shape)[lost]
    top = joint.max(axis=1)
    joint -= top[:, None]
    logs = np.maximum(joint, -_MAX)  # of zero, which counts nothing
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    entropy = np.log(total) - np.einsum("ij,ij->i", joint, logs) / total
    joint /= total[:, None]
    density = np.where(lost, -np.inf, top + np.log(total))
    w = np.ones(len(joint)) if weight is None else weight
    some = w != 0.0  # a row without weight may be impossible
    return float(w[some] @ density[some]), float(w @ entropy)


def reduce_scores(scores: Array, all: Array | None, best: Array | None, evidence: Array | None) -> None:
    """Write scores (k, n), their arg max and their log-sum-exp where they are wanted."""
    if all is not None:
        all[:] = scores.T
    if best is not None:
        top = scores[0]
        best[:] = 0
        for c in range(1, len(scores)):
            np.copyto(best, c, where=scores[c] > top)
            top = np.maximum(top, scores[c]) if c + 1 < len(scores) else top
    if evidence is not None:
        top = scores.max(axis=0)
        finite = np.where(np.isneginf(top), 0.0, top)
        with np.errstate(divide="ignore"):
            evidence[:] = finite + np.log(np.exp(scores - finite).sum(axis=0))


_MAX = np.finfo(np.float64).max


def _minus(x: Array, row: Array) -> Array:
    """x - row. Narrow rows are taken 64 at a time, which spares NumPy most of its inner loops."""
    n, d = x.shape
    if n % 64 or d > 64 or not x.flags.c_contiguous:
        return np.asarray(x - row)
    return np.asarray((x.reshape(n // 64, 64 * d) - np.tile(row, 64)).reshape(n, d))


def score_blocks(
    X: Array, raw: Callable[[Array], Array], constant: Array, reduce: Callable[..., None], *wanted: Array | None
) -> bool:
    """Reduce constant + raw(x) (k, n) block by block to what is wanted; returns whether X is finite."""
    finite = True
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _blocks(len(X), max(X.shape[1], len(constant))):
            x = X[rows].astype(np.float64, copy=False)
            scores = raw(x)
            if not np.isfinite(scores.sum()):  # so are its terms, and what went into them, unless there was overflow
                finite &= bool(np.isfinite(x).all())
                # Finite stand-ins for sums that overflow, so that far outliers keep finite scores.
                np.nan_to_num(scores, copy=False, nan=-_MAX / 2, posinf=_MAX / 2, neginf=-_MAX / 2)
            scores += constant[:, None]
            reduce(scores, *(None if out is None else out[rows] for out in wanted))
    return finite


# Scores go where they are wanted: all (n, k), best (n,) int64, evidence (n,), or None; see reduce_scores.


def diag_scores(X: Array, mean: Array, scale: Array, constant: Array, *wanted: Array | None) -> bool:
    """Scores constant - 1/2 sum_j (scale (x - mean))^2; returns whether X is finite, as do the other two."""

    def raw(x: Array) -> Array:
        q = np.empty((len(mean), len(x)))
        for c, (m, s) in enumerate(zip(mean, scale, strict=True)):
            z = _minus(x, m)
            z *= s
            np.einsum("ij,ij->i", z, z, out=q[c])
        q *= -0.5
        return q

    return score_blocks(X, raw, constant, reduce_scores, *wanted)


def full_scores(X: Array, mean: Array, whitening: Array, constant: Array, *wanted: Array | None) -> bool:
    """Scores constant - 1/2 |whitening (x - mean)|^2; whitening (k, d, d) is lower triangular."""

    def raw(x: Array) -> Array:
        q = np.empty((len(mean), len(x)))
        for c, (m, w) in enumerate(zip(mean, whitening, strict=True)):
            z = _minus(x, m) @ w.T
            np.einsum("ij,ij->i", z, z, out=q[c])
        q *= -0.5
        return q

    return score_blocks(X, raw, constant, reduce_scores, *wanted)


def linear_scores(X: Array, center: Array, slope: Array, constant: Array, *wanted: Array | None) -> bool:
    """Scores constant + slope (x - center); slope (k, d)."""
    reduce = reduce_scores
    if len(slope) == 2 and wanted[0] is None and wanted[2] is None and np.isfinite(constant[0]):
        # Two classes are told apart by the sign of a difference.
        slope, constant, reduce = slope[1:] - slope[:1], constant[1:] - constant[:1], _write_positive
    if (np.abs(slope) @ np.abs(center)).max() > 1e6:  # digits would be lost without centring
        return score_blocks(X, lambda x: np.asarray(slope @ _minus(x, center).T), constant, reduce, *wanted)
    return score_blocks(X, lambda x: np.asarray(slope @ x.T), constant - slope @ center, reduce, *wanted)


def count_scores(X: Array, slope: Array, constant: Array, presence: bool, *wanted: Array | None) -> bool:
    """Scores constant + slope x of counts x, or of their presence: 1 above zero.

    Returns whether X is finite and, unless only presence counts, not negative; otherwise the scores mean nothing.
    """
    good, center = True, np.zeros(X.shape[1])
    for rows in _blocks(len(X), max(X.shape[1], len(constant))):
        x = X[rows]
        good &= bool(np.isfinite(x).all() and (presence or (x >= 0).all()))
        counts = (x > 0).astype(np.float64) if presence else x
        linear_scores(counts, center, slope, constant, *(None if out is None else out[rows] for out in wanted))
    return good


def _write_positive(scores: Array, all: Array | None, best: Array | None, evidence: Array | None) -> None:  # noqa: ARG001
    np.greater(scores[0], 0.0, out=best, casting="unsafe")


def reduce(scores: Array, *wanted: Array | None) -> None:
    """What is wanted of scores (n, k)."""
    for rows in _blocks(len(scores), scores.shape[1]):
        reduce_scores(scores[rows].T, *(None if out is None else out[rows] for out in wanted))


# Categories: X (n, m) of any integers; column j has the categories lo[j] <= x < lo[j] + width[j].


def _places(X: Array, lo: Array, width: Array) -> list[Array]:
    """For each column x - lo where it is a category and -1 elsewhere, (n,) int64."""
    X = X.view(np.uint8) if X.dtype == bool else X
    type_ = np.iinfo(X.dtype)
    places = []
    for x, low, count in zip(X.T, lo.tolist(), width.tolist(), strict=True):
        first, last = max(low, type_.min), min(low + count - 1, type_.max)  # Python's integers do not overflow
        inside = (x >= first) & (x <= last) if first <= last else np.zeros(len(x), bool)
        places.append(np.where(inside, x.astype(np.int64) - np.int64(low), -1))  # modulo 2^64, so right where inside
    return places


def _known_places(
    X: Array, weight: Array | None, lo: Array, width: Array
) -> Iterator[tuple[Array, list[Array], int | None]]:
    """Block by block: the rows of any weight up to one that holds something else, their places, and that row."""
    for rows in _blocks(len(X), X.shape[1]):
        kept = np.arange(rows.start, rows.stop)
        if weight is not None:
            kept = kept[weight[rows] != 0.0]
        places = _places(X[rows] if len(kept) == rows.stop - rows.start else X[kept], lo, width)
        strange = np.zeros(len(kept), bool)
        for place in places:
            strange |= place < 0
        known = int(strange.argmax()) if strange.any() else len(kept)
        yield kept[:known], [place[:known] for place in places], int(kept[known]) if known < len(kept) else None


def category_counts(X: Array, code: Array, weight: Array | None, lo: Array, width: Array, table: Array) -> int:
    """Add the weight of each category of each column, one after the other, and class to table (sum(width), k).

    Returns the first row that holds something else, with the rows before it counted, or n.
    """
    k = table.shape[1]
    for kept, places, strange in _known_places(X, weight, lo, width):
        c, w = code[kept], None if weight is None else weight[kept]
        stop = 0
        for place, size in zip(places, width.tolist(), strict=True):
            start, stop = stop, stop + size
            table[start:stop] += np.bincount(place * k + c, w, size * k).reshape(size, k)
        if strange is not None:
            return strange
    return len(X)


def soft_category_counts(X: Array, share: Array, weight: Array | None, lo: Array, width: Array, table: Array) -> int:
    """`category_counts` where every row belongs to every class by a share."""
    for kept, places, strange in _known_places(X, weight, lo, width):
        own = share[kept] if weight is None else share[kept] * weight[kept, None]
        stop = 0
        for place, size in zip(places, width.tolist(), strict=True):
            start, stop = stop, stop + size
            for c, w in enumerate(own.T):
                table[start:stop, c] += np.bincount(place, w, size)
        if strange is not None:
            return strange
    return len(X)


def pair_counts(
    X: Array, code: Array, weight: Array | None, lo: Array, width: Array, pairs: Array, table: Array
) -> None:
    """Add the weight of each class and each two categories of pairs (m, 2) of columns to table (k, cells).

    Each pair has a cell for each category of its first column and of its second. A row in which one of the two holds
    something else is not counted. Pairs with the same first column follow each other.
    """
    k = len(table)
    for rows in _blocks(len(X), X.shape[1]):
        places, c, w = _places(X[rows], lo, width), code[rows], None if weight is None else weight[rows]
        stop = 0
        for i, j in pairs.tolist():
            start, stop = stop, stop + int(width[i] * width[j])
            cell = (c.astype(np.int64) * width[i] + places[i]) * width[j] + places[j]
            known = (places[i] >= 0) & (places[j] >= 0)
            found = np.bincount(cell[known], None if w is None else w[known], k * (stop - start))
            table[:, start:stop] += found.reshape(k, stop - start)


def category_scores(X: Array, lo: Array, width: Array, table: Array, constant: Array, *wanted: Array | None) -> None:
    """Scores constant + the sum over columns of a row of table (sum(width + 1), k).

    Each column has a row for everything that is not one of its categories, then one for each of these.
    """
    other = np.cumsum(width + 1) - (width + 1)
    for rows in _blocks(len(X), max(X.shape[1], len(constant))):
        scores = np.tile(constant, (rows.stop - rows.start, 1))
        for start, place in zip(other, _places(X[rows], lo, width), strict=True):
            scores += table.take(start + 1 + place, axis=0)
        reduce_scores(scores.T, *(None if out is None else out[rows] for out in wanted))


def tree_scores(
    X: Array, lo: Array, width: Array, parent: Array, table: Array, constant: Array, *wanted: Array | None
) -> None:
    """`category_scores` where each column has a row of the table for each two entries, that of its parent and its own.

    Those of everything that is not a category come first. A column whose parent is -1 has a row for each own entry.
    """
    for rows in _blocks(len(X), max(X.shape[1], len(constant))):
        scores, places, start = np.tile(constant, (rows.stop - rows.start, 1)), _places(X[rows], lo, width), 0
        for p, own, size in zip(parent.tolist(), places, (width + 1).tolist(), strict=True):
            above = 0 if p < 0 else (places[p] + 1) * size
            scores += table.take(start + above + own + 1, axis=0)
            start += size * (1 if p < 0 else int(width[p]) + 1)
        reduce_scores(scores.T, *(None if out is None else out[rows] for out in wanted))


# Counts: X (n, d) of non-negative numbers, dense or in compressed sparse rows. The latter may be a slice of a longer
# indptr, with indices and data in common.


def _membership(code: Array, weight: Array | None, k: int) -> Any:
    """The matrix (k, n) whose product with rows is their weighted sum over each class."""
    from scipy.sparse import csc_array

    ones = np.ones(len(code)) if weight is None else weight
    return csc_array((ones, code, np.arange(len(code) + 1)), shape=(k, len(code)))


def _sparse_rows(indptr: Array, indices: Array, data: Array, d: int) -> Any:
    from scipy.sparse import csr_array

    entries, n = slice(indptr[0], indptr[-1]), len(indptr) - 1
    rows = csr_array((data[entries], indices[entries], indptr - indptr[0]), shape=(n, d), copy=True)
    # The copy is looked at: somebody may change the other one meanwhile, and SciPy trusts what it is given.
    if np.diff(rows.indptr).min(initial=0) < 0 or rows.indices.min(initial=0) < 0 or rows.indices.max(initial=-1) >= d:
        raise ValueError("a sparse matrix has cells outside its rows or columns")
    return rows


def sparse_counts(
    indptr: Array,
    indices: Array,
    data: Array,
    code: Array,
    weight: Array | None,
    presence: bool,
    table: Array,
    log_factorials: Array | None = None,
) -> bool:
    """Add the sums of each class, or if `presence` the weights of the rows where x > 0, to table (k, d).

    The sums of log x! over the cells, and over the totals of the rows, are added to log_factorials (k, 2).

    Returns whether all values are finite and not negative, in columns that exist; without that the sums are of no use.
    """
    k, d = table.shape
    used = indices[indptr[0] : indptr[-1]]
    if used.min(initial=0) < 0 or used.max(initial=-1) >= d:
        return False
    X = _sparse_rows(indptr, indices, data, d)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        X, code, weight = X[kept], code[kept], weight[kept]
    good = bool((np.isfinite(X.data) & (X.data >= 0)).all())
    if presence:
        X.data = (X.data > 0).astype(np.float64)
    if good:
        members = _membership(code, weight, k)
        table += (members @ X).toarray()
        if log_factorials is not None:
            log_factorials += members @ sparse_log_factorials(X.indptr, X.indices, X.data, d)
    return good


def sparse_log_factorials(indptr: Array, indices: Array, data: Array, columns: int) -> Array:
    """Of each row, the sum of log x! over the cells, and log x! of their sum, (n, 2).

    What is stored in several cells of a column is one.
    """
    X = _sparse_rows(indptr, indices, data, columns).astype(np.float64)
    X.sum_duplicates()
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    cells = np.bincount(row, _log_factorial(X.data), X.shape[0])
    return np.stack([cells, _log_factorial(np.bincount(row, X.data, X.shape[0]))], axis=1)


def _log_factorial(x: Array) -> Array:
    from scipy.special import gammaln

    return np.asarray(gammaln(x + 1.0))


def sparse_scores(
    indptr: Array, indices: Array, data: Array | None, slope: Array, constant: Array, *wanted: Array | None
) -> None:
    """Scores constant + x slope; slope (d, k). Without data every entry is a one."""
    n = len(indptr) - 1
    for rows in _blocks(n, len(constant)):
        some = indptr[rows.start : rows.stop + 1]
        if data is None:
            X = _sparse_rows(some - some[0], indices[some[0] : some[-1]], np.ones(some[-1] - some[0]), len(slope))
        else:
            X = _sparse_rows(some, indices, data, len(slope))
        scores = X @ slope + constant
        reduce_scores(scores.T, *(None if out is None else out[rows] for out in wanted))


def dense_counts(
    X: Array,
    code: Array,
    weight: Array | None,
    presence: bool,
    count: Array,
    missing: Array,
    log_factorials: Array | None = None,
) -> bool:
    """As `sparse_counts`, with the weights of the rows where x is NaN added to missing (k, d).

    If `presence`, negative values are absent and not an error.
    """
    good = True
    for x, c, w in _parts(X, code, weight):
        members = _membership(c, w, len(count))
        gone = np.isnan(x)
        if gone.any():
            missing += members @ gone.astype(np.float64)
            x = np.where(gone, 0.0, x)
        good &= bool(np.isfinite(x).all() and (presence or (x >= 0).all()))
        count += members @ ((x > 0).astype(np.float64) if presence else x)
        if log_factorials is not None and good:
            log_factorials += members @ dense_log_factorials(x)
    return good


def dense_log_factorials(X: Array) -> Array:
    """As `sparse_log_factorials`. NaN counts as none."""
    x = np.nan_to_num(np.asarray(X, np.float64), posinf=np.inf)
    return np.stack([_log_factorial(x).sum(axis=1), _log_factorial(x.sum(axis=1))], axis=1)


SMALL = 64  # columns up to which NumPy inverts as fast; to import SciPy takes longer than most commands


def triangular_inverse(lower: Array) -> Array:
    """The inverse of a lower triangular matrix (d, d), or of each of some (g, d, d)."""
    if lower.shape[-1] <= SMALL:
        return np.tril(np.linalg.inv(lower))
    from scipy.linalg.lapack import dtrtri

    if lower.ndim == 3:
        return np.stack([triangular_inverse(matrix) for matrix in lower])
    return np.asarray(dtrtri(lower, lower=1)[0])


def whiten(matrices: Array, unit: Array) -> tuple[Array, Array, Array]:
    """Lower triangular W (g, d, d) with W matrix W' = I, log |matrix| (g,), and the trace of the inverse (g,), each
    column in its own unit (d,). The trace is infinite where a matrix is not positive definite, and W has no meaning."""
    g = len(matrices)
    whitening, log_det, trace = np.empty(matrices.shape), np.zeros(g), np.full(g, np.inf)
    for i in range(g):  # one at a time: wide ones take memory
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            matrix = matrices[i] / unit / unit[:, None]
        if not np.isfinite(matrix).all():
            continue
        try:
            inverse = triangular_inverse(np.linalg.cholesky(matrix))
        except np.linalg.LinAlgError:
            continue
        trace[i] = np.vdot(inverse, inverse)
        log_det[i] = 2 * (np.log(unit) - np.log(np.diag(inverse))).sum()
        np.divide(inverse, unit, out=whitening[i])
    return whitening, log_det, trace


def encode(y: Array) -> tuple[Array, Array]:
    """The distinct values of y in any order, and each row's index (int32) among them."""
    if y.dtype == object:
        items = y.tolist()
        index = {item: i for i, item in enumerate(dict.fromkeys(items))}
        distinct = np.empty(len(index), object)
        distinct[:] = list(index)
        return distinct, np.fromiter(map(index.__getitem__, items), np.int32, len(items))
    distinct, code = np.unique(y, return_inverse=True)
    return distinct, code.astype(np.int32)


def encode_strings(text: Array, offsets: Array, missing: Array | None) -> tuple[Array, Array]:
    """Encode strings that follow each other in `text` (uint8).

    String i is ``text[offsets[i]:offsets[i + 1]]``. Returns the index of the first string of each distinct value, and
    each string's index (int32) among the values, -1 where it is missing.
    """
    check_strings(text, offsets, missing)
    data, code = text.tobytes(), np.full(len(offsets) - 1, -1, np.int32)
    index: dict[bytes, int] = {}
    first: list[int] = []
    for row, (start, stop) in enumerate(pairwise(offsets.tolist())):
        if missing is None or not missing[row]:
            code[row] = index.setdefault(data[start:stop], len(index))
            if len(index) > len(first):
                first.append(row)
    return np.array(first, np.int64), code


def check_strings(text: Array, offsets: Array, missing: Array | None) -> None:
    """Raise ValueError where strings do not begin and end within the text."""
    if not len(offsets) or offsets[0] < 0 or offsets[-1] > len(text) or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("strings do not begin and end where there is text")
    if missing is not None and len(missing) != len(offsets) - 1:
        raise ValueError(f"{len(offsets) - 1} strings, and whether {len(missing)} are missing")


def split_scores(score: Array, target: Array) -> tuple[Array, Array]:
    """The scores (n,) of targets, where `target` (n,) is true, and of the others, each in any order."""
    target = target.view(np.uint8) != 0  # a mask of our own: NumPy trusts that nobody changes it meanwhile
    return score[target], score[~target]


def pool_violators(target: Array, other: Array) -> tuple[Array, Array]:
    """How many targets and others, two sorted lists of scores, each step has from the lowest score to the highest, such
    that the share of targets rises from step to step; equal scores stay together."""
    from scipy.optimize import isotonic_regression

    scores, step = np.unique(np.concatenate([target, other]), return_inverse=True)
    targets = np.bincount(step[: len(target)], minlength=len(scores))
    others = np.bincount(step[len(target) :], minlength=len(scores))
    both = targets + others
    pooled = isotonic_regression(targets / both, weights=both)
    starts = pooled.blocks[:-1]
    return np.add.reduceat(targets, starts).astype(np.float64), np.add.reduceat(others, starts).astype(np.float64)
