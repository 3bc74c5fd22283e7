"""Launch the kernels on a GPU through PyCUDA; there is no geometry here."""
