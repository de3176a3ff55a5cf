"""How long views take, beside Pillow one image at a time and, where it is installed, kornia.

    python benchmarks/views.py [--rounds 15] [--threads 2]

The sides take turns within a round, so that a change of the machine's load meets them all. Printed
are medians over the rounds; a ratio is the median of the rounds' ratios with their quartiles.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from PIL import Image, ImageEnhance
from torch import Tensor

from pseudoshot.views import POLICIES
from pseudoshot.views.layout import as_planes
from pseudoshot.views.operations import apply_operations
from pseudoshot.views.randaug import RandAug

CLASSES, VIEWS = 64, 6
Side = Callable[[Tensor], object]


def pillow_amdim(images: Tensor) -> Tensor:
    """The amdim policy as a data loader would apply it."""
    views = []
    for views_of_class in images.numpy():
        mirrored = random.random() < 0.5
        views += [pillow_view(Image.fromarray(image), mirrored) for image in views_of_class]
    return torch.from_numpy(np.stack(views)).permute(0, 3, 1, 2).float() / 255


def pillow_view(image: Image.Image, mirrored: bool) -> np.ndarray:
    if mirrored:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    image = image.resize(image.size, Image.Resampling.BICUBIC, box=random_box(*image.size))
    if random.random() < 0.8:
        image = shift(image, random.randint(-4, 4), random.randint(-4, 4))
    if random.random() < 0.8:
        changes = [ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, turn_hue]
        for change in random.sample(changes, 4):
            if change is turn_hue:
                image = turn_hue(image, random.uniform(-0.2, 0.2))
            else:
                image = change(image).enhance(random.uniform(0.6, 1.4))
    if random.random() < 0.25:
        image = image.convert("L").convert("RGB")
    return np.asarray(image)


def random_box(w: int, h: int) -> tuple[int, int, int, int]:
    for _ in range(10):
        area = w * h * random.uniform(0.08, 1)
        aspect = np.exp(random.uniform(np.log(3 / 4), np.log(4 / 3)))
        width, height = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
        if 0 < width <= w and 0 < height <= h:
            left, top = random.randint(0, w - width), random.randint(0, h - height)
            return left, top, left + width, top + height
    return 0, 0, w, h


def shift(image: Image.Image, right: int, down: int) -> Image.Image:
    padded = np.pad(np.asarray(image), ((4, 4), (4, 4), (0, 0)), mode="reflect")
    left, top = 4 - right, 4 - down
    return Image.fromarray(padded[top : top + image.height, left : left + image.width])


def turn_hue(image: Image.Image, turn: float) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    hue = hue.point(lambda level: (level + round(turn * 255)) % 256)
    return Image.merge("HSV", (hue, saturation, value)).convert("RGB")


def kornia_amdim(size: int) -> Side:
    """Crop, mirror, jitter and grayscale of amdim; kornia has no shift by reflected pixels."""
    import kornia.augmentation as K

    augment = torch.nn.Sequential(
        K.RandomHorizontalFlip(p=0.5),
        K.RandomResizedCrop((size, size), scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)),
        K.ColorJitter(0.4, 0.4, 0.4, 0.2, p=0.8),
        K.RandomGrayscale(p=0.25),
    )
    return lambda images: augment(as_planes(images))


def kornia_randaugment() -> Side:
    from kornia.augmentation.auto import RandAugment

    augment = RandAugment(n=2, m=10)
    return lambda images: augment(as_planes(images))


def randaugment(images: Tensor, generator: torch.Generator) -> Tensor:
    planes = as_planes(images)
    for _ in range(RandAug().operations):
        planes = apply_operations(planes, *RandAug().draw(len(planes), generator))
    return planes


def compare(sides: dict[str, Side], images: Tensor, rounds: int) -> None:
    """Time the sides in turn; ratios are to the first, which is ours."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for round_ in range(rounds + 1):
        for name, side in sides.items():
            start = time.perf_counter()
            side(images)
            if round_ > 0:  # the first warms up
                times[name].append(time.perf_counter() - start)
    ours = next(iter(times.values()))
    for name, taken in times.items():
        ratios = [theirs / our for theirs, our in zip(taken, ours, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        line = f"  {name:24} {1000 * statistics.median(taken):8.1f} ms"
        print(line if taken is ours else f"{line}   {middle:6.1f} x ({low:.1f} to {high:.1f})")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    settings = parser.parse_args()
    rounds = settings.rounds
    torch.set_num_threads(settings.threads)
    kornia = importlib.util.find_spec("kornia") is not None
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    random.seed(0)
    for size in (32, 84):
        shape = (CLASSES, VIEWS, size, size, 3)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        print(f"{CLASSES * VIEWS} views of {size} px, {torch.get_num_threads()} threads")
        for name, policy in ((n, p()) for n, p in POLICIES.items()):
            compare({name: lambda x, policy=policy: policy(x, generator)}, images, rounds)

        print(" amdim beside others")
        sides: dict[str, Side] = {
            "pseudoshot": lambda x: POLICIES["amdim"]()(x, generator),
            "Pillow": pillow_amdim,
        }
        if kornia:
            sides["kornia (no shift)"] = kornia_amdim(size)
        compare(sides, images, rounds)

        if kornia:
            print(" two operations of RandAugment, nothing else")
            ours = {"pseudoshot": lambda x: randaugment(x, generator)}
            compare({**ours, "kornia": kornia_randaugment()}, images, rounds)


if __name__ == "__main__":
    main()
