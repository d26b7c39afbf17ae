"""The site of these pages: `sphinx-build -W -b html docs build/site`, where a dead link is an error."""

project = "toll"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["ci", "pictures"]
myst_heading_anchors = 4  # as GitHub makes them, where the same pages are read
html_theme = "furo"  # asks for nothing from anywhere; light and dark, wide and narrow
html_title = "toll"
html_show_sourcelink = False
html_copy_source = False
