"""The CPU backend: the kernels' launch loops through ctypes; no geometry."""
