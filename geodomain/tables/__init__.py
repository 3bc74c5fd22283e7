"""Block-model tables: what their head means, how their text is read and given back."""
