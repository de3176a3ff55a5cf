"""Some of the training images, and random views of each."""

from __future__ import annotations

import torch

from pseudoshot.data import ImageSet
from pseudoshot.report.markup import image, section
from pseudoshot.report.pictures import Painter
from pseudoshot.tools.distinct import sample_distinct
from pseudoshot.views import ViewSettings, get_policy
from pseudoshot.views.draw import draw_views

_IMAGES, _VIEWS, _SEED = 6, 6, 0


def samples_section(images: ImageSet, views: ViewSettings) -> str:
    """Rows of an image and its views, drawn with a fixed seed."""
    if len(images) == 0:
        return ""
    generator = torch.Generator().manual_seed(_SEED)
    count = min(_IMAGES, len(images))
    rows = sample_distinct(torch.tensor(len(images)), count, generator)
    policy = get_policy(views)
    drawn = draw_views(images, rows[:, None].expand(-1, _VIEWS), policy, generator)
    copies = (255 * drawn).round().byte().permute(0, 1, 3, 4, 2).numpy()  # (C, V, h, w, c)

    painter = Painter.of(images, views)
    strips = []
    for row, its_views in zip(rows.tolist(), copies, strict=True):
        original = image(painter.png(images.images[row]), "a training image", "original")
        shown = [image(painter.png(view), "a random view of it") for view in its_views]
        strips.append(f'<div class="strip">{original}{"".join(shown)}</div>')
    lead = (
        f"{count} of the {len(images):,} training images, drawn at random: each framed image is "
        f"followed by random altered copies of it, its <em>views</em>. No label was used: the "
        f"network learned which views come from the same image.{painter.remark}"
    )
    body = "\n".join(strips)
    return section("What it learned from", lead, painter.frame(body, "strips"))
