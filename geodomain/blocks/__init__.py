"""Split blocks at wireframes, join sub-blocks, and make new block models."""
