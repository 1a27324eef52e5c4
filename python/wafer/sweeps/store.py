"""Storage of the results of a sweep, from which it can resume.

    DIR/records/ID.json     one result record per run: brief, or as the command line writes it
    DIR/failures/ID.json    one failure: the point and its error
    DIR/catalogue.ndjson    a row for each point that is done, for DuckDB, polars and people

A record or failure is complete or absent; its existence means that the point is done. The catalogue is
derived from them.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wafer._errors import ConfigError
from wafer._wafer import remarks
from wafer.result import Result, write_text
from wafer.sweeps.points import Point, walk
from wafer.sweeps.task import files_of

__all__ = ["Store"]

#: Age in seconds at which an incomplete file has no process that still writes it.
_ABANDONED = 3600
_COLUMNS = (
    "host_bytes",
    "media_bytes",
    "erased_bytes",
    "waf",
    "relocated_pages",
    "forced_gc",
    "background_gc",
)


class Store:
    """The folder of a sweep."""

    def __init__(self, folder: Path, points: list[Point]) -> None:
        self.folder, self.points = folder, points
        self.keys = walk(points)
        # Rows of the points whose files have been read or written.
        self._rows: dict[str, dict[str, Any]] = {}
        #: Whether a record that was read or written is brief.
        self.brief = False
        #: Why figures of a point do not have their usual meaning, such as an early end of its run.
        self.remarks: dict[str, list[str]] = {}
        try:
            for name in ("records", "failures"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{folder}: cannot be used: {error.strerror}") from None
        # Incomplete files of a killed process. Newer ones may be those of another sweep of the folder.
        for name in ("records", "failures"):
            for left in (folder / name).glob(".*.tmp"):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - left.stat().st_mtime > _ABANDONED:
                        left.unlink()

    def record_path(self, point: Point) -> Path:
        """Returns the path of the record of a point."""
        return self.folder / "records" / f"{point.id}.json"

    def failure_path(self, point: Point) -> Path:
        """Returns the path of the failure of a point."""
        return self.folder / "failures" / f"{point.id}.json"

    def is_done(self, point: Point, retry_failures: bool) -> bool:
        """Returns whether a point needs no run."""
        if self.record_path(point).exists():
            return True
        return not retry_failures and self.failure_path(point).exists()

    def keep(self, point: Point, text: str) -> dict[str, Any]:
        """Writes the record of a run and returns its row."""
        write_text(self.record_path(point), text + "\n")
        self.failure_path(point).unlink(missing_ok=True)
        return self._append(self._of_record(point, json.loads(text)))

    def keep_failure(self, point: Point, error: str, message: str) -> dict[str, Any]:
        """Writes a failure and returns its row."""
        failure = {"error": error, "message": message, "values": point.values, "experiment": point.experiment}
        write_text(self.failure_path(point), json.dumps(failure, indent=2) + "\n")
        return self._append(self._of_failure(point, failure))

    def row(self, point: Point) -> dict[str, Any] | None:
        """Returns the row of a point; ``None`` if it is not done."""
        if point.id in self._rows:
            return self._rows[point.id]
        if self.record_path(point).exists():
            return self._read(
                point, self.record_path(point), lambda p: Result.from_json(p).record, self._of_record
            )
        if self.failure_path(point).exists():
            return self._read(point, self.failure_path(point), _json_of, self._of_failure)
        return None

    def _read(
        self,
        point: Point,
        path: Path,
        read: Callable[[Path], dict[str, Any]],
        row: Callable[[Point, dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Returns the row of a file, which another program may have damaged."""
        try:
            return row(point, read(path))
        except (KeyError, TypeError, ValueError) as error:
            what = (
                error.args[0]
                if isinstance(error, ConfigError)
                else f"{path}: {type(error).__name__}: {error}"
            )
            raise ConfigError(f"{what}; remove the file to run its point again") from None

    def changed_files(self, folder: str) -> dict[str, int]:
        """Returns files that changed after points that read them had run, and the number of these points.

        Relative paths of the points start at ``folder``.
        """
        changed: Counter[str] = Counter()
        by_workload: dict[str, list[str]] = {}
        for point in self.points:
            if not self.record_path(point).exists():
                continue
            rest = {key: value for key, value in point.experiment.items() if key not in ("device", "seed")}
            workload = json.dumps(rest, sort_keys=True)
            if workload not in by_workload:
                by_workload[workload] = files_of(point.experiment, folder)
            made = self.record_path(point).stat().st_mtime_ns
            changed.update(name for name in by_workload[workload] if _modified(name) > made)
        return dict(changed)

    def _of_record(self, point: Point, record: dict[str, Any]) -> dict[str, Any]:
        # Readers of brief records compute the findings.
        self.brief = self.brief or "findings" not in record
        if found := remarks(json.dumps(record)):
            self.remarks[point.id] = [remark.removeprefix(f"{record['name']}: ") for remark in found]
        row = self._blank(point, "done")
        row.update({key: record["summary"][key] for key in _COLUMNS})
        row["digest"] = record["digest"]
        row["wall_seconds"] = record["performance"]["wall_seconds"]
        row["record"] = f"records/{point.id}.json"
        self._rows[point.id] = row
        return row

    def _of_failure(self, point: Point, failure: dict[str, Any]) -> dict[str, Any]:
        row = self._blank(point, "failed")
        row["error"] = f"{failure['error']}: {failure['message']}"
        self._rows[point.id] = row
        return row

    def _blank(self, point: Point, status: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": point.id, "status": status, **dict.fromkeys(self.keys)}
        row.update(point.values)
        row.update(dict.fromkeys((*_COLUMNS, "digest", "wall_seconds", "record", "error")))
        return row

    def write_catalogue(self) -> list[dict[str, Any]]:
        """Writes the catalogue in the order of the points and returns its rows."""
        rows = [row for row in map(self.row, self.points) if row is not None]
        write_text(self.folder / "catalogue.ndjson", "".join(map(_line, rows)))
        return rows

    def _append(self, row: dict[str, Any]) -> dict[str, Any]:
        # Not synced to disk: the records are, and the catalogue is derived from them.
        with open(self.folder / "catalogue.ndjson", "a", encoding="utf-8") as file:
            file.write(_line(row))
        return row


def _json_of(path: Path) -> dict[str, Any]:
    failure: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return failure


def _modified(name: str) -> int:
    """Returns when a file was last changed; 0 if there is none."""
    try:
        return os.stat(name).st_mtime_ns
    except OSError:
        return 0


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row) + "\n"
