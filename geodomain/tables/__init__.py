"""Read tables of blocks from text or memory, and copy text byte for byte with new columns."""
