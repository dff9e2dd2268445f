"""Import path of the reference for the driver of NVIDIA GPUs."""
