"""One suite over every backbone."""

import pytest
import torch
import torch.nn.functional as F

from pseudoshot.backbones import BACKBONES, build_backbone
from pseudoshot.backbones.conv4 import Block
from pseudoshot.backbones.resnet12 import DROP_BLOCK_RAMP, DropBlock
from pseudoshot.backbones.resnet_pyramid import Residual
from pseudoshot.tools.errors import PseudoshotError

LIGHT = [name for name in BACKBONES if name != "wrn28-10"]


@pytest.mark.parametrize("name", BACKBONES)
@pytest.mark.parametrize("channels", [1, 3])
def test_embeds_to_its_dimension(name, channels):
    backbone = build_backbone(name, channels, 16)
    z = backbone(torch.rand(2, channels, 16, 16))
    assert z.shape == (2, backbone.dim)
    assert z.isfinite().all()


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize("size", [7, 28, 33, 84])
def test_takes_any_size(name, size):
    backbone = build_backbone(name, 1, size).eval()
    assert backbone(torch.rand(1, 1, size, size)).shape == (1, backbone.dim)


@pytest.mark.parametrize("name", BACKBONES)
def test_every_parameter_learns(name):
    backbone = build_backbone(name, 3, 16)
    backbone(torch.rand(4, 3, 16, 16)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in backbone.parameters())


@pytest.mark.parametrize("name", LIGHT)
def test_in_eval_mode_an_embedding_does_not_depend_on_its_batch(name):
    backbone = build_backbone(name, 3, 16).eval()
    images = torch.rand(6, 3, 16, 16)
    torch.testing.assert_close(backbone(images)[:2], backbone(images[:2]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "size", "dim", "parameters"),
    [
        ("conv4", 84, 64, 112_832),
        ("conv4-flat", 84, 1600, 112_832),
        ("lite0", 224, 1280, 3_371_008),
        ("resnet12", 84, 640, 12_424_320),
        ("resnet-pyramid", 32, 256, 1_921_344),
        ("resnet-pyramid", 64, 256, 1_957_536),
        ("wrn28-10", 32, 640, 36_472_784),
    ],
)
def test_the_sizes_they_are_known_by(name, size, dim, parameters):
    backbone = build_backbone(name, 3, size)
    assert backbone.dim == dim
    assert sum(p.numel() for p in backbone.parameters()) == parameters


def test_pooling_before_relu_is_exact():
    block = Block(3, 8).eval()
    images = torch.rand(4, 3, 10, 10) - 0.5
    usual = F.max_pool2d(F.relu(block.norm(block.convolution(images))), 2)
    assert torch.equal(block(images), usual)


@pytest.mark.parametrize("training", [True, False])
def test_a_residual_adds_what_it_finds_to_what_it_was_given(training):
    part = Residual(16).train(training)
    x = torch.rand(4, 16, 5, 5).contiguous(memory_format=torch.channels_last)
    expected = x + F.relu(part.norm(part.convolution(x)))
    torch.testing.assert_close(part(x), expected)


def test_larger_images_take_a_block_more_to_a_map_as_small():
    for size, blocks in ((28, 3), (32, 3), (64, 4), (84, 4)):
        backbone = build_backbone("resnet-pyramid", 3, size)
        assert len(backbone.blocks) == blocks
        assert max(backbone.blocks(torch.rand(1, 3, size, size)).shape[-2:]) <= 5


def test_drop_block_drops_squares_at_the_full_rate():
    torch.manual_seed(0)
    drop = DropBlock(rate=0.1, side=3)
    drop.forwards.fill_(DROP_BLOCK_RAMP)
    dropped = drop(torch.ones(64, 64, 21, 21)) == 0
    assert 0.07 < float(dropped.float().mean()) < 0.11  # squares overlap: a little below the rate
    first = dropped[dropped.flatten(2).any(2)][0]
    row, column = (int(i) for i in first.nonzero()[0])
    assert first[row : row + 3, column].all() or column + 3 > 21


def test_drop_block_ramps_over_training_forwards_only():
    torch.manual_seed(0)
    drop = DropBlock(rate=0.1, side=3)
    x = torch.ones(8, 8, 9, 9)
    assert torch.equal(drop(x), x), "after one of 40,000 forwards almost nothing is dropped"
    drop.eval()
    drop(x)
    assert int(drop.forwards) == 1
    assert int(drop.state_dict()["forwards"]) == 1


def test_small_images_get_dropout_everywhere():
    kinds = [type(block.drop).__name__ for block in build_backbone("resnet12", 3, 32).blocks]
    assert kinds == ["Dropout"] * 4
    kinds = [type(block.drop).__name__ for block in build_backbone("resnet12", 3, 84).blocks]
    assert kinds == ["Dropout", "Dropout", "DropBlock", "DropBlock"]


def test_an_unknown_name_lists_the_known():
    with pytest.raises(PseudoshotError, match=r"did you mean 'conv4'.*resnet12"):
        build_backbone("conv5", 3, 32)
