"""The effect of over-provisioning on WAF, lifetime, cost and carbon."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _(mo):
    mo.md(
        """
        # The effect of over-provisioning

        Uniform random 4 KiB writes are the worst common case. This sweep varies over-provisioning with three
        seeds; every point has a 95 % confidence interval.
        """
    )
    return


@app.cell
def _():
    import tempfile

    import marimo as mo

    import wafer

    return mo, tempfile, wafer


@app.cell
def _(tempfile, wafer):
    sweep = wafer.sweep(
        {
            "name": "overprovisioning",
            "device": {
                "profile": "warp",
                "capacity": "2GiB",
                "handles": 1,
                "reclaim_unit": {"size": "2MiB"},
                "gc": {"background_free": 0.0, "forced_free": 0.004},
            },
            "workload": {
                "fio_text": "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=1d\n"
            },
            "volume": "8x",
            "grid": {"overprovisioning": [0.07, 0.10, 0.14, 0.20, 0.28]},
            "seeds": 3,
        },
        out=tempfile.mkdtemp(),
    )
    sweep.plot("overprovisioning")
    return (sweep,)


@app.cell
def _(mo, sweep, wafer):
    drive = wafer.endurance.Drive("3.84TB", dwpd=1, price=400, longest_life=10)
    rows = []
    for summary in sweep.summary():
        life = drive.life(waf=summary.mean.value, host_bytes_per_day=2e12)
        rows.append(
            {
                "over-provisioning": summary.values["device.overprovisioning"],
                "WAF": str(summary.mean),
                "years": round(life.years, 1),
                "price a year": round(life.cost_per_year),
                "kg CO2e a year": round(life.carbon_per_year, 1),
            }
        )
    years = [row["years"] for row in rows]
    assert years == sorted(years)
    mo.ui.table(rows)
    return


@app.cell
def _(mo, wafer):
    mo.md(
        "The constants behind years and carbon, with their sources:\n\n"
        + "\n".join(
            f"- {name}: {constant.value} {constant.unit} ({constant.source})"
            for name, constant in wafer.endurance.CONSTANTS.items()
        )
    )
    return


if __name__ == "__main__":
    app.run()
