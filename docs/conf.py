"""How `make docs` builds the pages: Sphinx over the whole repository, so that its links hold here
as well; Markdown by MyST, the reference from the docstrings."""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

from pseudoshot._version import __version__

project, author, version = "pseudoshot", "the authors of pseudoshot", __version__
root_doc = "docs/index"
include_patterns = [
    *("docs/*.md", "docs/*.ipynb", "CONTRIBUTING.md", "results/*.md"),
    "src/pseudoshot/embedders/bundled/*/README.md",
]
exclude_patterns = [".*", "site", "runs", "build", "dist"]  # not even looked into
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_rtype = False
html_theme = "furo"
html_title = f"pseudoshot {__version__}"
html_copy_source = html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}


class NotebookParser(MystParser):  # type: ignore[misc]
    """A notebook as it was left: its words, its code, and what that printed or drew."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook: dict[str, Any]) -> str:
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"data:image/png;base64,{data['image/png']}"
                parts.append(f'```{{raw}} html\n<img src="{picture}" alt="drawn by the code">\n```')
            else:
                printed = "".join(output.get("text", data.get("text/plain", "")))
                parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def setup(app: Sphinx) -> None:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
