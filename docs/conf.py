"""How the documentation is built."""

from suffice import __version__

project = "suffice"
author = "the suffice developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
autodoc_default_options = {"members": True, "inherited-members": False}
numpydoc_show_class_members = False
autodoc_typehints = "none"
html_theme = "furo"
html_title = "suffice"
exclude_patterns = ["_build"]
