"""Any network as an ONNX file, run by onnxruntime."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pseudoshot.backbones import Backbone
from pseudoshot.data.loading import MOST_PIXELS_A_SIDE
from pseudoshot.embedders.networks.memory import MOST_MEMORY
from pseudoshot.tools.errors import PseudoshotError, first_line

if TYPE_CHECKING:
    import onnxruntime

MOST_BYTES = 1 << 31  # protobuf's own limit
_KNOWN_OUTPUTS = ("embeddings", "image_embeds", "pooler_output")


class OnnxNetwork(Backbone):
    """One input of images, one output of vectors, or of maps that are averaged over space.

    The whole file is a buffer, so what is saved with the network needs no path. It cannot be
    trained. Where the file leaves height and width open they are `size`; 0: not known, and nothing
    can be embedded yet.
    """

    file: Tensor
    side: int

    def __init__(self, file: bytes, size: int = 0, output: str = "") -> None:
        super().__init__(3, size)
        self.session = _session(file)
        self._look_at_input(self.session.get_inputs())
        if self.side and size not in (0, self.side):
            raise PseudoshotError(f"its images have {self.side} pixels a side, not {size}")
        self.side = self.side or size
        self.register_buffer("file", torch.frombuffer(bytearray(file), dtype=torch.uint8))
        self.output = _chosen([o.name for o in self.session.get_outputs()], output)
        self.dim = self._dim() if self.side else 0

    def _look_at_input(self, inputs: Sequence[onnxruntime.NodeArg]) -> None:
        if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 4:
            found = ", ".join(f"{i.name}: {i.type} {i.shape}" for i in inputs)[:200]
            raise PseudoshotError(
                f"one input of images is expected, float32 (batch, channels, height, width), "
                f"not {found or 'none'}"
            )
        self.input: str = inputs[0].name
        batch, *shape = inputs[0].shape
        if isinstance(batch, int) and batch != 1:
            raise PseudoshotError(
                f"it takes {batch} images at once and no other number: export it with an open batch"
            )
        self.one_by_one = batch == 1
        self.channels_last = shape[0] not in (1, 3) and shape[2] in (1, 3)
        channels, *sides = (shape[2], *shape[:2]) if self.channels_last else shape
        self.channels: int = channels if isinstance(channels, int) else 3
        fixed = {side for side in sides if isinstance(side, int)}
        if self.channels not in (1, 3) or len(fixed) > 1 or max(fixed, default=1) < 1:
            raise PseudoshotError(f"square images of 1 or 3 channels are expected, not {shape}")
        self.side = max(fixed, default=0)
        if self.side > MOST_PIXELS_A_SIDE:
            raise PseudoshotError(
                f"its images have {self.side} pixels a side, above the {MOST_PIXELS_A_SIDE} that "
                f"are possible"
            )

    def _dim(self) -> int:
        """Two images are tried: some files take one alone without saying so."""
        try:
            embeddings = self(torch.zeros(2, self.channels, self.side, self.side))
        except PseudoshotError:
            raise
        except Exception as error:  # of the runtime, of any kind
            raise PseudoshotError(f"it cannot embed two images: {first_line(error)}") from error
        if len(embeddings) != 2:
            raise PseudoshotError(f"of two images it makes {len(embeddings)} embeddings")
        return embeddings.shape[1]

    def forward(self, images: Tensor) -> Tensor:
        pixels = images.detach().cpu().numpy()
        if self.channels_last:
            pixels = pixels.transpose(0, 2, 3, 1)
        pixels = np.ascontiguousarray(pixels)
        if self.one_by_one:
            found = np.concatenate([self._run(pixels[i : i + 1]) for i in range(len(pixels))])
        else:
            found = self._run(pixels)
        embeddings = torch.from_numpy(found).float()
        if embeddings.ndim == 4:
            embeddings = embeddings.mean((1, 2) if self.channels_last else (2, 3))
        if embeddings.ndim != 2 or not embeddings.shape[1]:
            raise PseudoshotError(
                f"its output '{self.output}' has the shape {tuple(embeddings.shape)}: vectors "
                f"(batch, d) or maps (batch, d, height, width) are expected"
            )
        return embeddings

    def _run(self, pixels: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Of fewer images at once, where all of them take more memory than there may be."""
        try:
            found: npt.NDArray[np.float32] = self.session.run([self.output], {self.input: pixels})[
                0
            ]
        except Exception as error:  # of the runtime, of any kind
            asked = re.search(r"smaller than requested bytes of (\d+)", str(error))
            if asked is None:
                raise
            half = len(pixels) // 2
            if half:
                return np.concatenate([self._run(pixels[:half]), self._run(pixels[half:])])
            raise PseudoshotError(
                f"for one image it asks for {int(asked[1]) / 2**30:.1f} GB at once, where "
                f"{MOST_MEMORY >> 30} GB in all is the limit: use a smaller network"
            ) from error
        return found

    def metadata(self) -> dict[str, str]:
        """What the file says of itself."""
        said: dict[str, str] = self.session.get_modelmeta().custom_metadata_map
        return said

    def __getstate__(self) -> dict[str, Any]:
        """A session cannot be copied; the file can."""
        return {name: value for name, value in self.__dict__.items() if name != "session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.session = _session(self.file.cpu().numpy().tobytes())


def _session(file: bytes) -> onnxruntime.InferenceSession:
    try:
        import onnxruntime
    except ImportError as error:
        raise PseudoshotError(
            f"an ONNX model needs {error.name}: pip install 'pseudoshot[onnx]'"
        ) from error
    _limit_memory()
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    options.log_severity_level = 4
    options.intra_op_num_threads = torch.get_num_threads()
    # weights that lie in other files are looked for in an empty folder: none is ever read
    key = "session.model_external_initializers_file_folder_path"
    with tempfile.TemporaryDirectory() as empty:
        options.add_session_config_entry(key, empty)
        try:
            return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # a file of any content leads to errors of any kind
            reason = first_line(error)
            if "xternal data" in reason or "model_path" in reason:
                reason = "its weights lie in other files: save it as one"
            raise PseudoshotError(f"it is not a network that onnxruntime runs: {reason}") from error


@functools.cache
def _limit_memory() -> None:
    """What networks may take beside their weights, all that are open together."""
    import onnxruntime

    kind, memory = onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, onnxruntime.OrtMemType.DEFAULT
    onnxruntime.create_and_register_allocator(
        onnxruntime.OrtMemoryInfo("Cpu", kind, 0, memory),
        onnxruntime.OrtArenaCfg(MOST_MEMORY, -1, -1, -1),
    )


def _chosen(outputs: Sequence[str], wanted: str) -> str:
    """The output that holds the embedding."""
    if len(outputs) == 1 and not wanted:
        return outputs[0]
    for name in (wanted,) if wanted else _KNOWN_OUTPUTS:
        if name in outputs:
            return name
    raise PseudoshotError(
        f"which of its outputs is the embedding? There are {', '.join(outputs)[:200]}: say it as "
        f'"output" in the JSON file beside it'
    )
