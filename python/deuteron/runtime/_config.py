"""`Config`: one way to launch a kernel."""

#: Launch options that a configuration may set beside its meta-parameters.
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")
#: Those of Triton 3.2 and 3.3, for roles of warps that its compiler made; they are left out where they are 0.
_ROLES = ("num_buffers_warp_spec", "num_consumer_groups", "reg_dec_producer", "reg_inc_consumer")


class Config:
    """One way to launch a kernel.

    Args:
        kwargs: meta-parameters by name.
        num_warps, num_stages, num_ctas, maxnreg, ir_override: launch options; None leaves one at its default.
        pre_hook: called with all arguments by name before each launch with this configuration.
        num_buffers_warp_spec, num_consumer_groups, reg_dec_producer, reg_inc_consumer: taken, as by Triton 3.2 and
            3.3, and without effect.
    """

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None, *,
                 num_buffers_warp_spec=0, num_consumer_groups=0, reg_dec_producer=0, reg_inc_consumer=0):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override
        self.num_buffers_warp_spec = num_buffers_warp_spec
        self.num_consumer_groups = num_consumer_groups
        self.reg_dec_producer = reg_dec_producer
        self.reg_inc_consumer = reg_inc_consumer

    def __setstate__(self, state):
        Config.__init__(self, state.get("kwargs", {}))
        self.__dict__.update(state)

    def all_kwargs(self):
        """Meta-parameters and the launch options that are set."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        roles = {name: getattr(self, name) or None for name in _ROLES}
        return {**self.kwargs, **{name: value for name, value in {**options, **roles}.items() if value is not None}}

    def __str__(self):
        parts = [f"{name}: {value}" for name, value in self.kwargs.items()]
        parts += [f"{name}: {getattr(self, name)}" for name in ("num_warps", "num_ctas", "num_stages", "maxnreg",
                                                               "ir_override")]
        return ", ".join(parts)

    def _key(self):
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return isinstance(other, Config) and self._key() == other._key()
