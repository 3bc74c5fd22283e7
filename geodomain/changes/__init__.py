"""Models that change: other blocks, what is mined, and the difference between two versions."""
