"""`make options`: write the typed options anew, and print the page of all settings."""

from pathlib import Path

from pseudoshot.settings.describe import markdown
from pseudoshot.settings.options import typed_options

Path(__file__).with_name("train_options.py").write_text(typed_options(), encoding="utf-8")
print(markdown(), end="")
