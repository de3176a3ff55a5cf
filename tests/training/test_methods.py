"""One suite over every method, and over three toys of kinds that the package has none of."""

import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from pseudoshot.backbones import build_backbone
from pseudoshot.class_sources import CLASS_SOURCES
from pseudoshot.data import load as load_data
from pseudoshot.methods import METHODS, Batch, Method
from pseudoshot.methods.learner import CutSettings
from pseudoshot.runs import train
from pseudoshot.runs.training import images_of
from pseudoshot.settings.resolve import resolve
from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.training import loop, trainer
from tests import toys
from tests.core.reference import slow_loss

CLASSES = 7
TOYS = {"toy-queue": toys.Queue, "toy-second-order": toys.SecondOrder}
every_method = pytest.mark.parametrize("name", [*METHODS, *TOYS])
# images, way, shot, query
SHAPES = [(4, None, 1, 2), (5, 3, 1, 1), (4, 2, 2, 1)]


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    for name, toy in TOYS.items():
        monkeypatch.setitem(METHODS, name, toy)
    monkeypatch.setitem(CLASS_SOURCES, "toy-halves", toys.Halves)


def known(name: str, **settings: object) -> dict[str, object]:
    """Those of the settings that the method has; without tasks, K + Q counts views."""
    fields = METHODS[name].Settings.model_fields
    if "views_per_class" in fields and "query" in settings:
        settings["views_per_class"] = settings.get("shot", 1) + settings["query"]
    if issubclass(METHODS[name].Settings, CutSettings):  # an episode is made of whole tasks
        settings |= {"way": 2, "images": 4, "inner_steps": 2}
    if "set_size" in fields:  # or of whole sets
        settings |= {"set_size": 2, "images": 4, "samples": 2, "components": 2}
    return {key: value for key, value in settings.items() if key in fields}


def build(name: str, **settings: object) -> Method:
    torch.manual_seed(0)
    method = METHODS[name]
    chosen = method.Settings(**known(name, **settings))
    return method(build_backbone("conv4", 1, 16), chosen, classes=CLASSES)


def episode(method: Method, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    C, V = method.settings.images, method.settings.V
    views = torch.rand(C, V, 1, 16, 16, generator=generator)
    return Batch(views, generator, torch.arange(C) % CLASSES)


def loss_of(method: Method, batch: Batch):
    """As the trainer asks for it."""
    with trainer.gradients_of(method):
        return method.loss(batch)


@every_method
@pytest.mark.parametrize("shape", SHAPES)
def test_any_legal_episode_works_and_everything_learns(name, shape):
    images, way, shot, query = shape
    method = build(name, images=images, way=way, shot=shot, query=query, tasks=3)
    loss = loss_of(method, episode(method))
    loss.value.backward()
    assert loss.value.isfinite()
    if loss.embeddings is not None:
        assert loss.embeddings.shape == (len(episode(method).views) * method.settings.V, 64)
    trained = [p for p in method.parameters() if p.requires_grad]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in trained)
    in_groups = {id(p) for group in method.parameter_groups() for p in group["params"]}
    assert in_groups == {id(p) for p in trained}, "what is not trained is not given to an optimiser"


@every_method
def test_the_generator_decides(name):
    method = build(name, images=6, way=3, tasks=2)
    losses = []
    for seed in (0, 0, 1):
        torch.manual_seed(0)  # of dropout
        losses.append(loss_of(method, episode(method, seed)).value)
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
@every_method
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
    loss = loss_of(method, episode(method)).value
    loss.backward()
    return [loss.detach(), *(p.grad for p in method.parameters() if p.requires_grad)]


@every_method
def test_the_state_survives_save_and_load(name):
    method, copy = (build(name, images=6, tasks=4) for _ in range(2))
    method.before_step()
    loss_of(method, episode(method)).value.backward()  # moves the running statistics
    with torch.no_grad():
        for parameter in method.parameters():
            if parameter.grad is not None:
                parameter -= 0.01 * parameter.grad
    method.after_step()
    copy.load_state_dict(method.state_dict())
    pair = (loss_of(m.eval(), episode(m)).value for m in (method, copy))
    assert torch.equal(*pair)


@pytest.mark.parametrize("name", ["baseline", "vanilla", "protonet"])
def test_the_loss_is_that_of_the_equations(name):
    method = build(name, images=5, way=3, tasks=4).double()
    views, classes = episode(method).views.double(), torch.arange(5)
    loss = method.loss(Batch(views, torch.Generator().manual_seed(5), classes))
    tasks = method.draw_tasks(Batch(views, torch.Generator().manual_seed(5), classes))
    slow = slow_loss(loss.embeddings, tasks, method.settings.similarity, 1.0)
    torch.testing.assert_close(loss.value, slow)


def test_second_order_gradients_are_those_of_differences():
    """Of the toy, in double precision: the backbone's own, through an inner step."""
    method = build("toy-second-order", images=3, query=1).double()
    batch = episode(method)
    batch = Batch(batch.views.double(), batch.generator, batch.classes)
    weight = method.backbone.blocks[3].convolution.weight
    loss_of(method, batch).value.backward()
    direction = torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)).double()
    slope, start = (weight.grad * direction).sum(), weight.detach().clone()
    with torch.no_grad():
        values = []
        for step in (1e-6, -1e-6):
            weight.copy_(start + step * direction)
            with torch.enable_grad():
                values.append(loss_of(method, batch).value.item())
    torch.testing.assert_close(slope.item(), (values[0] - values[1]) / 2e-6, rtol=1e-4, atol=1e-7)


def test_the_paper_defaults():
    baseline, vanilla = (METHODS[name].Settings() for name in ("baseline", "vanilla"))
    assert (baseline.tasks, baseline.similarity, baseline.resolved_temperature) == (512, "sns", 1)
    assert (vanilla.tasks, vanilla.similarity) == (1, "euclidean")
    assert METHODS["baseline"].Settings(similarity="cosine").resolved_temperature == 0.5
    assert baseline.V == 6


def photos(folder: Path) -> str:
    """Three classes of twenty pictures."""
    pixels = np.random.default_rng(0).integers(0, 256, (60, 16, 16, 3), dtype=np.uint8)
    for index, image in enumerate(pixels):
        place = folder / f"class{index % 3}" / f"{index}.png"
        place.parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(place)
    return str(folder)


def looked_at(source: str, data: str, folder: Path) -> dict[str, object]:
    """What a class source needs to find clusters among so few images of noise."""
    if source == "reciprocal-clusters":
        return {"k1": 8, "min_samples": 2, "round_epochs": 1}
    if not CLASS_SOURCES[source].looks or source == "toy-halves":
        return {}
    run = folder / "looked-at"
    options = {"recipe": "paper", "size": 16, "epochs": 1, "episodes_per_epoch": 1}
    train(data, run, images=4, tasks=2, **options)
    return {"from_run": str(run), "partitions": 2}


def check_resumed_equals_unbroken(
    data: str, folder: Path, monkeypatch, stops: tuple[int, ...] = (3, 4), **settings: object
):
    """Cut off before these steps: in the second epoch, and at the end of the first."""
    settings = {"size": 16, **settings, "recipe": "paper", "epochs": 2, "episodes_per_epoch": 3}
    train(data, folder / "unbroken", **settings)
    monkeypatch.setattr(loop, "CHECKPOINT_EVERY", -1.0)
    for stop in stops:
        step, calls = loop.Trainer.train_step, itertools.count()

        def cut(self, step=step, calls=calls, stop=stop):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return step(self)

        out = folder / f"broken{stop}"
        with monkeypatch.context() as power_cut:
            power_cut.setattr(loop.Trainer, "train_step", cut)
            with pytest.raises(KeyboardInterrupt):
                train(data, out, **settings)
        train(data, out, resume=True, **settings)
        for part in ("model", "head"):
            files = [run / f"{part}.safetensors" for run in (folder / "unbroken", out)]
            assert files[0].exists() == files[1].exists()
            if files[0].exists():
                first, second = map(load_file, files)
                assert all(torch.equal(first[key], second[key]) for key in first)


@every_method
def test_a_resumed_run_equals_an_unbroken_one(name, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    settings = known(name, images=3, query=2, tasks=4, way=2, delay=3)
    data = photos(tmp_path / "data")
    source = METHODS[name].defaults.get("class_source", "exemplars")
    settings |= looked_at(source, data, tmp_path)
    check_resumed_equals_unbroken(data, tmp_path, monkeypatch, method=name, **settings)


@pytest.mark.parametrize("source", [*CLASS_SOURCES, "toy-halves"])
def test_a_run_resumes_exactly_with_any_class_source(source, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    data = photos(tmp_path / "data")
    settings = {"class_source": source, "images": 3, "query": 2, "tasks": 4, "way": 2}
    settings |= looked_at(source, data, tmp_path)
    check_resumed_equals_unbroken(data, tmp_path, monkeypatch, **settings)


@every_method
def test_every_setting_is_explained(name):
    method = METHODS[name]
    assert method.described
    assert method.__doc__
    assert method.__doc__.splitlines()[0].endswith(".")
    assert all(info.description for info in method.Settings.model_fields.values())


def test_the_toys_are_small():
    for toy in (toys.Queue, toys.Halves, toys.SecondOrder):
        assert len(inspect.getsource(toy).splitlines()) < 40


def test_the_head_learns_at_its_own_rate():
    method = build("tsp-head", images=4, head_lr_scale=10)
    backbone, head = method.parameter_groups()
    assert (backbone["lr_scale"], head["lr_scale"]) == (1, 10)
    assert {id(p) for p in head["params"]} == {id(p) for p in method.head.parameters()}
    assert len(backbone["params"]) + len(head["params"]) == len(list(method.parameters()))


def test_recipes_scale_the_learning_rate_of_heads():
    for backbone, scale in (("conv4", 1), ("resnet12", 10)):
        settings = resolve({"data": "glyphs", "backbone": backbone, "method": "tsp-head"})
        assert settings.method.head_lr_scale == scale


def test_a_role_has_views_of_its_own(tmp_path, monkeypatch):
    """The queue's first view is the image itself, the others are not."""
    (tmp_path / "data").mkdir()
    data, seen = photos(tmp_path / "data"), []
    loss = toys.Queue.loss
    monkeypatch.setattr(toys.Queue, "loss", lambda self, b: seen.append(b.views) or loss(self, b))
    options = {"recipe": "paper", "size": 16, "epochs": 1, "episodes_per_epoch": 1, "images": 4}
    model = train(data, tmp_path / "run", method="toy-queue", views_per_class=3, **options)
    pixels = model.normalise(model.preprocess(load_data(data, size=16).images))
    nearest = torch.cdist(seen[0].flatten(2).transpose(0, 1), pixels.flatten(1)[None]).amin(2)
    assert (nearest[0] < 0.1).all()
    assert (nearest[1:] > 1).all()
    with pytest.raises(PseudoshotError, match=r"several sizes .* leave --view-scale at 1"):
        train(data, tmp_path / "other", method="toy-queue", view_scale=0.5, **options)


def test_a_method_acts_before_and_after_every_step(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    called = []
    for name in ("before_step", "loss", "after_step"):
        real = getattr(toys.Queue, name)
        monkeypatch.setattr(
            toys.Queue, name, lambda *a, name=name, real=real: called.append(name) or real(*a)
        )
    options = {
        "recipe": "paper",
        "size": 16,
        "epochs": 1,
        "episodes_per_epoch": 2,
        "images": 4,
        "views_per_class": 2,
    }
    train(photos(tmp_path / "data"), tmp_path / "run", method="toy-queue", **options)
    assert called == ["before_step", "loss", "after_step"] * 2


@pytest.mark.parametrize(("source", "seen"), [("exemplars", False), ("labels", True)])
def test_labels_are_seen_only_where_the_class_source_asks(source, seen, tmp_path):
    (tmp_path / "data").mkdir()
    settings = resolve({"data": photos(tmp_path / "data"), "class_source": source})
    assert (images_of(settings, None).labels is not None) == seen
