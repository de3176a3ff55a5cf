"""The studies as a table on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Column, Table

from pseudoshot.studies.study import Study


def print_studies(studies: Iterable[Study]) -> None:
    """One row each."""
    table = Table(Column("study", no_wrap=True), "what", "in the paper", "runs", "claims")
    for study in studies:
        counts = (str(len(study.runs)), str(len(study.claims)))
        table.add_row(study.name, study.title, study.where, *counts)
    output = Console(highlight=False)
    output.print(table, markup=False)
    output.print("Run one: pseudoshot study NAME --data SET --budget 20m --seeds 3 --out FOLDER")
