"""Write your own garbage collection policy."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _(mo):
    mo.md(
        """
        # Write your own GC policy

        The device calls a policy once per collection, about a reclaim unit of page writes apart, so Python is
        fast enough. The policy sees arrays with one entry for each candidate.
        """
    )
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np

    import wafer

    return mo, np, wafer


@app.cell
def _(np, wafer):
    class Greedy(wafer.Policy):
        def select_victim(self, rus):
            return rus.valid.argmin()

    class DelayHot(wafer.Policy):
        """Greedy, but delays units that are losing pages quickly."""

        def __init__(self, delay):
            self.delay = delay

        def select_victim(self, rus):
            share = rus.valid / rus.pages_per_ru
            hot = np.exp(-rus.since_invalidation / (self.delay * rus.pages_per_ru))
            return np.argmin(share + 0.1 * share * hot)

    return Greedy, DelayHot


@app.cell
def _(DelayHot, Greedy, wafer):
    device = wafer.Device("warp", capacity="1GiB", reclaim_unit_size="2MiB", overprovisioning=0.14)
    job = wafer.fio_text(
        "[w]\nrw=randwrite\nbs=4k\nsize=100%\nrandom_distribution=zipf:1.1\nnorandommap=1\n"
        "time_based=1\nruntime=1d\n"
    )

    def runs(policy=None):
        return [wafer.run(device, job, volume="6x", seed=seed, policy=policy) for seed in (1, 2, 3)]

    rust, greedy, delayed = runs(), runs(Greedy()), runs(DelayHot(8))
    # The same rule gives the same run in either language.
    assert [r.digest for r in greedy] == [r.digest for r in rust]
    return delayed, device, greedy, job


@app.cell
def _(delayed, greedy, mo, wafer):
    mo.md(f"A is greedy, B delays hot units: **{wafer.stats.compare(greedy, delayed)}**.")
    return


@app.cell
def _(Greedy, device, mo, wafer):
    class ByRelocation(Greedy):
        """Separates data that has been relocated before, because it is cold."""

        classes = 2

        def select_destination(self, rus, victim):
            return int(rus.generation[victim] > 0)

    mixed = wafer.fio_text(
        "[w]\nrw=randwrite\nbs=4k\nsize=100%\nrandom_distribution=zoned:80/20:20/80\nnorandommap=1\n"
        "time_based=1\nruntime=1d\n"
    )

    def both(policy):
        return [wafer.run(device, mixed, volume="6x", seed=seed, policy=policy) for seed in (1, 2, 3)]

    change = wafer.stats.compare(both(Greedy()), both(ByRelocation()))
    assert change.share < 0
    mo.md(
        "A policy may also choose *where* the relocated data of each victim goes: one of `classes` open "
        f"reclaim units. A is greedy, B separates data that was relocated before: **{change}**."
    )
    return


@app.cell
def _(Greedy, device, job, mo, wafer):
    class Invalid(Greedy):
        def select_victim(self, rus):
            return len(rus)

    try:
        wafer.run(device, job, volume="3x", policy=Invalid())
        message = "no error"
    except wafer.PolicyError as error:
        message = str(error)
    assert "candidates" in message
    mo.md(f"An invalid choice raises an error and never corrupts the device: `{message}`")
    return


if __name__ == "__main__":
    app.run()
