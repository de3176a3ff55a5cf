"""What classifiers minimise, in plain loops and double precision."""

import numpy as np


def ridge_loss(weight, features, labels, way, strength):
    """Of weights for features as they are: errors of one-hot labels, every class of equal weight,
    and a penalty in units of the features' mean squared length."""
    counts = [sum(1 for label in labels if label == c) for c in range(way)]
    total = 0.0
    for x, label in zip(features, labels, strict=True):
        for c in range(way):
            error = float(x @ weight[c]) - float(label == c)
            total += len(labels) / way / counts[label] * error**2
    mean_square = sum(float(x @ x) for x in features) / len(features)
    return total + strength * mean_square * float(np.square(weight).sum())


def unit_scale(features):
    return features / np.sqrt(np.square(features).sum(1).mean())
