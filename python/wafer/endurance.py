"""Life, drive writes per day, cost and carbon of a drive under a workload with a given WAF.

Flash wears with *media* writes. A drive rated for a number of host bytes (TBW) was rated at some WAF, so it
endures ``tbw * rated_waf`` bytes of media writes. It lasts until the workload has written them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from wafer import _wafer
from wafer._arguments import number
from wafer.sizes import parse_size

__all__ = ["CONSTANTS", "Constant", "Drive", "Life"]


@dataclass(frozen=True)
class Constant:
    """A default value with the range of published figures, its unit and its source."""

    value: float
    low: float
    high: float
    unit: str
    source: str

    def __str__(self) -> str:
        return f"{self.value:g} ({self.low:g} to {self.high:g}) {self.unit}: {self.source}"


#: Defaults of :class:`Drive` by the name of its argument. None of them is a property of the device model.
CONSTANTS = {c[0]: Constant(*c[1:]) for c in _wafer.endurance_constants()}


@dataclass(frozen=True)
class Life:
    """Endurance of a drive under a workload.

    Attributes
    ----------
    years
        Years until the rated media writes are used up.
    dwpd
        Host writes in drive capacities per day.
    tbw
        Host bytes over the life of the drive at this WAF, TB (decimal).
    dwpd_over_warranty
        Drive writes per day that would use up the rating within the warranty.
    cost_per_year
        Price over years; NaN without a price.
    carbon_per_year
        Embodied carbon over years, and that of electricity, kg CO2e per year.
    """

    years: float
    dwpd: float
    tbw: float
    dwpd_over_warranty: float
    cost_per_year: float
    carbon_per_year: float


@dataclass(frozen=True)
class Drive:
    """The data sheet of a drive.

    Attributes
    ----------
    capacity
        ``"3.84TB"`` or bytes.
    dwpd
        Rated drive writes per day over the warranty. Give either this or ``tbw``.
    tbw
        Rated host bytes written, TB (decimal).
    rated_waf
        WAF behind the rating, at least 1; see :data:`CONSTANTS`.
    warranty_years
        Years of warranty.
    price
        In any currency.
    watts
        Mean electrical power; 0 omits operational carbon.
    embodied_carbon
        Kg CO2e per GB (decimal) of capacity.
    grid_intensity
        Kg CO2 per kWh.
    longest_life
        Years after which the drive is replaced, worn out or not; bounds cost and carbon.

    Examples
    --------
    >>> import wafer
    >>> drive = wafer.endurance.Drive("3.84TB", dwpd=1)
    >>> round(drive.life(waf=3.0, host_bytes_per_day=3.84e12).years, 2)
    5.0
    >>> round(drive.life(waf=1.5, host_bytes_per_day=3.84e12).years, 2)
    10.0
    """

    capacity: str | int
    dwpd: float | None = None
    tbw: float | None = None
    rated_waf: float = CONSTANTS["rated_waf"].value
    warranty_years: float = CONSTANTS["warranty_years"].value
    price: float | None = None
    watts: float = 0.0
    embodied_carbon: float = CONSTANTS["embodied_carbon"].value
    grid_intensity: float = CONSTANTS["grid_intensity"].value
    longest_life: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                number(field.name, value)
        _wafer.rated_media_bytes(self)  # checks that they are possible

    @property
    def bytes(self) -> int:
        """Capacity in bytes."""
        return parse_size(self.capacity, "capacity")

    @property
    def media_bytes(self) -> float:
        """Bytes of media writes that the drive is rated for."""
        return _wafer.rated_media_bytes(self)

    def life(self, waf: float, host_bytes_per_day: float) -> Life:
        """Returns the endurance under a workload with this WAF and daily volume.

        Parameters
        ----------
        waf
            Write amplification factor, above 0; a write buffer can make it less than 1.
        host_bytes_per_day
            Bytes that the host writes per day.

        Raises
        ------
        ConfigError
            The WAF is not above 0, or nothing is written.
        """
        host_bytes_per_day = number("host_bytes_per_day", host_bytes_per_day)
        return Life(*_wafer.life(self, number("waf", waf), host_bytes_per_day))
