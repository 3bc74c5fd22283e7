"""Block models written with other blocks in the place of theirs, whatever file they are in."""
