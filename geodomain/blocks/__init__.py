"""Blocks split at wireframes into sub-blocks, and sub-blocks joined into fewer."""
