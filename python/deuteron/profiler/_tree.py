"""The tree of a profile: frames with metrics, and its text in hatchet's literal form."""

#: Metrics that describe a frame rather than add up.
_DESCRIBING = ("device_id", "device_type")


class Frame:
    """A place in a program: a scope, a Python function or a kernel.

    Attributes:
        name: what it is called.
        children: by name, in the order in which they were first seen.
        metrics: numbers by name; those of further runs are added.
    """

    def __init__(self, name):
        self.name = name
        self.children = {}
        self.metrics = {}

    def child(self, name):
        """The child of that name, made where there is none."""
        found = self.children.get(name)
        if found is None:
            found = self.children[name] = Frame(name)
        return found

    def at(self, path):
        """The frame below this one at a path of names."""
        frame = self
        for name in path:
            frame = frame.child(name)
        return frame

    def add(self, metrics):
        """Adds to the metrics."""
        for name, value in metrics.items():
            if name in _DESCRIBING or name not in self.metrics or isinstance(value, str):
                self.metrics[name] = value
            elif isinstance(value, (list, tuple)):
                self.metrics[name] = [a + b for a, b in zip(self.metrics[name], value)]
            else:
                self.metrics[name] += value

    def clear(self):
        """Forgets everything below and all metrics."""
        self.children.clear()
        self.metrics.clear()

    def literal(self):
        """As hatchet reads it."""
        return {"children": [child.literal() for child in self.children.values()],
                "frame": {"name": self.name, "type": "function"}, "metrics": dict(self.metrics)}
