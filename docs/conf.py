"""Configuration of Sphinx."""

from suffice import __version__

project = "suffice"
author = "the suffice developers"
release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
]
autodoc_default_options = {
    "members": True,
    # Methods that scikit-learn adds to every estimator.
    "exclude-members": "get_metadata_routing, set_output, "
    + ", ".join(
        f"set_{method}_request"
        for method in ("fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "score")
    ),
}
numpydoc_show_class_members = False
autodoc_typehints = "none"
html_theme = "furo"
html_title = "suffice"
plot_include_source = True  # the build draws the figures of docs/plots.md
plot_html_show_formats = plot_html_show_source_link = False
plot_formats = [("png", 100)]
exclude_patterns = ["_build"]
myst_heading_anchors = 2
