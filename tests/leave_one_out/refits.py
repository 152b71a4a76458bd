"""What leaving one out must equal: n models, each fitted without one row."""

import warnings

import numpy as np
from sklearn.base import clone

from suffice.errors import SufficeWarning


def refitted(clf, X, y, weight=None, call="log_likelihood", left_out=None):
    """What models say of a row that are fitted to all others, for each row or for some."""
    out, rows = [], X.iloc if hasattr(X, "iloc") else X
    for i in range(len(y)) if left_out is None else left_out:
        keep = np.arange(len(y)) != i
        model, w = clone(clf), None if weight is None else weight[keep]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SufficeWarning)
            model.partial_fit(rows[keep], y[keep], classes=np.unique(y), sample_weight=w)
            out.append(getattr(model, call)(rows[[i]])[0])
    return np.array(out)


def assert_it_equals_n_fits(clf, X, y, weight=None):
    """Of every third row, the first of each class and those without weight."""
    ignored = [] if weight is None else np.flatnonzero(np.asarray(weight) == 0)
    some = np.unique([*range(2, len(y), 3), *np.unique(y, return_index=True)[1], *ignored]).astype(int)
    expected = refitted(clf, X, y, weight, left_out=some)
    np.testing.assert_allclose(clf.leave_one_out(X, y, weight)[some], expected, rtol=1e-8, atol=1e-8)
