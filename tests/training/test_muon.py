"""Muon against its definition in plain steps, and against torch's own where that applies."""

import copy

import pytest
import torch
from torch import nn

from pseudoshot.training.muon import MOMENTUM, RATE, Muon, orthogonal


def newton_schulz(matrix):
    """On the matrix itself, as it is defined, in double precision."""
    x = matrix.double() / matrix.double().norm()
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x - 4.7750 * gram @ x + 2.0315 * gram @ gram @ x
    return x


@pytest.mark.parametrize("shape", [(8, 8), (5, 30), (30, 5), (1, 9)])
def test_iterating_on_the_gram_matrix_is_iterating_on_the_matrix(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        orthogonal(matrix).double(), newton_schulz(matrix), rtol=0, atol=1e-4
    )


def test_nothing_moves_where_there_is_no_gradient():
    assert torch.equal(orthogonal(torch.zeros(3, 4)), torch.zeros(3, 4))


def steps_of(network, optimiser, count):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(4, 3, 6, 6, generator=generator)
        network(x).square().mean().backward()
        optimiser.step()
        optimiser.zero_grad()


def network():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 16, 5)
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def test_kernels_move_by_their_definition_and_the_rest_by_adam():
    ours, reference, by_adam = network(), network(), network()
    lr = 0.01
    steps_of(ours, Muon(ours.parameters(), lr=lr), 1)
    generator = torch.Generator().manual_seed(1)
    reference(torch.randn(4, 3, 6, 6, generator=generator)).square().mean().backward()
    for before, after in zip(reference.parameters(), ours.parameters(), strict=True):
        if before.ndim == 1:
            continue
        ahead = (1 + MOMENTUM) * before.grad  # the momentum of a first step is its gradient
        rows = ahead.permute(0, 2, 3, 1) if ahead.ndim == 4 else ahead
        moved = newton_schulz(rows.reshape(len(rows), -1)).reshape(rows.shape)
        moved = moved.permute(0, 3, 1, 2) if ahead.ndim == 4 else moved
        scale = max(1.0, len(rows) / rows[0].numel()) ** 0.5
        expected = before.double() - RATE * lr * scale * moved
        torch.testing.assert_close(after.double(), expected, rtol=0, atol=1e-4)
    steps_of(by_adam, torch.optim.Adam(by_adam.parameters(), lr=lr), 1)
    for adam, after in zip(by_adam.parameters(), ours.parameters(), strict=True):
        if adam.ndim == 1:
            torch.testing.assert_close(after, adam)


def test_torchs_own_moves_a_matrix_alike():
    """It iterates in bfloat16, which has three digits."""
    torch.manual_seed(0)
    ours, theirs = (nn.Linear(6, 4, bias=False) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    lr = 0.01
    mine = Muon(ours.parameters(), lr=lr)
    other = torch.optim.Muon(theirs.parameters(), lr=RATE * lr, weight_decay=0.0, momentum=MOMENTUM)
    for _ in range(3):
        x = torch.randn(5, 6)
        for model, optimiser in ((ours, mine), (theirs, other)):
            model(x).square().sum().backward()
            optimiser.step()
            optimiser.zero_grad()
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=0.01)


def test_its_state_goes_on_where_it_was():
    whole = network()
    optimiser = Muon(whole.parameters(), lr=0.01)
    steps_of(whole, optimiser, 2)
    resumed = copy.deepcopy(whole)
    again = Muon(resumed.parameters(), lr=0.01)
    again.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    steps_of(whole, optimiser, 2)
    steps_of(resumed, again, 2)
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)
