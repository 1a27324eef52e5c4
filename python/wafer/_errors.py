"""Exceptions of the package."""


class WaferError(Exception):
    """Base class of all errors of wafer. The message is one line."""


class ConfigError(WaferError, ValueError):
    """A key, argument or file that cannot work; the message names file, line and key."""


class WorkloadError(WaferError, ValueError):
    """A job file, trace, model or array of commands that cannot be used."""


class NotEnoughMemory(WaferError, MemoryError):
    """The run would not fit in the available memory."""


class RunError(WaferError, RuntimeError):
    """The run started but cannot continue."""


class PolicyError(WaferError, RuntimeError):
    """A policy written in Python returned an invalid choice."""


class Cancelled(WaferError):
    """The run was stopped through :class:`wafer.Cancel`."""


class MissingExtra(WaferError, ImportError):
    """A part of wafer requires a package that is not installed; the message names it."""
