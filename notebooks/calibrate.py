"""Calibrate the model to your drive."""

import marimo

app = marimo.App(width="medium")


@app.cell
def _(mo):
    mo.md(
        """
        # Calibrate to your drive

        Collect the counters of a drive while a fio job overwrites it several times:

        ```sh
        nvme format /dev/nvme0n1 && fio job.fio &
        while sleep 60; do nvme fdp stats /dev/nvme0 -e 1 -o json >> stats.json; done
        ```

        Here a simulated drive of known parameters stands in for yours: 64 GB, 300 reclaim units,
        over-provisioning 22 %.
        """
    )
    return


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import marimo as mo
    import numpy as np

    import wafer

    return Path, mo, np, tempfile, wafer


@app.cell
def _(Path, np, tempfile, wafer):
    truth = wafer.calibration.Candidate(wafer.calibration.Structure(), 0.22, 300)
    job = wafer.fio_text(wafer.calibration.ONE_STREAM)
    drive = wafer.run(truth.device(64_000_000_000), job, volume="9x", seed=11)
    log = Path(tempfile.mkdtemp()) / "stats.json"
    host = np.linspace(0, drive.host_bytes, 120)
    media = drive.timeline.media_at(host)
    _ = log.write_text(
        "\n".join(f'{{"hbmw": {h:.0f}, "mbmw": {m:.0f}}}' for h, m in zip(host, media, strict=True))
    )
    return log, truth


@app.cell
def _(log, wafer):
    # The first half is fitted; the second half checks the prediction.
    fit = wafer.calibrate(
        log, capacity="64GB", fraction=0.5, structures=wafer.calibration.STRUCTURES[::2], progress=True
    )
    print(fit)
    fit.plot()
    return (fit,)


@app.cell
def _(fit, mo, truth):
    assert fit.prediction_error < 0.02
    assert truth.net_spare in fit.intervals["net_spare"]
    mo.md(
        f"""
        The true net spare is {truth.net_spare:.3f}; the fit found {fit.intervals["net_spare"]}. It predicts
        the rest of the curve within {100 * fit.prediction_error:.2f} %. Read the warnings: they list what a
        curve does not determine.
        """
    )
    return


@app.cell
def _(fit, mo):
    mo.md("The profile, for `wafer run --device`:\n\n```toml\n" + fit.to_toml() + "\n```")
    return


if __name__ == "__main__":
    app.run()
