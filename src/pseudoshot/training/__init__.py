"""Training: settings and recipes, the run folder, checkpoints, and the loop in plain sight."""
