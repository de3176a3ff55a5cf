"""The calibration in plain loops."""

import math


def log_likelihood(scores, labels, temperature):
    total = 0.0
    for row, label in zip(scores, labels, strict=True):
        logits = [float(v) / temperature for v in row]
        top = max(logits)
        total += logits[label] - top - math.log(sum(math.exp(v - top) for v in logits))
    return total
