"""Prototypical Networks (Snell et al. 2017): trained on real labels."""

from __future__ import annotations

from types import MappingProxyType

from pseudoshot.methods.vanilla import Vanilla


class ProtoNet(Vanilla):
    """ProtoNet, supervised: vanilla's objective on the base set's real classes.

    Eq. 1 with the base set's labels; `images` counts classes, of K + Q images each.
    """

    described = "section 7.3, Comparison with the supervised upper-bound"
    defaults = MappingProxyType({"class_source": "labels"})
