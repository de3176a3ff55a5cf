"""What can be set in a method: what an episode holds, and how its tasks are compared."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from pseudoshot.tasks.similarity import Similarity, default_temperature
from pseudoshot.tools.registry import PartSettings


class MethodSettings(PartSettings):
    """What every method has; `V` members of each of `images` pseudo-classes make an episode."""

    images: PositiveInt = 64
    """C, pseudo-classes per episode (one step): images, or classes where labels are trained on; 64
    for conv4 and 32 for the others, twice as many in the fast recipe"""

    @property
    def V(self) -> int:  # noqa: N802 (the paper's name)
        """How many views of an image, or images of a class, an episode holds."""
        raise NotImplementedError

    @property
    def fewest(self) -> int:
        """Pseudo-classes that an episode needs, should the class source not have `images`."""
        return max(2, self.unit)

    @property
    def unit(self) -> int:
        """Pseudo-classes in each of the parts that an episode is cut into, and no part is shared by
        processes: the images of a task, or of a set."""
        return 1

    @property
    def test_similarity(self) -> Similarity:
        """What embeddings are compared by at test: that of the tasks, where there are any."""
        return "sns"

    @property
    def network_stays(self) -> bool:
        """Whether the network that a run starts from is not trained, only what is beside it."""
        return False


class ViewCountSettings(MethodSettings):
    """Of methods that make no tasks."""

    views_per_class: PositiveInt = 6
    """V, views per image, or images per class where labels are trained on"""

    @property
    def V(self) -> int:  # noqa: N802
        return self.views_per_class


class TaskSettings(MethodSettings):
    """The factors of section 4: the tasks of an episode and how they are compared."""

    way: int | None = Field(default=None, ge=2)
    """N, classes per task; all C where not given"""
    shot: PositiveInt = 1
    """K, support views per class"""
    query: PositiveInt = 5
    """Q, query views per class: K + Q views per image"""
    tasks: PositiveInt | Literal["exhaustive"] = 512
    """tasks re-sampled from an episode; exhaustive: every one-shot split of the views once"""
    similarity: Similarity = "sns"
    """how a query is compared with a prototype"""
    temperature: PositiveFloat | None = None
    """divides the similarity: 0.5 for cosine and 1 for the others where not given"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.way is not None and self.way > self.images:
            raise ValueError(
                f"way {self.way} does not fit an episode of {self.images} images: "
                f"lower --way or raise --images"
            )
        if self.tasks == "exhaustive" and (self.shot, self.way or self.images) != (1, self.images):
            raise ValueError("exhaustive tasks are one-shot and over all images: leave --way alone")
        return self

    @property
    def V(self) -> int:  # noqa: N802
        return self.shot + self.query

    @property
    def fewest(self) -> int:
        return self.way or super().fewest

    @property
    def test_similarity(self) -> Similarity:
        return self.similarity

    @property
    def resolved_temperature(self) -> float:
        return self.temperature or default_temperature(self.similarity)


class HeadSettings(TaskSettings):
    """Tasks, and a head trained beside the backbone."""

    head_lr_scale: PositiveFloat = 1.0
    """the head's learning rate as a multiple of the backbone's (10 for resnet12 and wrn28-10)"""
