"""Journal: what a person sees of a run, on the terminal while it goes on and in `log.jsonl`."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from pseudoshot.methods import Loss
from pseudoshot.tools.console import console, progress_bar
from pseudoshot.training.run_folder import RunFolder
from pseudoshot.training.trainer import Trainer

LOG_EVERY = 10  # steps


class Journal:
    """A progress bar with loss, images a second and time left; a log record every ten steps."""

    def __init__(self, trainer: Trainer, folder: RunFolder) -> None:
        self.trainer, self.folder = trainer, folder
        self.leads = trainer.team.leads
        self.bar = progress_bar(
            *("loss {task.fields[loss]}", "{task.fields[speed]}"),
            of="steps" if trainer.step else "",  # what a new run takes has been said
        )
        self.task = self.bar.add_task(
            "training", total=trainer.steps, completed=trainer.step, loss="-", speed=""
        )
        self.last = trainer.seconds
        self.speed = 0.0  # images a second, smoothed over the last ten steps or so

    def __enter__(self) -> Journal:
        if self.leads:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def note(self, loss: Loss) -> None:
        """Take down the step that was just made."""
        trainer = self.trainer
        self._measure_speed()
        if not self.leads:
            return
        self.bar.update(
            self.task,
            advance=1,
            loss=f"{loss.value.item():.3f}",
            speed=f"{self.speed:.0f} images/s",
        )
        if trainer.step % LOG_EVERY == 0 or trainer.epoch_ends:
            record = self._record(loss)
            if trainer.epoch_ends:
                record["pseudo_accuracy"] = trainer.label_free_score()
                self._say_epoch(record)
            self.folder.append_log(record)

    def _measure_speed(self) -> None:
        now = self.trainer.seconds
        spent, self.last = now - self.last, now
        latest = self.trainer.settings.method.images / max(spent, 1e-9)
        self.speed = 0.9 * self.speed + 0.1 * latest if self.speed else latest

    def _record(self, loss: Loss) -> dict[str, Any]:
        """The curves of the paper's Figures 2 and 3."""
        return {
            "step": self.trainer.step,
            "epoch": self.trainer.epoch,
            "loss": loss.value.item(),
            "lr": self.trainer.optimiser.param_groups[0]["lr"],
            **_norms(loss),
            "images_per_second": self.speed,
            "seconds": self.trainer.seconds,
            "cpu_seconds": self.trainer.cpu_seconds,
            **loss.scalars,
            **self.trainer.base.source.scalars,
        }

    def _say_epoch(self, record: dict[str, Any]) -> None:
        score = record["pseudo_accuracy"]
        told = ""
        if score is not None:
            told = f"validation accuracy (held-out images, no labels) {score:.1f} %, "
        console.print(
            f"epoch {record['epoch']:.0f} of {self.trainer.settings.optimisation.epochs}: "
            f"loss {record['loss']:.3f}, {told}{record['seconds']:.0f} s",
            soft_wrap=True,
        )


def _norms(loss: Loss) -> dict[str, float]:
    """Of the embeddings and of what pulls at them, where the loss has an embedding per view."""
    if loss.embeddings is None or loss.embeddings.grad is None:
        return {}
    norms = loss.embeddings.detach().norm(dim=1)
    return {
        "norm_mean": norms.mean().item(),
        "norm_std": norms.std().item(),
        "gradient_norm": loss.embeddings.grad.norm(dim=1).mean().item(),
    }
