"""What the reference calls experimental."""
