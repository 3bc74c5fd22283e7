"""Launch the kernels on a GPU through PyCUDA. The geometry is in kernels/, not here."""
