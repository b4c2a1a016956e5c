"""The documentation as a site: ``sphinx-build -n -W docs OUT``. ``site_pages`` writes the reference and the results."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "resaudit"
author = "The resaudit founders"
release = version_of("resaudit")

extensions = ["myst_parser", "sphinx_click", "site_pages"]
exclude_patterns = ["_ext"]
myst_heading_anchors = 3
# The build checks every link inside the site; `sphinx-build -b linkcheck docs OUT` those that need a network.

smartquotes = False  # texts of claims and options stay as they are

html_theme = "furo"
html_title = "resaudit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
