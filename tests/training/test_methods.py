"""One suite over every method."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.runs import train
from pseudoshot.settings.run import resolve_settings
from pseudoshot.training import loop, trainer
from tests.core.reference import slow_loss

CLASSES = 7
# images, way, shot, query
SHAPES = [(4, None, 1, 2), (5, 3, 1, 1), (4, 2, 2, 1)]


def build(name: str, **settings: object) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    return method(build_backbone("conv4", 1, 16), method.Settings(**settings), classes=CLASSES)


def episode(method: Method, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    C, V = method.settings.images, method.settings.views
    views = torch.rand(C, V, 1, 16, 16, generator=generator)
    return Batch(views, generator, torch.arange(C) % CLASSES)


@pytest.mark.parametrize(("name", "shape"), list(itertools.product(METHODS, SHAPES)))
def test_any_legal_episode_works_and_everything_learns(name, shape):
    images, way, shot, query = shape
    method = build(name, images=images, way=way, shot=shot, query=query, tasks=3)
    loss = method.loss(episode(method))
    loss.value.backward()
    assert loss.value.isfinite()
    assert loss.embeddings.shape == (images * (shot + query), method.backbone.dim)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in method.parameters())


@pytest.mark.parametrize("name", METHODS)
def test_the_generator_decides(name):
    method = build(name, images=6, way=3, tasks=2)
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(0)  # of dropout
        losses.append(method.loss(episode(method, seed)).value)
    first, same, other = losses
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


@pytest.fixture
def torch_threads():
    """Sets torch's threads; the test's end gives them back."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("shot", [1, 2])
@pytest.mark.parametrize("way", [None, 5])
@pytest.mark.parametrize("name", METHODS)
def test_the_same_bits_on_any_fixed_number_of_threads(name, way, shot, torch_threads):
    # torch shares the gradient of a gather among threads from 32,768 numbers on, and threads must
    # work at the same time for long enough to get in each other's way
    transforms = "heads" in METHODS[name].Settings.model_fields
    size = {"tasks": 256, "heads": 1} if transforms else {"tasks": 2048 // shot}
    method = build(name, images=16, way=way, shot=shot, query=4, **size)
    for threads in (1, 2, 3):
        torch_threads(threads)
        first, again = (loss_and_gradients(method) for _ in range(2))
        assert all(map(torch.equal, first, again)), f"on {threads} threads"


def loss_and_gradients(method: Method) -> list[torch.Tensor]:
    torch.manual_seed(0)  # of dropout
    method.zero_grad()
    loss = method.loss(episode(method)).value
    loss.backward()
    return [loss.detach(), *(p.grad for p in method.parameters())]


@pytest.mark.parametrize("name", METHODS)
def test_the_state_survives_save_and_load(name):
    method, copy = (build(name, images=6, tasks=4) for _ in range(2))
    method.loss(episode(method)).value.backward()  # moves the running statistics
    with torch.no_grad():
        for parameter in method.parameters():
            parameter -= 0.01 * parameter.grad
    method.after_step()
    copy.load_state_dict(method.state_dict())
    pair = (m.eval().loss(episode(m)).value for m in (method, copy))
    assert torch.equal(*pair)


@pytest.mark.parametrize("name", ["baseline", "vanilla", "protonet", "finetune"])
def test_the_loss_is_that_of_the_equations(name):
    method = build(name, images=5, way=3, tasks=4).double()
    batch = episode(method)
    views = batch.views.double()
    loss = method.loss(Batch(views, torch.Generator().manual_seed(5)))
    tasks = method.settings.draw_tasks(5, torch.Generator().manual_seed(5))
    slow = slow_loss(loss.embeddings, tasks, method.settings.similarity, 1.0)
    torch.testing.assert_close(loss.value, slow)


def test_the_paper_defaults():
    baseline, vanilla = (METHODS[name].Settings() for name in ("baseline", "vanilla"))
    assert (baseline.tasks, baseline.similarity, baseline.resolved_temperature) == (512, "sns", 1)
    assert (vanilla.tasks, vanilla.similarity) == (1, "euclidean")
    assert METHODS["baseline"].Settings(similarity="cosine").resolved_temperature == 0.5
    assert baseline.views == 6


def photos(folder: Path) -> str:
    """Three classes of twenty pictures."""
    pixels = np.random.default_rng(0).integers(0, 256, (60, 16, 16, 3), dtype=np.uint8)
    for index, image in enumerate(pixels):
        place = folder / f"class{index % 3}" / f"{index}.png"
        place.parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(place)
    return str(folder)


@pytest.mark.parametrize("name", METHODS)
def test_a_resumed_run_equals_an_unbroken_one(name, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    data = photos(tmp_path / "data")
    settings = {"method": name, "size": 16, "images": 3, "query": 2, "tasks": 4, "way": 2}
    settings |= {"epochs": 2, "episodes_per_epoch": 3}
    train(data, tmp_path / "unbroken", **settings)

    monkeypatch.setattr(loop, "CHECKPOINT_EVERY", -1.0)
    draw, calls = trainer.draw_views, itertools.count()

    def cut(*args):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return draw(*args)

    with monkeypatch.context() as power_cut:
        power_cut.setattr(trainer, "draw_views", cut)
        with pytest.raises(KeyboardInterrupt):
            train(data, tmp_path / "broken", **settings)
    train(data, tmp_path / "broken", resume=True, **settings)

    for part in ("model", "head"):
        files = [tmp_path / run / f"{part}.safetensors" for run in ("unbroken", "broken")]
        assert files[0].exists() == files[1].exists()
        if files[0].exists():
            first, second = map(load_file, files)
            assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_is_explained(name):
    method = METHODS[name]
    assert method.described
    assert method.__doc__
    assert method.__doc__.splitlines()[0].endswith(".")
    assert all(info.description for info in method.Settings.model_fields.values())


def test_the_head_learns_at_its_own_rate():
    method = build("tsp-head", images=4, head_lr_scale=10)
    backbone, head = method.parameter_groups()
    assert (backbone["lr_scale"], head["lr_scale"]) == (1, 10)
    assert {id(p) for p in head["params"]} == {id(p) for p in method.head.parameters()}
    assert len(backbone["params"]) + len(head["params"]) == len(list(method.parameters()))


def test_recipes_scale_the_learning_rate_of_heads():
    for backbone, scale in (("conv4", 1), ("resnet12", 10)):
        settings = resolve_settings("glyphs", {"backbone": backbone, "method": "tsp-head"}, {})
        assert settings.episode["head_lr_scale"] == scale
