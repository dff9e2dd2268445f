"""Import path of the reference for the cores of this machine."""
