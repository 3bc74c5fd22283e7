"""Where the kernels run: a dictionary from name to module with the same functions."""
