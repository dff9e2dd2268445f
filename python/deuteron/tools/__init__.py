"""Tools for people who look at compiled kernels."""
