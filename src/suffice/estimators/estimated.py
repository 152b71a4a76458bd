"""An estimator that keeps a statistic, and estimates its model from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .. import modelfile
from ..errors import FamilyError, ModelFileError
from ..learning import merged
from ..recipe import Recipe
from ..scoring.calibrated import Calibration
from ..scoring.choice import Choice
from ..scoring.columns import Columns
from ..scoring.notes import ColumnNotes
from ..sources import Source
from ..stats import Statistics
from ..stats.bundle import Collector
from ..tables.readers import library
from ..tables.tokens import Tokens
from .table_estimator import TableEstimator

CHOSEN = ("choice", "calibration", "target", "column_notes")  # attributes, with an underscore, that a Model has too


class Estimated(TableEstimator):
    """An estimator whose data enter through a statistic alone."""

    _recipe: ClassVar[Recipe]  # what is collected, and what is estimated from it
    _notes: ClassVar[tuple[str, ...]] = ()  # attributes that a file keeps: numbers, arrays, and dictionaries of them
    _library: str | None = None  # of the table that was learnt from, which tables of results are in
    statistics_: Statistics
    choice_: Choice  # of models that `suffice.fit` has chosen
    calibration_: Calibration  # of models that it has calibrated
    column_notes_: ColumnNotes  # of models that know the families of their columns

    # What depends on the parameters and the rows: these hooks compute and return; they store nothing.

    def _params(self) -> dict[str, Any]:
        """The parameters that the recipe takes."""
        return {name: getattr(self, name) for name in self._recipe.defaults}

    def _validate(self) -> dict[str, Any]:
        """The parameters that an estimate depends on, or an error where they make no sense."""
        return self._recipe.chosen(self._params())

    def _settled(self) -> dict[str, Any]:
        """The same, with what was chosen by the rows."""
        return self._validate()

    def _infer(self, source: Source, more: bool = False) -> Any:  # noqa: ARG002
        """What the parameters leave to the rows of a source, of which more may come."""
        return None

    def _reconsidered(self, inferred: Any, error: FamilyError) -> Any:  # noqa: ARG002
        """What is inferred after rows did not fit what was; or the error, where nothing was."""
        raise error

    def _collector(self, inferred: Any) -> Collector:  # noqa: ARG002
        """The function from a batch to a statistic."""
        return self._recipe.collector(self._validate())

    # Learning.

    def _learn(self, statistics: Any, source: Source | None = None, inferred: Any = None) -> Self:  # noqa: ARG002
        """Keep a statistic; `source` has its rows, where all of them are at hand, and `inferred` is what `_infer` saw
        in them."""
        if source is not None:
            self._set_columns(source.names, source.n_features)
            self._library = library(source.frame)
        elif not hasattr(self, "statistics_") or statistics.n_features != self.n_features_in_:
            self._set_columns(statistics.names, statistics.n_features)
        for name in ("choice_", "calibration_"):  # which were made by other rows
            self.__dict__.pop(name, None)
        self.statistics_ = statistics
        return self

    def _estimated(self) -> Self:
        """Estimate the model now rather than at the first use, and return self."""
        self._estimate()
        return self

    def _keep_calibration(self, before: Estimated) -> None:
        """Keep the calibration that a model had before it learnt or forgot some rows."""
        calibration: Calibration | None = getattr(before, "calibration_", None)
        if calibration is not None:
            self.calibration_ = calibration.after_changes(before._fitted().classes, self._fitted().classes)

    def _merged(self, other: Self) -> Self:
        """A model of the rows of both, with the settings of this one."""
        mine, theirs = (self._fitted(), self._names()), (other._fitted(), other._names())
        statistics, names = merged(*mine, *theirs, self._recipe.merges_columns)
        both: Self = clone(self)
        both._learn(statistics)
        both._set_columns(names, statistics.n_features)
        both._library = self._library
        both._keep_calibration(self)
        both._set_target(getattr(self, "target_", getattr(other, "target_", None)))
        if hasattr(self, "column_notes_"):
            both.column_notes_ = self.column_notes_
        return both

    # What was learnt.

    def _estimate(self) -> Any:
        """What is estimated from `statistics_`, kept until these or the parameters change."""
        statistics, choices = self._fitted(), self._settled()
        known: tuple[Statistics, Any, Any] | None = self.__dict__.get("_estimate_of")
        # Another thread may have learnt more in the meantime, or the user chosen something else.
        if known is None or known[0] is not statistics or known[1] != choices:
            adopted = self._recipe.adopted(statistics, choices)
            known = statistics, choices, self._recipe.estimate(adopted, choices, self._names())
            self.__dict__["_estimate_of"] = known
        return known[2]

    def _inferred(self) -> Any:
        """What `_infer` saw in the rows that were learnt."""
        return None

    # Files.

    def save(self, path: Any) -> None:
        """Write the model, statistics and all, to a file that `suffice.load` and `suffice.load_model` read.

        Parameters
        ----------
        path : path
            The file to write. It is replaced as a whole, or left as it was.

        Examples
        --------
        >>> from suffice import GaussianClassifier, load
        >>> clf = GaussianClassifier().fit([[1.0], [2.0], [4.0], [5.0]], ["a", "a", "b", "b"])
        >>> clf.save("letters.safetensors")
        >>> load("letters.safetensors").partial_fit([[6.0]], ["b"]).statistics_.weight
        array([2., 3.])
        """
        held = type(self).__name__, self._saved_params(), self._names(), self._learnt()
        notes = {name: getattr(self, name) for name in self._notes if hasattr(self, name)}
        modelfile.write(path, modelfile.ModelFile(*held, notes=notes or None, **chosen_to_header(self)))

    def _learnt(self) -> modelfile.Learnt:
        """What a file holds, or an error where it could not be loaded again."""
        statistics, choices = self._fitted(), self._validate()
        self._recipe.check_fit(self._recipe.adopted(statistics, choices), choices, self._names())
        return statistics

    def _saved_params(self) -> dict[str, Any]:
        """The parameters as a file can hold them."""
        params = self.get_params(deep=False)
        return {name: value.to_dict() if isinstance(value, Tokens) else value for name, value in params.items()}

    @classmethod
    def _from_file(cls, model: modelfile.ModelFile) -> Self:
        tokens = model.params.get("tokens")
        loaded = cls(**model.params if tokens is None else model.params | {"tokens": Tokens.of(tokens)})
        loaded._resume(model.learnt, loaded._validate())
        loaded._set_columns(model.names, model.learnt.n_features)
        loaded._learnt()  # what could not be saved again is no model
        set_chosen(loaded, model)
        for name in loaded._notes:
            if model.notes and name in model.notes:
                setattr(loaded, name, _with_arrays(model.notes[name]))
        return loaded

    def _resume(self, learnt: modelfile.Learnt, choices: dict[str, Any]) -> Self:
        """Take up what a file holds."""
        if not isinstance(learnt, Statistics):
            raise ModelFileError(f"a {type(self).__name__} cannot be made from a {type(learnt).__name__}")
        adopted = self._recipe.adopted(learnt, choices)
        if not adopted.is_finite():  # sums of what is finite may not be
            raise ModelFileError(f"the statistics of this {type(self).__name__} are too large")
        return self._learn(adopted)

    # Plumbing.

    def _columns(self) -> Columns:
        statistics = self._fitted()
        return replace(super()._columns(), kinds=statistics.category_kinds(), classes=statistics.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def _fitted(self) -> Statistics:
        self._check_fitted()
        return self.statistics_


def chosen_to_header(estimator: Any) -> dict[str, Any]:
    """Return how an estimator was chosen and calibrated, and from which labels it learnt, as a model file holds it."""
    found = {name: getattr(estimator, f"{name}_", None) for name in ("choice", "calibration", "column_notes")}
    header = {name: None if value is None else value.to_header() for name, value in found.items()}
    return header | {"target": getattr(estimator, "target_", None)}


def set_chosen(estimator: Any, model: modelfile.ModelFile) -> None:
    """Tell a loaded estimator how it was chosen and calibrated, and from which labels it learnt."""
    if model.choice is not None:
        estimator.choice_ = Choice.from_header(model.choice)
    if model.calibration is not None:
        k, d = len(model.learnt.classes), model.learnt.n_features
        estimator.calibration_ = Calibration.from_header(model.calibration, k, d)
    if model.target is not None:
        estimator.target_ = model.target
    if model.column_notes is not None:
        estimator.column_notes_ = ColumnNotes.from_header(model.column_notes)


def _with_arrays(value: Any) -> Any:
    """A value of a file, where arrays are lists."""
    if isinstance(value, dict):
        return {key: _with_arrays(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    array = np.array(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{value} are not numbers")
    return array
