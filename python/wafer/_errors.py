"""What can go wrong, with the messages of the command line."""


class WaferError(Exception):
    """Anything that wafer refuses or that fails. The message is one line."""


class ConfigError(WaferError, ValueError):
    """A key, argument or file that cannot work; the message names file, line and key."""


class WorkloadError(WaferError, ValueError):
    """A job file, trace, model or array of commands that cannot be used."""


class NotEnoughMemory(WaferError, MemoryError):
    """The run would not fit into the memory there is."""


class RunError(WaferError, RuntimeError):
    """The run began and cannot go on."""


class PolicyError(WaferError, RuntimeError):
    """A policy written in Python answered something that is no choice."""


class Cancelled(WaferError):
    """The run was stopped through :class:`wafer.Cancel`."""


class MissingExtra(WaferError, ImportError):
    """A part of wafer needs a package that is not installed; the message says which to install."""
