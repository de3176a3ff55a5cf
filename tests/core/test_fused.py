"""The compiled steps equal the modules they stand for, computed in double precision."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pseudoshot.backbones import build_backbone, compiled, convolution, fused, fused_first
from pseudoshot.backbones.conv4 import Block

needs_compiler = pytest.mark.skipif(
    compiled.library() is None, reason="no C compiler here: the modules are used as they are"
)


def make(shape: tuple[int, ...], seed: int) -> tuple[Tensor, nn.BatchNorm2d]:
    torch.manual_seed(seed)
    x = (torch.randn(shape) * 2 + 1).contiguous(memory_format=torch.channels_last)
    norm = nn.BatchNorm2d(shape[1])
    nn.init.normal_(norm.weight)  # negative ones too: then the smallest is the largest
    nn.init.normal_(norm.bias)
    return x.requires_grad_(), norm


def gradient_clear_of_ties(y: Tensor, x: Tensor) -> Tensor:
    """Of the map y, pooled from x: 0 where two pixels are all but equal, or the larger one all but
    0, for there rounding decides where the gradient goes."""
    h, w = x.shape[-2] // 2 * 2, x.shape[-1] // 2 * 2
    windows = x.detach()[..., :h, :w].unfold(2, 2, 2).unfold(3, 2, 2).flatten(-2)
    first, second = windows.topk(2, -1).values.unbind(-1)
    tied = ((first - second).abs() < 1e-5) | (first.abs() < 1e-5)
    return torch.randn_like(y).masked_fill(tied, 0)


def exactly(x: Tensor, norm: nn.BatchNorm2d) -> tuple[Tensor, nn.BatchNorm2d, Tensor]:
    exact = copy.deepcopy(norm).double()
    x = x.detach().double().requires_grad_()
    return F.relu(F.max_pool2d(exact(x), 2)), exact, x


@needs_compiler
@given(
    st.integers(1, 5), st.integers(1, 20), st.integers(2, 9), st.integers(2, 9), st.integers(0, 99)
)
def test_values_gradients_and_running_statistics_are_those_of_the_modules(B, C, H, W, seed):
    x, norm = make((B, C, H, W), seed)
    expected, exact, x_exact = exactly(x, norm)
    assert fused.applies(x, norm)
    y = fused.norm_pool_relu(x, norm)
    torch.testing.assert_close(y.double(), expected, rtol=1e-4, atol=1e-4)
    gradient = gradient_clear_of_ties(y, copy.deepcopy(exact)(x_exact))
    ours = torch.autograd.grad(y, [x, norm.weight, norm.bias], gradient)
    theirs = torch.autograd.grad(expected, [x_exact, exact.weight, exact.bias], gradient.double())
    for mine, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.double(), right, rtol=2e-3, atol=2e-4)
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(
            getattr(norm, name).double(), getattr(exact, name), rtol=1e-5, atol=1e-6
        )
    assert norm.num_batches_tracked == exact.num_batches_tracked


@needs_compiler
def test_a_large_map_is_summed_more_precisely_than_by_the_modules():
    x, norm = make((96, 16, 32, 32), 0)
    expected, exact, x_exact = exactly(x, norm)
    gradient = torch.randn_like(expected)
    theirs = torch.autograd.grad(expected, [x_exact, exact.weight, exact.bias], gradient)
    y = fused.norm_pool_relu(x, norm)
    ours = torch.autograd.grad(y, [x, norm.weight, norm.bias], gradient.float())
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine - right).norm() < 1e-5 * right.norm()


@needs_compiler
def test_of_equal_maxima_the_first_gets_the_gradient():
    x = torch.ones(1, 2, 4, 4).contiguous(memory_format=torch.channels_last)
    x[:, :, :, 2:] = 3.0
    x.requires_grad_()
    norm = nn.BatchNorm2d(2)
    nn.init.ones_(norm.bias)
    expected, _, x_exact = exactly(x, norm)
    (right,) = torch.autograd.grad(expected.square().sum(), x_exact)
    (mine,) = torch.autograd.grad(fused.norm_pool_relu(x, norm).square().sum(), x)
    torch.testing.assert_close(mine.double(), right, rtol=1e-4, atol=1e-5)


@needs_compiler
def test_what_is_not_a_number_stays_so():
    x, norm = make((2, 3, 4, 4), 0)
    with torch.no_grad():
        x[0, 1, 2, 2] = torch.nan
    y = fused.norm_pool_relu(x, norm)
    assert y[:, 1].isnan().all()
    assert y[:, [0, 2]].isfinite().all()


@needs_compiler
def test_the_process_keeps_its_smallest_numbers():
    assert torch.tensor(1e-310, dtype=torch.float64) / 2 > 0


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_does_not_change_a_bit(threads):
    before = torch.get_num_threads()
    results = []
    for count in (1, threads):
        torch.set_num_threads(count)
        x, norm = make((70, 8, 6, 6), 0)
        y = fused.norm_pool_relu(x, norm)
        results.append([y, *torch.autograd.grad(y.sum(), [x, norm.weight])])
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_without_a_compiler_the_modules_do_the_same(monkeypatch):
    torch.manual_seed(0)
    backbone = build_backbone("conv4", 3, 16)
    images = torch.rand(6, 3, 16, 16).contiguous(memory_format=torch.channels_last)
    other = copy.deepcopy(backbone)
    with_it = backbone(images)
    monkeypatch.setattr(compiled, "library", lambda: None)
    without = other(images)
    torch.testing.assert_close(with_it, without, rtol=1e-4, atol=1e-5)
    for first, second in zip(backbone.buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(first, second)


def test_a_compiler_that_fails_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PSEUDOSHOT_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled, "FLAGS", ("--no-such-flag",))
    compiled.built.cache_clear()
    try:
        assert compiled.library() is None
        assert not list(tmp_path.rglob("*.so"))
    finally:
        compiled.built.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        lambda x, norm: (x, norm.eval()),
        lambda x, norm: (x.double(), norm),
        lambda x, norm: (x.contiguous(), norm),
        lambda x, norm: (x[:, :, :1], norm),
    ],
)
def test_it_steps_aside_where_it_does_not_apply(change):
    x, norm = make((2, 3, 4, 4), 0)
    assert not fused.applies(*change(x.detach(), norm))


def make_block(channels: int, filters: int, seed: int) -> Block:
    torch.manual_seed(seed)
    block = Block(channels, filters).to(memory_format=torch.channels_last)
    nn.init.normal_(block.norm.weight)
    nn.init.normal_(block.norm.bias)
    return block


def assert_equals_its_modules(block: Block, images: Tensor, tolerance: float) -> None:
    """Values, gradients of all parameters and running statistics."""
    exact = copy.deepcopy(block).double()
    y = block(images)
    normalised = exact.norm(exact.convolution(images.double()))
    expected = F.relu(F.max_pool2d(normalised, 2))
    torch.testing.assert_close(y.double(), expected, rtol=1e-4, atol=1e-4)
    gradient = gradient_clear_of_ties(y, normalised)
    y.backward(gradient)
    expected.backward(gradient.double())
    for mine, right in zip(block.parameters(), exact.parameters(), strict=True):
        assert mine.grad.stride() == mine.stride()
        assert (mine.grad - right.grad).norm() <= tolerance * (1 + right.grad.norm())
    for mine, right in zip(block.buffers(), exact.buffers(), strict=True):
        torch.testing.assert_close(mine.double(), right.double(), rtol=1e-5, atol=1e-6)


@needs_compiler
@given(
    st.integers(1, 5),
    st.sampled_from([1, 3]),
    st.sampled_from([16, 48]),
    st.integers(2, 9),
    st.integers(2, 9),
    st.integers(0, 99),
)
def test_a_first_block_equals_its_modules(B, channels, filters, H, W, seed):
    block = make_block(channels, filters, seed)
    images = torch.randn(B, channels, H, W) * 2 + 1
    assert fused_first.applies(images, block.convolution, block.norm)
    assert_equals_its_modules(block, images, tolerance=1e-4)


@needs_compiler
def test_a_first_block_of_many_images_is_as_precise():
    block = make_block(3, 32, 0)
    images = torch.rand(96, 3, 32, 32) * 4 - 1
    assert_equals_its_modules(block, images, tolerance=1e-6)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_first_block_is_the_same_on_any_number_of_threads(threads):
    before = torch.get_num_threads()
    results = []
    for count in (1, threads):
        torch.set_num_threads(count)
        block = make_block(3, 16, 0)
        y = block(torch.rand(70, 3, 6, 6))
        results.append([y, *torch.autograd.grad(y.sum(), block.parameters())])
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@needs_compiler
def test_a_pixel_that_is_not_a_number_reaches_the_loss():
    images = torch.rand(2, 3, 4, 4)
    images[1, 0, 2, 2] = torch.nan
    assert make_block(3, 16, 0)(images).isnan().any()


@pytest.mark.parametrize(
    "change",
    [
        lambda images, block: (images, block.eval()),
        lambda images, block: (images.double(), block.double()),
        lambda images, block: (images.requires_grad_(), block),
        lambda images, block: (images[:, :2], Block(2, 16)),
        lambda images, block: (images, Block(3, 20)),
    ],
)
def test_a_first_block_steps_aside_where_it_does_not_apply(change):
    images, block = change(torch.rand(2, 3, 4, 4), Block(3, 16))
    assert not fused_first.applies(images, block.convolution, block.norm)
    assert block(images).shape == (2, block.convolution.out_channels, 2, 2)


def test_half_precision_is_left_to_the_modules():
    block = Block(16, 16)
    x = torch.rand(2, 16, 4, 4).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        assert not convolution.applies(x, block.convolution.weight)
        assert not fused.applies(block.convolution(x), block.norm)


@needs_compiler
def test_a_first_block_is_exact_where_the_rest_is_in_half_precision():
    block, images = Block(3, 16), torch.rand(2, 3, 4, 4)
    exact = block(images)
    (expected,) = torch.autograd.grad(exact.sum(), [block.convolution.weight])
    with torch.autocast("cpu", torch.bfloat16):
        assert fused_first.applies(images, block.convolution, block.norm)
        half = block(images)
    (gradient,) = torch.autograd.grad(half.sum(), [block.convolution.weight])
    assert torch.equal(half, exact.bfloat16())
    assert torch.equal(gradient, expected)


@needs_compiler
@given(
    st.integers(1, 40),
    st.sampled_from([2, 6, 64]),
    st.sampled_from([16, 32]),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_the_weight_gradient_is_that_of_the_convolution(B, channels, filters, H, W, seed):
    torch.manual_seed(seed)
    module = convolution.Convolution3x3(channels, filters)
    x = torch.randn(B, channels, H, W).contiguous(memory_format=torch.channels_last)
    x.requires_grad_()
    exact, x_exact = copy.deepcopy(module).double(), x.detach().double().requires_grad_()
    assert convolution.applies(x, module.weight)
    y, expected = module(x), exact(x_exact)
    torch.testing.assert_close(y.double(), expected, rtol=1e-4, atol=1e-4)
    gradient = torch.randn_like(y)
    ours = torch.autograd.grad(y, [x, module.weight], gradient)
    theirs = torch.autograd.grad(expected, [x_exact, exact.weight], gradient.double())
    for mine, right in zip(ours, theirs, strict=True):
        assert (mine - right).norm() < 1e-5 * right.norm()


@needs_compiler
@pytest.mark.parametrize("threads", [2, 3])
def test_the_weight_gradient_is_the_same_on_any_number_of_threads(threads):
    before = torch.get_num_threads()
    x = torch.rand(50, 16, 7, 7).contiguous(memory_format=torch.channels_last)
    gradient = torch.rand(50, 32, 7, 7).contiguous(memory_format=torch.channels_last)
    results = []
    for count in (1, threads):
        torch.set_num_threads(count)
        sums = torch.empty(3, 3, 16, 32)
        fused.call("weight_gradient", x, gradient, 50, 7, 7, 16, 32, count, sums)
        results.append(sums)
    torch.set_num_threads(before)
    assert torch.equal(*results)
