"""Configuration of the documentation site: `make site` builds it, docs/documentation.md describes it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]

project = "cwndlab"
author = "the authors of cwndlab"
copyright = author
html_title = "cwndlab"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "site_pages",  # tools/site_pages.py
]
root_doc = "index"
# An `index.md` includes the README.md beside it, which code hosts show for a folder.
exclude_patterns = ["**/README.md", "README.md"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

napoleon_numpy_docstring = True
napoleon_google_docstring = False
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
autodoc_member_order = "bysource"
default_role = "py:obj"
add_module_names = False
suppress_warnings = ["ref.python"]  # a name of the package and of its module: one refers to the other

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # its text would be fetched, which browsers refuse for pages on a disk
html_extra_path = ["../build/reproductions"] if (ROOT / "build" / "reproductions").is_dir() else []
