"""First steps: a device, a job, a run."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _(mo):
    mo.md(
        """
        # First steps

        Simulate a fio job on a device. The device is WARP's emulator at a sixteenth of its size. It has
        as many reclaim units, each smaller: WAF depends on their number, not on their size.
        """
    )
    return


@app.cell
def _():
    import marimo as mo

    import wafer

    return mo, wafer


@app.cell
def _(wafer):
    device = wafer.Device("warp", capacity="28GiB", reclaim_unit_size="8MiB")
    job = wafer.fio_text(
        """
        [writer]
        rw=randwrite
        bs=128k
        size=100%
        time_based=1
        runtime=1d
        """
    )
    result = wafer.run(device, job, volume="10x", progress=True)
    result
    return device, job, result


@app.cell
def _(mo, result):
    mo.md(
        f"""
        The host wrote {result.host_bytes / 1e9:.0f} GB and the media {result.media_bytes / 1e9:.0f} GB:
        WAF **{result.waf:.3f}**. Cumulative WAF starts at 1, because GC on a fresh drive has nothing to
        relocate.
        """
    )
    return


@app.cell
def _(result):
    result.plot(handles=True)
    return


@app.cell
def _(device, job, wafer):
    # The same seed gives a bit-identical run; different seeds show the spread.
    runs = [wafer.run(device, job, volume="5x", seed=seed) for seed in (1, 2, 3)]
    spread = wafer.stats.mean([run.waf for run in runs])
    assert spread.half < 0.05 * spread.value
    str(spread)
    return


@app.cell
def _(result):
    # The WAF of each half pass. The first pass fills the empty drive, so nothing is relocated.
    halves = result.waf_per("0.5x")
    assert halves[:2].tolist() == [1.0, 1.0]
    assert halves[2:].min() > 1.5
    halves
    return


if __name__ == "__main__":
    app.run()
