"""What a person does with a run: train, measure, compare. The commands call these."""

from pseudoshot.runs.comparing import compare
from pseudoshot.runs.estimating import announce, dry_run
from pseudoshot.runs.evaluating import evaluate_run
from pseudoshot.runs.training import finetune, train, tuning_options

__all__ = [
    "announce",
    "compare",
    "dry_run",
    "evaluate_run",
    "finetune",
    "train",
    "tuning_options",
]
