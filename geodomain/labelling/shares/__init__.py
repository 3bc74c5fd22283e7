"""Shares of domains within blocks: of each by itself, and by their order along vertical lines."""
