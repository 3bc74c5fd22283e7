"""File formats of wireframes and block models: one module each, listed in `registry`."""
