"""A training state survives the trip to disk exactly, and a bad file is one clear error."""

import pytest
import torch

from pseudoshot.tools.errors import PseudoshotError
from pseudoshot.tools.state_file import load_state, save_state


def test_a_state_comes_back_as_it_was(tmp_path):
    parameter = torch.nn.Parameter(torch.rand(3, 2))
    optimiser = torch.optim.Adam([parameter], lr=0.1)
    parameter.sum().backward()
    optimiser.step()
    state = {
        "step": 7,
        "optimiser": optimiser.state_dict(),
        "none": None,
        "empty": {},
        "nested": [1.5, "text", True, {"x": torch.arange(4)}],
        "bytes": torch.get_rng_state(),
    }
    save_state(tmp_path / "state", state)
    loaded = load_state(tmp_path / "state")
    assert loaded["step"] == 7
    assert loaded["none"] is None
    assert loaded["empty"] == {}
    assert loaded["nested"][:3] == [1.5, "text", True]
    assert torch.equal(loaded["nested"][3]["x"], torch.arange(4))
    assert torch.equal(loaded["bytes"], torch.get_rng_state())
    before, after = optimiser.state_dict()["state"][0], loaded["optimiser"]["state"][0]
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    optimiser.load_state_dict(loaded["optimiser"])


def test_tensors_that_share_memory_are_saved(tmp_path):
    shared = torch.rand(4)
    save_state(tmp_path / "state", {"a": shared, "b": shared[:2]})
    assert torch.equal(load_state(tmp_path / "state")["b"], shared[:2])


@pytest.mark.parametrize("spoil", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" * 99])
def test_a_spoilt_file_is_a_clear_error(tmp_path, spoil):
    path = tmp_path / "state"
    save_state(path, {"a": torch.rand(100)})
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(PseudoshotError, match=r"checkpoint .* cannot be read"):
        load_state(path)


def test_a_failed_write_keeps_the_old_checkpoint(tmp_path):
    path = tmp_path / "state"
    save_state(path, {"step": 1})
    with pytest.raises(TypeError):
        save_state(path, {"step": object()})
    assert load_state(path)["step"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
