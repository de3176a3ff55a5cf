"""A run's settings: one tree, from what the user gave and a recipe for the rest."""
