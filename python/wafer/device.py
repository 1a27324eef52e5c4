"""Devices: shipped profiles and device files, with overrides."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wafer import _html, _toml, _wafer
from wafer._arguments import file, instance, of_a_dict
from wafer._colours import COLOURS
from wafer._errors import ConfigError
from wafer._keys import DOTTED, TABLES, DeviceKeys

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Device", "policies", "profiles"]


def profiles() -> list[str]:
    """Returns the names of the shipped device profiles.

    Examples
    --------
    >>> import wafer
    >>> "warp" in wafer.profiles()
    True
    """
    return _wafer.profiles()


def policies() -> dict[str, str]:
    """Returns the names of the victim policies for ``gc_policy``, each with a one-line description.

    Examples
    --------
    >>> import wafer
    >>> "greedy" in wafer.policies()
    True
    """
    return dict(_wafer.policies())


class Device:
    """A simulated device: sizes, handles, isolation and garbage collection.

    Parameters
    ----------
    profile
        A shipped profile (:func:`profiles`) or the path of a TOML file.
    **keys
        Keys to change, with ``_`` for the ``.`` of the configuration reference:
        ``overprovisioning=0.10``, ``isolation="persistently"``, ``reclaim_unit_size="128MiB"``,
        ``gc_policy="fifo"``. A table takes a dict too: ``gc={"policy": "fifo"}``. Sizes are texts
        with a unit, or numbers of bytes.

    Raises
    ------
    ConfigError
        A key does not exist, or the device cannot work; the message names the key and, if
        there is one, the nearest value that works.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="28GiB", reclaim_unit_size="8MiB")
    >>> device.ru_count
    4086
    """

    def __init__(self, profile: str | os.PathLike[str], **keys: Unpack[DeviceKeys]) -> None:
        self._inner = _wafer.Device(file("profile", profile), assignments(keys))
        self._warn()

    @classmethod
    def _of(cls, inner: _wafer.Device) -> Device:
        device = cls.__new__(cls)
        device._inner = inner
        return device

    @classmethod
    def from_toml(cls, text: str, *, name: str = "device", **keys: Unpack[DeviceKeys]) -> Device:
        """Creates a device from the text of a device file.

        Parameters
        ----------
        text
            The text of a device file.
        name
            Name of the file in messages.
        **keys
            Keys to change, as for the class.

        Returns
        -------
        Device
            The device.

        Raises
        ------
        ConfigError
            The text is invalid; the message names line and key.
        TypeError
            ``text`` is not text.
        """
        instance("text", text, str)
        return cls._of(_wafer.Device.from_toml(name, text, assignments(keys)))

    @classmethod
    def from_dict(cls, config: Mapping[str, Any], *, name: str = "device") -> Device:
        """Creates a device from its keys, as in ``provenance.config`` of a result record.

        Parameters
        ----------
        config
            Keys with their values, tables as dicts.
        name
            Name in messages.

        Returns
        -------
        Device
            The device.

        Raises
        ------
        ConfigError
            A key is invalid.
        TypeError
            ``config`` is not a dict.
        """
        instance("config", config, Mapping, 'such as {"capacity": "1GiB"}')
        with of_a_dict(name, name):
            return cls.from_toml(_toml.document(nested(config)), name=name)

    def replace(self, **keys: Unpack[DeviceKeys]) -> Device:
        """Returns a copy of the device with changed keys.

        Parameters
        ----------
        **keys
            Keys to change, as for the class.

        Raises
        ------
        ConfigError
            A key is invalid.
        """
        other = Device._of(_wafer.Device.from_toml(self.name, self.to_toml(), assignments(keys)))
        other._warn()
        return other

    def _warn(self) -> None:
        for notice in self.notices:
            warnings.warn(notice, stacklevel=3)

    @property
    def name(self) -> str:
        """Profile name, or the file as given."""
        return self._inner.name

    @property
    def config(self) -> dict[str, Any]:
        """Every key with its value; a new dict each time."""
        config: dict[str, Any] = json.loads(self._inner.config_json())
        return config

    @property
    def logical_bytes(self) -> int:
        """Logical capacity in bytes."""
        return self._inner.logical_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, the mapping unit."""
        return self._inner.page_bytes

    @property
    def pages_per_ru(self) -> int:
        """Number of pages in a reclaim unit."""
        return self._inner.pages_per_ru

    @property
    def ru_count(self) -> int:
        """Number of physical reclaim units."""
        return self._inner.ru_count

    @property
    def overprovisioning(self) -> float:
        """(physical - logical) / logical capacity, resolved to whole reclaim units."""
        return self._inner.overprovisioning

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that a run takes, excluding its workload."""
        return self._inner.memory_bytes

    @property
    def notices(self) -> list[str]:
        """Notes, such as on a value that follows from a changed one."""
        return self._inner.notices

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the device as the text of a device file; also writes it to ``path`` if given.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        ConfigError
            ``path`` is a folder, or another place that is not a file.
        OSError
            The file cannot be written.
        """
        text = self._inner.to_toml()
        if path is not None:
            _wafer.write_text(Path(file("path", path)), text)
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickle, (self.name, self.to_toml()))

    def _repr_html_(self) -> str:
        unit = self.pages_per_ru * self.page_bytes
        config = self.config
        rows = {
            "logical capacity": f"{self.logical_bytes / 2**30:.4g} GiB",
            "reclaim units": f"{self.ru_count} of {unit / 2**20:.6g} MiB",
            "over-provisioning": f"{100 * self.overprovisioning:.3g} %",
            "handles": f"{config['handles']}, {config['isolation']} isolated",
            "garbage collection": config["gc"]["policy"],
            "memory of a run": f"{self.memory_bytes / 1e6:.3g} MB",
        }
        logical = self.logical_bytes / (self.ru_count * unit)
        bar = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="12" role="img" '
            f'aria-label="logical {100 * logical:.0f} % of physical capacity" style="display:block">'
            f'<rect width="300" height="12" fill="{COLOURS[1]}"/>'
            f'<rect width="{300 * logical:.1f}" height="12" fill="{COLOURS[0]}"/></svg>'
            f"<small>logical {100 * logical:.1f} % of the physical capacity, the rest spare</small>"
        )
        return _html.page(self.name, _html.table(rows), bar)

    def __repr__(self) -> str:
        return (
            f"<wafer.Device {self.name}: {self.logical_bytes / 2**30:.4g} GiB, {self.ru_count} RUs of "
            f"{self.pages_per_ru * self.page_bytes / 2**20:.6g} MiB, "
            f"over-provisioning {100 * self.overprovisioning:.3g} %>"
        )


def _unpickle(name: str, text: str) -> Device:
    return Device.from_toml(text, name=name)


def assignments(keys: Mapping[str, Any]) -> list[str]:
    """Returns ``KEY=VALUE`` for each keyword argument.

    Parameters
    ----------
    keys
        Keyword arguments of a device.
    """
    return [f"{key}={_text(key, value)}" for key, value in flat(keys).items()]


def flat(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns dotted keys with their values; tables given as dicts are flattened.

    Parameters
    ----------
    keys
        Keyword arguments of a device.
    """
    flattened: dict[str, Any] = {}
    for keyword, value in keys.items():
        key = dotted(keyword)
        if isinstance(value, Mapping):
            for inner, item in value.items():
                flattened[f"{key}.{inner}"] = item
        elif value is not None:
            flattened[key] = value
    return flattened


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a device given as a dict with its tables; keys may be dotted or use ``_``.

    Parameters
    ----------
    keys
        Keys of the device with their values.
    """
    try:
        return _toml.nested({dotted(key): value for key, value in keys.items()})
    except ValueError as error:
        raise ConfigError(f"device: {error}") from None


def dotted(keyword: str) -> str:
    """Returns the dotted key of a keyword argument: ``gc.policy`` for ``gc_policy``.

    Parameters
    ----------
    keyword
        Name of the argument.
    """
    if keyword in DOTTED:
        return DOTTED[keyword]
    if keyword in DeviceKeys.__annotations__ or "." in keyword:
        return keyword
    # A key of a table that accepts any name, or a misspelled key, which the device refuses.
    tables = [table for table in TABLES if keyword.startswith(f"{table}_")]
    table = max(tables, key=len, default="")
    return f"{table}.{keyword[len(table) + 1 :]}" if table else keyword


def _text(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return _toml.value(value)
    except TypeError as error:
        raise ConfigError(f"{key.replace('.', '_')}: {error}") from None
