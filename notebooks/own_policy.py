"""Write your own garbage collection policy."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo
    import numpy as np

    import wafer

    mo.md(
        """
        # Write your own GC policy

        A policy is asked once for each collection, tens of thousands of page writes apart, so it may be
        written in Python. It sees one array entry for each candidate.
        """
    )
    return mo, np, wafer


@app.cell
def _(np, wafer):
    class Greedy(wafer.Policy):
        def select_victim(self, rus):
            return rus.valid.argmin()

    class PatientWithTheHot(wafer.Policy):
        """Greedy, but units that lose pages quickly are left alone for a while."""

        def __init__(self, patience):
            self.patience = patience

        def select_victim(self, rus):
            share = rus.valid / rus.pages_per_ru
            hot = np.exp(-rus.since_invalidation / (self.patience * rus.pages_per_ru))
            return np.argmin(share + 0.1 * share * hot)

    return Greedy, PatientWithTheHot


@app.cell
def _(Greedy, PatientWithTheHot, wafer):
    device = wafer.Device("warp", capacity="1GiB", reclaim_unit_size="2MiB", overprovisioning=0.14)
    job = wafer.fio_text(
        "[w]\nrw=randwrite\nbs=4k\nsize=100%\nrandom_distribution=zipf:1.1\nnorandommap=1\n"
        "time_based=1\nruntime=1d\n"
    )

    def runs(policy=None):
        return [wafer.run(device, job, volume="6x", seed=seed, policy=policy) for seed in (1, 2, 3)]

    rust, greedy, patient = runs(), runs(Greedy()), runs(PatientWithTheHot(8))
    # The same rule gives the same run, whichever language it is written in.
    assert [r.digest for r in greedy] == [r.digest for r in rust]
    return device, greedy, job, patient


@app.cell
def _(greedy, mo, patient, wafer):
    mo.md(f"A is greedy, B the patient one: **{wafer.stats.compare(greedy, patient)}**.")
    return


@app.cell
def _(Greedy, device, mo, wafer):
    class MovedOftenApart(Greedy):
        """What was moved before is cold: it gets an open reclaim unit of its own."""

        classes = 2

        def select_destination(self, rus, victim):
            return int(rus.generation[victim] > 0)

    mixed = wafer.fio_text(
        "[w]\nrw=randwrite\nbs=4k\nsize=100%\nrandom_distribution=zoned:80/20:20/80\nnorandommap=1\n"
        "time_based=1\nruntime=1d\n"
    )

    def both(policy):
        return [wafer.run(device, mixed, volume="6x", seed=seed, policy=policy) for seed in (1, 2, 3)]

    change = wafer.stats.compare(both(Greedy()), both(MovedOftenApart()))
    assert change.share < 0
    mo.md(
        "A policy may also choose *where* the relocated data of each victim goes: one of `classes` open "
        f"reclaim units. A is greedy, B keeps what was moved before apart: **{change}**."
    )
    return


@app.cell
def _(Greedy, device, job, mo, wafer):
    class Nonsense(Greedy):
        def select_victim(self, rus):
            return len(rus)

    try:
        wafer.run(device, job, volume="3x", policy=Nonsense())
        told = "nothing"
    except wafer.PolicyError as error:
        told = str(error)
    assert "candidates" in told
    mo.md(f"What is no choice is an error, never a corrupt device: `{told}`")
    return


if __name__ == "__main__":
    app.run()
