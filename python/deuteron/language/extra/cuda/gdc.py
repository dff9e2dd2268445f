"""Programmatic dependent launches by the reference's import path."""

from . import gdc_launch_dependents, gdc_wait

__all__ = ["gdc_launch_dependents", "gdc_wait"]
