"""Configuration of the documentation site: `make site` builds it with Sphinx.

The Python reference is read from the installed `wafer` package.
"""

import re

from sphinx.ext.napoleon import GoogleDocstring

import wafer

project = "wafer"
author = copyright = "the wafer authors"
version = release = wafer.__version__

extensions = [
    # Markdown, and the notebooks as written by `make notebooks`.
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]

# Generated tables and texts that other pages include.
exclude_patterns = ["studies/calibration-blind.md", "studies/calibration-results.md", "**/*.inc.md"]

nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
# The docstring of a property is a sentence; the part before its first colon is not a type.
GoogleDocstring._parse_attribute_docstring = lambda self: self._consume_to_end()

# Every reference to this project must resolve; those to other projects would need their inventories.
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(abc|collections|numpy|os|pathlib|polars|matplotlib|typing)\..*"),
    ("py:class", r"Axes|Figure|DataFrame|Path|The result|pandas\..*|xarray\..*|np\..*|npt\..*|list\[dict\[str"),
    # Internal types in signatures, and short names that do not resolve from the public module.
    ("py:class", r"wafer\._wafer\.Workload|wafer\.calibration\.scaling\..*|Settings|DeviceKeys"),
    # Protocols of the arguments of figures.
    ("py:class", r"wafer\._protocols\..*"),
    ("py:class", r"Fitted|Grid|Interval|Measured|PartOfRun|Point|Run|Volumes"),
    ("py:func", r"run|experiment"),
]

# The copy button omits the prompt and the output of `console` blocks.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = f"wafer {release}"
html_static_path = ["static"]
# The pages that docs/explore embeds; `make site` writes them first.
html_extra_path = ["../target/explore"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/wafer-lab/wafer/",
    "source_branch": "main",
    "source_directory": "docs/",
}


def overviews(app, docname, source):
    """Inserts a table of names and summaries before the objects of each section of the Python reference."""
    if docname == "reference/python":
        source[0] = re.sub(r"(?<=```{eval-rst}\n)(?:\.\. auto\w+:: .*\n)+", overview, source[0])


def overview(directives):
    names = re.findall(r":: (\S+)", directives[0])
    return ".. autosummary::\n\n" + "".join(f"   {name}\n" for name in names) + "\n" + directives[0]


def setup(app):
    app.connect("source-read", overviews)
