"""Evaluation: few-shot accuracy by the field's protocol, and a score that needs no labels."""

from pseudoshot.evaluation.few_shot import (
    Accuracy,
    Evaluation,
    check_tasks,
    evaluate,
    evaluate_embeddings,
)

__all__ = ["Accuracy", "Evaluation", "check_tasks", "evaluate", "evaluate_embeddings"]
