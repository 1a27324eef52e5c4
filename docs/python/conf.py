"""Sphinx configuration of the Python package's site."""

import wafer

project = "wafer"
author = "the wafer authors"
version = release = wafer.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["colon_fence", "deflist"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
html_theme = "alabaster"
html_theme_options = {"description": "FDP and write amplification, in Python", "page_width": "1100px"}
exclude_patterns = []
