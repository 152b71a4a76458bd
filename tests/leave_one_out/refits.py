"""What leaving one out must equal: n models, each fitted without one row."""

import warnings

import numpy as np
from sklearn.base import clone

from suffice.errors import SufficeWarning


def refitted(clf, X, y, weight=None, call="log_likelihood"):
    """What models say of a row that are fitted to all others."""
    out, rows = [], X.iloc if hasattr(X, "iloc") else X
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        model, w = clone(clf), None if weight is None else weight[keep]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SufficeWarning)
            model.partial_fit(rows[keep], y[keep], classes=np.unique(y), sample_weight=w)
            out.append(getattr(model, call)(rows[[i]])[0])
    return np.array(out)


def assert_it_equals_n_fits(clf, X, y, weight=None):
    expected = refitted(clf, X, y, weight)
    np.testing.assert_allclose(clf.leave_one_out(X, y, weight), expected, rtol=1e-8, atol=1e-8)
