"""CUB-200-2011: photographs of birds, its species split 100/50/50 as in FEAT (Ye et al.)."""

from __future__ import annotations

from pseudoshot.data.class_folders import ClassFolderSource


class Cub(ClassFolderSource):
    name = "cub"
    places = ("CUB_200_2011",)
    layouts = ("images",)
    how_to_get = "CUB_200_2011.tgz from the Caltech-UCSD Birds page of Caltech, and unpack it"
