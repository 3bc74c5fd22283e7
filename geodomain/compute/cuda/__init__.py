"""The CUDA backend: the same kernels launched on a GPU through PyCUDA; no geometry."""
