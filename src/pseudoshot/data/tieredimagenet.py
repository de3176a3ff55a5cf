"""tieredImageNet (Ren et al.): ImageNet classes, split so that no category straddles two splits."""

from __future__ import annotations

from pseudoshot.data.class_folders import ClassFolderSource

PUBLISHED_IMAGES = {"train": 448_695, "val": 124_261, "test": 206_209}


class TieredImageNet(ClassFolderSource):
    name = "tieredimagenet"
    places = ("tieredimagenet", "tiered-imagenet", "tiered_imagenet")
    how_to_get = (
        "the ImageNet (ILSVRC 2012) training images from the ImageNet site, one folder per class "
        "named by its WordNet id (as n01530575), directly or below train, val and test"
    )

    def published_images(self, split: str) -> int | None:
        return PUBLISHED_IMAGES[split]
