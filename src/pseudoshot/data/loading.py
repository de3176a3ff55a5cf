"""`load`: from what a person writes, a folder or a name, to an ImageSet."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from pseudoshot.data import folder
from pseudoshot.data.image_set import ImageSet
from pseudoshot.data.rotations import add_rotations
from pseudoshot.data.source import Source, data_roots
from pseudoshot.data.sources import SOURCES
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.registry import nearest

MOST_PIXELS_A_SIDE = 2048


def load(
    data: str | Path,
    *,
    split: str | None = None,
    root: Path | None = None,
    size: int | None = None,
    rotations: bool = False,
    labelled: bool = False,
) -> ImageSet:
    """The images that `data` stands for: a folder, or a name of SOURCES such as "cifar-fs:test".

    A split behind the name wins over `split`; without either it is "train". A folder has no splits
    and ignores `split`. A folder called like a named set is reached as "./glyphs". With `labelled`
    images beside class folders are left out; without, they leave all images without a label.

    >>> load("glyphs:test")
    ImageSet('glyphs:test': 1452 images of 28x28x1, 121 classes)
    """
    data = str(data)
    if size is not None and not 1 <= size <= MOST_PIXELS_A_SIDE:
        raise PseudoshotError(
            f"the image size must be at least 1 pixel and at most {MOST_PIXELS_A_SIDE}, not {size}"
        )
    name, suffix = parse(data, SOURCES)
    source = SOURCES.get(name)
    if rotations and not (source and source.rotations):
        turnable = ", ".join(source.name for source in SOURCES.values() if source.rotations)
        raise PseudoshotError(f"rotations as extra classes are for {turnable}, not for '{data}'")
    if source is None:
        return folder.load_folder(_existing(data), size or folder.DEFAULT_SIZE, labelled=labelled)
    image_set = _load_named(source, suffix if suffix is not None else split or "train", root, size)
    return add_rotations(image_set) if rotations else image_set


def is_named(data: str) -> bool:
    """Whether `data` is the name of a set, and not a folder.

    >>> is_named("cifar-fs:val"), is_named("holiday/photos")
    (True, False)
    """
    return parse(data, SOURCES)[0] in SOURCES


def default_views(data: str) -> str:
    """The view policy that suits `data`: "strokes" or "typefaces" for characters, else "amdim".

    >>> default_views("glyphs:train"), default_views("holiday/photos")
    ('typefaces', 'amdim')
    """
    source = SOURCES.get(parse(data, SOURCES)[0])
    return source.views if source else Source.views


def default_query(data: str) -> int:
    """Queries a class in an evaluation's tasks: the field's 15 unless the set has too few images.

    >>> default_query("cifar-fs"), default_query("glyphs")
    (15, 7)
    """
    source = SOURCES.get(parse(data, SOURCES)[0])
    return source.query if source else Source.query


def evaluation_set(data: str) -> str:
    """What to evaluate on after training on `data`: the same set's test split, or a folder.

    >>> evaluation_set("cifar-fs:train"), evaluation_set("holiday/photos")
    ('cifar-fs', 'FOLDER_WITH_A_SUBFOLDER_PER_CLASS')
    """
    return parse(data, SOURCES)[0] if is_named(data) else "FOLDER_WITH_A_SUBFOLDER_PER_CLASS"


def full_name(data: str) -> str:
    """`data` as it can be found from anywhere: a folder by its absolute path."""
    found = data and not is_named(data) and _exists(Path(data))
    return str(Path(data).resolve()) if found else data


def parse(data: str, names: Container[str]) -> tuple[str, str | None]:
    """The name or folder in `data`, and the split behind it if the name is one of `names`.

    >>> parse("cub:test", {"cub"}), parse("cub", {"cub"}), parse("C:/birds:test", {"cub"})
    (('cub', 'test'), ('cub', None), ('C:/birds:test', None))
    """
    base, colon, split = data.partition(":")
    return (base, split) if colon and base in names else (data, None)


def images_of_folder(
    place: Path, size: int, *, labelled: bool = False, stay_inside: bool = False
) -> ImageSet:
    """A folder's images and nothing else: what is called like a named set is a folder here."""
    place = expanded(place)
    if not place.is_dir():
        raise PseudoshotError(f"'{place}' is not a folder: give a folder of images")
    return folder.load_folder(place, size, labelled=labelled, stay_inside=stay_inside)


def _load_named(source: Source, split: str, root: Path | None, size: int | None) -> ImageSet:
    if split not in source.splits:
        near = nearest(split, source.splits)
        raise PseudoshotError(
            f"'{source.name}' has no split '{split}': its splits are {', '.join(source.splits)}"
            + (f"; did you mean '{near}'?" if near else "")
        )
    roots = data_roots(root)
    place = source.locate(roots)
    if place is None:
        raise source.missing(roots)
    return source.load(place, split, size or source.default_size)


def _existing(data: str) -> Path:
    path = expanded(data)
    if data and _exists(path):
        return path
    base = data.rpartition(":")[0]
    if base and _exists(expanded(base)):
        raise PseudoshotError(f"'{data}': a folder has no splits; give '{base}' itself")
    near = nearest(data.partition(":")[0], SOURCES)
    raise PseudoshotError(
        f"'{data}' is neither a folder nor a known set: "
        f"give a folder of images or one of {', '.join(SOURCES)}"
        + (f"; did you mean '{near}'?" if near else "")
    )


def expanded(data: str | Path) -> Path:
    """~ stands for the home folder, where the user it names has one."""
    try:
        return Path(data).expanduser()
    except RuntimeError:
        return Path(data)


def _exists(path: Path) -> bool:
    """False also for what could never be a path: too long, or with a zero byte in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
