"""What the words of a report mean; docs/glossary.md has the same sentences."""

from __future__ import annotations

from .markup import Markup, tag

WORDS = {
    "calibration": "Scores are calibrated if they can be taken at face value: of the rows with a posterior of 80%, 80% "
    "belong to the class. Calibration corrects scores that are too certain or not certain enough.",
    "Cllr": "The cost of log-likelihood ratios, averaged over all priors and costs, in bits. 0 is perfect, 1 is no "
    "better than not looking at the data, and more than 1 is misleading.",
    "confusion matrix": "How many rows of each true class were given each decision.",
    "cost": "What a wrong decision costs you, in any unit. Only ratios of costs matter for the decision.",
    "DCF": "The detection cost function, or normalised cost: the expected cost of the decisions with your prior and "
    "costs, divided by that of the best decision without data. 0 is perfect, 1 is useless.",
    "EER": "The equal error rate: the error rate at the threshold where the share of misses equals the share of "
    "false alarms.",
    "evidence": "The share of a column in the log-likelihood ratio of a row. The shares of all columns add up to it.",
    "family": "The kind of distribution that a column has for the model, such as gaussian, categorical or poisson.",
    "llr": "The log-likelihood ratio of class b over class a: the logarithm of how many times more probable the row is "
    "in b than in a. Positive values speak for b. With two classes, b is the second one. It contains no prior.",
    "log loss": "The mean of -log P(true class), in nats. It is 0 for a model that is always certain and right, and "
    "punishes a model that is certain and wrong.",
    "minimum Cllr": "Cllr after the best possible calibration. The difference between Cllr and this is due to bad "
    "calibration.",
    "nats": "The unit of natural logarithms. One nat is a factor of 2.718, or 1.44 bits.",
    "posterior": "The probability of a class given the row: the prior and the log-likelihood ratios together.",
    "prior": "How frequent each class is where the model is used, before the row is looked at. It may differ from the "
    "training data.",
    "recall": "The share of the rows of a class that are classified correctly. The precision of a decision is the "
    "share of its rows that are classified correctly.",
    "threshold": "With two classes, the llr above which the second class is decided. It follows from prior and costs.",
    "typicality": "The share of a class that is no more likely than the row. Below 1% under every class, a row is an "
    "outlier.",
}


def word(name: str, shown: str) -> Markup:
    """Return a link to what a word means."""
    return tag("a", shown, href=f"#word-{_key(name)}", class_="word")


def glossary() -> Markup:
    """Return all words with their meanings."""
    lines = [[tag("dt", name, id=f"word-{_key(name)}"), tag("dd", meaning)] for name, meaning in WORDS.items()]
    return tag("dl", lines, class_="glossary")


def _key(name: str) -> str:
    assert name in WORDS, name
    return name.lower().replace(" ", "-")
