"""How the documentation is built."""

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
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
autodoc_typehints = "none"
html_theme = "furo"
html_title = "suffice"
plot_include_source = True  # figures of docs/plots.md are drawn when the documentation is built
plot_html_show_formats = plot_html_show_source_link = False
plot_formats = [("png", 100)]
exclude_patterns = ["_build"]
