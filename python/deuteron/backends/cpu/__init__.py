"""Import path of the reference for the processors of this machine."""
