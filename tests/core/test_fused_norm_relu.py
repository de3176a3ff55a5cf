"""BatchNorm and ReLU without pooling, and a convolution of a 2x2 map, against the modules."""

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from pseudoshot.backbones import fused
from pseudoshot.backbones.convolution import Convolution3x3
from tests.core.test_fused import make, needs_compiler


@needs_compiler
@given(
    st.integers(2, 5),
    st.integers(1, 20),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.integers(0, 99),
)
def test_values_gradients_and_statistics_are_those_of_the_modules(B, C, H, W, adds, seed):
    x, norm = make((B, C, H, W), seed)
    added = torch.randn(B, C, H, W, requires_grad=True) if adds else None
    exact, x_exact = copy.deepcopy(norm).double(), x.detach().double().requires_grad_()
    normed = exact(x_exact)
    assume(bool((normed.detach().abs() > 1e-4).all()))  # rounding decides what passes at zero
    expected = F.relu(normed) + (added.double() if added is not None else 0)
    assert fused.applies(x, norm)
    y = fused.norm_relu(x, norm, added)
    torch.testing.assert_close(y.double(), expected, rtol=1e-4, atol=1e-4)
    gradient = torch.randn_like(y)
    more = [] if added is None else [added]
    ours = torch.autograd.grad(y, [x, norm.weight, norm.bias, *more], gradient)
    theirs = torch.autograd.grad(
        expected, [x_exact, exact.weight, exact.bias, *more], gradient.double()
    )
    for mine, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.double(), right.double(), rtol=2e-3, atol=2e-4)
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(
            getattr(norm, name).double(), getattr(exact, name), rtol=1e-5, atol=1e-6
        )


@needs_compiler
@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(threads):
    def gradients(count):
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            x, norm = make((64, 16, 8, 8), 0)
            y = fused.norm_relu(x, norm, torch.ones(64, 16, 8, 8))
            return y, *torch.autograd.grad(y.square().sum(), [x, norm.weight, norm.bias])
        finally:
            torch.set_num_threads(before)

    for one, several in zip(gradients(1), gradients(threads), strict=True):
        assert torch.equal(one, several)


def test_what_is_not_a_number_stays_so():
    x, norm = make((4, 8, 3, 3), 0)
    with torch.no_grad():
        x[0, 0, 0, 0] = torch.nan
    assert fused.norm_relu(x, norm).isnan().any()


@pytest.mark.parametrize("training", [True, False])
def test_the_modules_take_over_where_it_does_not_apply(training):
    x, norm = make((4, 8, 3, 3), 0)
    norm, x = norm.double().train(training), x.detach().double()
    added = torch.randn_like(x)
    expected = F.relu(copy.deepcopy(norm)(x)) + added
    assert torch.equal(fused.norm_relu(x, norm, added), expected)


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_a_convolution_of_a_2x2_map_is_a_matrix(B, channels, filters, seed):
    torch.manual_seed(seed)
    convolution = Convolution3x3(channels, filters).double()
    x = torch.randn(B, channels, 2, 2, dtype=torch.float64, requires_grad=True)
    expected, y = nn.Conv2d.forward(convolution, x), convolution(x)
    torch.testing.assert_close(y, expected)
    gradient = torch.randn_like(y)
    inputs = [x, convolution.weight]
    for mine, right in zip(
        torch.autograd.grad(y, inputs, gradient),
        torch.autograd.grad(expected, inputs, gradient),
        strict=True,
    ):
        torch.testing.assert_close(mine, right)
