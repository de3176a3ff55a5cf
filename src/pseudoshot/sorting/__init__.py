"""From an embedding and a few labelled images to labels: the classifier, and what is done with it
to folders of images."""

from pseudoshot.sorting.estimator import NONE_OF_THESE, FewShotClassifier
from pseudoshot.sorting.saved import load_classifier, save_classifier
from pseudoshot.sorting.suggesting import suggest

__all__ = ["NONE_OF_THESE", "FewShotClassifier", "load_classifier", "save_classifier", "suggest"]
