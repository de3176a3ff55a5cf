"""A map of the classes a run was trained on and of new ones, for its report."""

from __future__ import annotations

from pathlib import Path

from pseudoshot.data import ImageSet, is_named
from pseudoshot.data import load as load_data
from pseudoshot.embedders import Embedder
from pseudoshot.report import write_report
from pseudoshot.report.embedding_map import choose, map_section, map_svg
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.files import write_text
from pseudoshot.training.run_folder import RunFolder

MAP = "t-sne.svg"  # in a run's folder `report`


def draw_map(
    folder: RunFolder, embedder: Embedder, novel: ImageSet, seed: int, data_root: Path | None
) -> None:
    """Leave the map in the folder `report` of a run, from which its page takes it."""
    if not folder.started:
        raise PseudoshotError(
            f"--tsne shows classes that a run was trained on, and '{folder.path}' is no run folder"
        )
    name = folder.read_settings().data.name
    size = embedder.card.size
    base = load_data(name, split="train", root=data_root, size=size, labelled=True)
    if not is_named(name):
        base.class_counts()  # refuses a folder without classes
    places = [choose(images, seed) for images in (base, novel)]
    embedded = [
        embedder.embed(images.take(place.rows), bar=False)
        for images, place in zip((base, novel), places, strict=True)
    ]
    svg = map_svg(embedded[0], places[0].classes, embedded[1], places[1].classes, seed)
    fragments = folder.path / "report"
    if not fragments.is_dir():
        write_report(folder)  # which makes it, and keeps the page of an earlier version
    write_text(fragments / MAP, svg.decode())
    write_text(fragments / "t-sne.html", map_section(svg, base.name, novel.name))
