"""Prints what the installed torch needs, but for the reference implementation of the language."""

import importlib.metadata

from pip._vendor.packaging.requirements import Requirement

for text in importlib.metadata.requires("torch"):
    requirement = Requirement(text)
    if requirement.name != "triton" and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
        requirement.marker = None
        print(requirement)
