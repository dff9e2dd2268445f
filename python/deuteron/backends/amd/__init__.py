"""Import path of the reference for the driver and the compiler of AMD GPUs."""
