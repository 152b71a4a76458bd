"""The table of an automatic choice goes into model files and comes back."""

import json
from dataclasses import replace

import pytest

from suffice.scoring.choice import Choice, HeldOutResult

CHOICE = Choice(
    (HeldOutResult("a", 0.1, 0.02), HeldOutResult("b", 0.3, 0.05)), HeldOutResult("class frequencies", 1.1, 0.6), 5, {}
)


def test_a_header_gives_the_table_back():
    for choice in (CHOICE, replace(CHOICE, ended_by="time_limit", fitted_rows=5000)):
        assert Choice.from_header(json.loads(json.dumps(choice.to_header()))) == choice
    for other in ({"ended_by": "luck"}, {"fitted_rows": "some"}):
        with pytest.raises(ValueError, match="not told as they should be"):
            Choice.from_header(CHOICE.to_header() | other)


def test_files_of_0_1_call_the_log_loss_a_log_cost():
    header = CHOICE.to_header()
    for each in (*header["candidates"], header["baseline"]):
        each["log_cost"] = each.pop("log_loss")
    assert Choice.from_header(header) == CHOICE


def test_a_model_that_was_given_up_is_not_worse_by_less_than_nothing():
    """It was worse than the best one so far, on folds on which the model that is chosen now is worse still."""
    second = HeldOutResult("b", 0.0996, 0.05, worse=-0.0004, uncertainty=0.0003, folds=2)
    said = replace(CHOICE, candidates=(CHOICE.candidates[0], second), n_rows=99).summary
    assert "-0.0004" not in said
    assert "The next best, b, was given up after 2 of 5 folds, on which another model was clearly better; it is" in said
    assert "better there than the chosen model by 0.0004 (95% interval -0.00019 to 0.00099)." in said
