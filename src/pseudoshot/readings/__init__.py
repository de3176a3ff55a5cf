"""Readings: how a vector is made of what a trained network says of an image."""

from pseudoshot.readings.reading import (
    COMPLETE,
    PLAIN,
    READINGS,
    Parts,
    Reading,
    ReadingName,
    join,
    reading_of,
)

__all__ = ["COMPLETE", "PLAIN", "READINGS", "Parts", "Reading", "ReadingName", "join", "reading_of"]
