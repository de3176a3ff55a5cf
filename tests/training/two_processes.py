"""Run by test_processes.py as two processes over gloo: one step of each, against one of both."""

import copy
import sys

import torch

from pseudoshot.backbones import build_backbone
from pseudoshot.methods import METHODS, Batch
from pseudoshot.training.processes import Team, build_fabric, synchronise_batch_norm

C, V = 4, 3


def main(names: list[str]) -> None:
    fabric = build_fabric(devices=2, nodes=1)
    fabric.launch()
    for name in names:
        compare(name, Team(fabric))


def compare(name: str, team: Team) -> None:
    torch.manual_seed(0)
    kind = METHODS[name]
    wanted = {"images": C, "way": 3, "query": V - 1, "tasks": 5, "views_per_class": V}
    wanted |= {"set_size": 2, "samples": 2, "components": 2}
    fields = kind.Settings.model_fields
    settings = kind.Settings(**{key: value for key, value in wanted.items() if key in fields})
    whole = kind(build_backbone("conv4", 1, 16), settings, classes=C).double()
    shared = copy.deepcopy(whole)
    views = torch.rand(C, settings.V, 1, 16, 16, dtype=torch.float64)
    classes = torch.arange(C)

    torch.manual_seed(1)  # of dropout in heads
    expected = whole.loss(Batch(views, torch.Generator().manual_seed(2), classes))
    expected.value.backward()

    for encoder in shared.encoders:
        synchronise_batch_norm(encoder)
    wrapped = team.fabric.setup_module(shared)
    wrapped.mark_forward_method("loss")
    torch.manual_seed(1)
    mine = team.part(views)
    assert len(mine) == C // 2
    batch = Batch(mine, torch.Generator().manual_seed(2), classes, join=team.join)
    loss = wrapped.loss(batch)
    team.fabric.backward(loss.value)

    torch.testing.assert_close(loss.value, expected.value)
    torch.testing.assert_close(loss.embeddings, expected.embeddings)
    names = [name for name, _ in whole.named_parameters()]
    for name, ours, theirs in zip(names, shared.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-5, atol=1e-8, msg=name)
    for name, buffer in whole.named_buffers():
        if "num_batches" not in name:
            torch.testing.assert_close(dict(shared.named_buffers())[name], buffer)
    assert team.any(team.rank == 1)
    assert not team.any(False)
    draws = torch.rand(1, generator=team.generator(torch.Generator().manual_seed(3)))
    both = team.join(draws)
    assert both[0] != both[1], "each process draws views of its own"
    if team.leads:
        print("equal:", kind.__name__)


if __name__ == "__main__":
    main(sys.argv[1:])
