"""What a WAF means in years of life, drive writes per day, money and carbon.

Flash wears with what is written to *media*. A drive that is rated for so many host bytes (TBW) was rated at
some WAF, so it bears ``tbw * rated_waf`` bytes of media writes, and lives until the workload's media writes
reach that.
"""

from __future__ import annotations

from dataclasses import dataclass

from wafer._errors import ConfigError
from wafer.sizes import parse_size

__all__ = ["CONSTANTS", "Constant", "Drive", "Life"]

DAYS_PER_YEAR = 365.25


@dataclass(frozen=True)
class Constant:
    """A number with its unit, the range that published figures cover, and where they come from."""

    value: float
    low: float
    high: float
    unit: str
    source: str

    def __str__(self) -> str:
        return f"{self.value:g} ({self.low:g} to {self.high:g}) {self.unit}: {self.source}"


#: Defaults of this module. Each can be given otherwise; none of them is a property of the device model.
CONSTANTS = {
    "embodied_carbon": Constant(
        0.16,
        0.0029,
        0.16,
        "kg CO2e per GB (decimal) of capacity, manufacturing",
        "value and high: Tannu and Nair, The Dirty Secret of SSDs: Embodied Carbon, HotCarbon 2022, "
        "arXiv 2207.10793, from 94 life cycle assessments. Low: the manufacturer's figure for "
        "a 15 TB Seagate Nytro 3332 of 2021, 2.91 kg CO2e per TB, as quoted by Pure Storage, "
        "12 May 2025. The two differ by a factor of 55 and are disputed: give your drive's own",
    ),
    "grid_intensity": Constant(
        0.445,
        0.400,
        0.445,
        "kg CO2 per kWh",
        "IEA, Electricity 2025, chapter Emissions: world average of 2024, 445 g per kWh (high: the same; "
        "low: its forecast for 2027). Single grids differ: give yours",
    ),
    "warranty_years": Constant(
        5.0,
        3.0,
        5.0,
        "years",
        "TBW = DWPD x capacity x 365.25 x this. Blocks and Files, DWPD, 24 April 2022: typically 5 years, "
        "could be shorter; low: the 3 years of the SK hynix PE3100 in Tom's Hardware's review of the Intel "
        "DC P3520",
    ),
    "rated_waf": Constant(
        3.0,
        2.4,
        3.95,
        "media bytes per host byte",
        "assumption: data sheets rate TBW under JESD219, or under random 4 KiB writes (HPE), and give no "
        "WAF. Low: closed form for random writes, over-provisioning 28 % (Desnoyers, TOS 2014). High: "
        "measured under JESD219A, 512 B variant, on a conventional 8 TB drive (the study `namespaces`)",
    ),
}


@dataclass(frozen=True)
class Life:
    """What a drive makes of a workload.

    Attributes:
        years: until the rated media writes are used up.
        dwpd: host writes in drive capacities a day.
        tbw: host bytes in TB (decimal) that it takes over its life at this WAF.
        dwpd_over_warranty: drive writes per day that it would bear over the years of warranty.
        cost_per_year: price over years; NaN without a price.
        carbon_per_year: kg CO2e a year: embodied carbon over years, and electricity where power is given.

    """

    years: float
    dwpd: float
    tbw: float
    dwpd_over_warranty: float
    cost_per_year: float
    carbon_per_year: float


@dataclass(frozen=True)
class Drive:
    """A drive as its data sheet says.

    Args:
        capacity: ``"3.84TB"`` or bytes.
        dwpd: rated drive writes per day over the warranty; or give ``tbw``.
        tbw: rated host bytes written, TB (decimal).
        rated_waf: WAF behind the rating, see :data:`CONSTANTS`.
        warranty_years: years behind ``dwpd``.
        price: in any currency.
        watts: mean electrical power, for operational carbon. 0 leaves it out.
        embodied_carbon: kg CO2e per GB (decimal) of capacity.
        grid_intensity: kg CO2 per kWh.
        longest_life: years after which the drive is replaced, worn or not; bounds cost and carbon.

    Example:
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
        if (self.dwpd is None) == (self.tbw is None):
            raise ConfigError("drive: give dwpd or tbw, one of them")
        if self.rated_waf < 1:
            raise ConfigError(f"rated_waf: {self.rated_waf} is below 1")

    @property
    def bytes(self) -> int:
        """Capacity in bytes."""
        return parse_size(self.capacity, "capacity")

    @property
    def media_bytes(self) -> float:
        """Bytes of media writes that the rating stands for."""
        if self.tbw is not None:
            return self.tbw * 1e12 * self.rated_waf
        assert self.dwpd is not None
        return self.dwpd * self.bytes * self.warranty_years * DAYS_PER_YEAR * self.rated_waf

    def life(self, waf: float, host_bytes_per_day: float) -> Life:
        """Life under a workload that writes so many host bytes a day at this WAF."""
        if waf < 1 or host_bytes_per_day <= 0:
            raise ConfigError("life: a WAF is at least 1 and hosts write something")
        host_bytes = self.media_bytes / waf
        years = host_bytes / host_bytes_per_day / DAYS_PER_YEAR
        used = years if self.longest_life is None else min(years, self.longest_life)
        embodied = self.embodied_carbon * self.bytes / 1e9 / used
        power = self.watts / 1000 * 24 * DAYS_PER_YEAR * self.grid_intensity
        return Life(
            years=years,
            dwpd=host_bytes_per_day / self.bytes,
            tbw=host_bytes / 1e12,
            dwpd_over_warranty=host_bytes / (self.bytes * self.warranty_years * DAYS_PER_YEAR),
            cost_per_year=float("nan") if self.price is None else self.price / used,
            carbon_per_year=embodied + power,
        )
