"""The heads and the calibration in plain loops."""

import math

import numpy as np


def prototype_scores(features, labels, way, queries):
    scores = np.zeros((len(queries), way))
    for c in range(way):
        members = [x for x, label in zip(features, labels, strict=True) if label == c]
        mean = sum(members) / len(members)
        length = math.sqrt(sum(v * v for v in mean))
        for i, q in enumerate(queries):
            scores[i, c] = sum(a * b for a, b in zip(q, mean, strict=True)) / length
    return scores


def ridge_loss(weight, bias, features, labels, way, scale, strength):
    """What the ridge head minimises, of weights for features as they are."""
    counts = [sum(1 for label in labels if label == c) for c in range(way)]
    total = 0.0
    for x, label in zip(features, labels, strict=True):
        for c in range(way):
            error = float(x @ weight[c] + bias[c]) - (float(label == c) - 1 / way)
            total += len(labels) / way / counts[label] * error**2
    return total + strength * float((weight * scale) ** 2 @ np.ones(weight.shape[1]) @ np.ones(way))


def log_likelihood(scores, labels, temperature):
    total = 0.0
    for row, label in zip(scores, labels, strict=True):
        logits = [float(v) / temperature for v in row]
        top = max(logits)
        total += logits[label] - top - math.log(sum(math.exp(v - top) for v in logits))
    return total
