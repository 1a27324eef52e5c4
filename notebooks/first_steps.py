"""First steps: a device, a job, a run."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    import wafer

    mo.md(
        """
        # First steps

        Simulate a fio job on a device. The device is WARP's emulator at a sixteenth of its size. It has
        as many reclaim units, each smaller: WAF depends on their number, not on their size.
        """
    )
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
    # The timeline holds arrays: here the WAF of every tenth of the run.
    timeline = result.timeline
    timeline.instantaneous_waf[:: len(timeline) // 10]
    return


if __name__ == "__main__":
    app.run()
