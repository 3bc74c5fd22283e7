"""The backend that chooses between the CPU and the GPU, call by call."""
