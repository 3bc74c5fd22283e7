"""Block-model tables: what a head means, and rows labelled without touching their text."""
