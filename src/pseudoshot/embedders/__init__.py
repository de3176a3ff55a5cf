"""Embedders: images in, vectors out, with a card that says how an image is treated."""
