"""Logs a run to MLflow, Weights & Biases or TensorBoard with their own packages.

    collabui watch RUN --json | python collabui_track.py RUN mlflow

For each epoch that `collabui watch` reports, and for the end of the run, this program reads the tables of the run with
`collabui export RUN --as json` and logs what the tracker lacks. If it is started again, it continues.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Row:
    """Values that belong to one step of one axis."""

    axis: str  # epoch, or optimiser_step, which is counted over all epochs of an agent
    step: int
    values: dict[str, float]


@dataclass(frozen=True)
class Run:
    """The records of a run. A later reading begins with the rows of an earlier one."""

    name: str
    id: str  # the run's ID at the tracker: its name, and the beginning of its specification's hash
    ended: bool
    epochs: int
    parameters: dict[str, str]
    rows: list[Row]

    def points(self) -> Iterator[tuple[str, int, float]]:
        """Yields the name, the step and the value of every point of every curve."""
        for row in self.rows:
            for name, value in row.values.items():
                yield name, row.step, value


def numbers(prefix: str, line: dict[str, Any], *leave: str) -> dict[str, float]:
    """Returns the numbers in a line of a table, by the names of their curves."""
    left = {"run", "epoch", "agent", *leave}
    return {f"{prefix}/{k}": float(v) for k, v in line.items() if isinstance(v, (int, float)) and k not in left}


def rows_of(tables: Tables, ended: bool) -> Iterator[Row]:
    """Yields the rows of a run, in an order to which a longer run only appends."""
    if not any(line["epoch"] == 0 for line in tables["curve"]):
        yield Row("epoch", 0, {})  # the base policy was not evaluated
    before: Counter[int] = Counter()  # optimiser steps of earlier epochs, by agent
    for line in tables["curve"]:
        epoch, values = line["epoch"], numbers("curve", line)
        updates = [u for u in tables["updates"] if u["epoch"] == epoch]
        for u in updates:
            values |= numbers(f"updates/agent_{u['agent']}", u | {"kept": u["kept"] != ""})
        yield Row("epoch", epoch, values)

        steps: defaultdict[int, dict[str, float]] = defaultdict(dict)
        for t in tables["training"]:
            if t["epoch"] == epoch:
                prefix = f"training/agent_{t['agent']}"
                steps[before[t["agent"]] + t["step"]] |= numbers(prefix, t, "step", "steps")
        for step in sorted(steps):
            yield Row("optimiser_step", step, steps[step])
        for u in updates:
            before[u["agent"]] += u["steps"]
    if ended:
        for r in tables["results"]:
            yield Row("epoch", r["epoch"], {f"results/{r['folder']}/{r['system']}/{r['split']}": r["rate"]})


def read(run: str, options: list[str]) -> Run:
    """Reads the records of a run. The options are passed to `collabui export`."""
    program = os.environ.get("COLLABUI") or "collabui"
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "export", run, "--as", "json", "--out", folder, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        tables: Tables = {path.stem: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}
    facts = tables["run"][0]
    return Run(
        name=run,
        id=f"{run}-{facts['specification'][:8]}",
        ended=facts["ended"],
        epochs=facts["epochs"],
        parameters={line["key"]: line["value"] for line in tables["parameters"]},
        rows=list(rows_of(tables, facts["ended"])),
    )


class Tracker:
    """Keeps runs at a place: an experiment, a project or a folder."""

    def __init__(self, place: str) -> None:
        self.place = place

    def log(self, run: Run) -> None:
        """Logs the part of a run that the tracker lacks."""
        raise NotImplementedError

    def close(self) -> None:
        """Sends everything that was logged."""


class MLflow(Tracker):
    """An experiment on the server that MLFLOW_TRACKING_URI names. The server reports the steps of its curves."""

    def log(self, run: Run) -> None:
        import mlflow
        from mlflow.entities import Metric, Param

        client, tag = mlflow.MlflowClient(), "collabui.run"
        experiment = mlflow.set_experiment(self.place).experiment_id
        found = client.search_runs([experiment], f"tags.`{tag}` = '{run.id}'")
        there = found[0] if found else client.create_run(experiment, run_name=run.name, tags={tag: run.id})
        id = there.info.run_id
        has = {(name, m.step) for name in there.data.metrics for m in client.get_metric_history(id, name)}
        now = int(1000 * time.time())
        points = [(re.sub(r"[^\w\-./ ]", "_", name), step, value) for name, step, value in run.points()]
        metrics = [Metric(name, value, now, step) for name, step, value in points if (name, step) not in has]
        client.log_batch(id, metrics, [Param(key, value) for key, value in run.parameters.items()])
        if run.ended and there.info.status != "FINISHED":
            client.set_terminated(id)


class Wandb(Tracker):
    """A PROJECT or ENTITY/PROJECT. Online, the server reports its number of rows; offline, a new file has all rows."""

    run: Any = None

    def log(self, run: Run) -> None:
        if self.run is None:
            self.begin(run)
        for number, row in enumerate(run.rows):
            if number >= self.run.step and row.values:
                self.run.log({row.axis: row.step, **row.values}, step=number, commit=True)

    def begin(self, run: Run) -> None:
        """Finds the run, or creates it. Offline, it replaces a folder that an earlier call left."""
        import wandb

        entity, _, project = self.place.rpartition("/")
        id = f"{run.id}-{hashlib.sha256(self.place.encode()).hexdigest()[:8]}"
        self.run = wandb.init(
            entity=entity or None, project=project, id=id, name=run.name, resume="allow",
            config=run.parameters, allow_val_change=True,
        )
        for table in ("curve", "updates", "training", "results"):
            self.run.define_metric(f"{table}/*", step_metric="optimiser_step" if table == "training" else "epoch")
        if self.run.offline:
            for old in Path(self.run.settings.wandb_dir).glob(f"offline-run-*-{id}"):
                if old != Path(self.run.settings.sync_dir):
                    shutil.rmtree(old)

    def close(self) -> None:
        if self.run is not None:
            self.run.finish()


class TensorBoard(Tracker):
    """A folder, with a folder of event files for each run."""

    def log(self, run: Run) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder = Path(self.place) / run.id
        folder.mkdir(parents=True, exist_ok=True)
        events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        events.Reload()
        has = {(name, e.step) for name in events.Tags()["scalars"] for e in events.Scalars(name)}
        left = [point for point in run.points() if point[:2] not in has]
        if left:
            writer = EventFileWriter(str(folder))
            for name, step, value in left:
                summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
                writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))
            writer.close()


TRACKERS = {"mlflow": MLflow, "wandb": Wandb, "tensorboard": TensorBoard}


def follow(lines: Iterable[str], run: str, tracker: Tracker, options: list[str]) -> None:
    """Logs a run whenever a line reports another epoch, and after the last line."""
    epochs = 0
    for line in lines:
        event = json.loads(line)
        if event.get("event") == "epoch" and event["epoch"] > epochs:
            recorded = read(run, options)
            tracker.log(recorded)
            epochs = recorded.epochs
    tracker.log(read(run, options))


def main() -> int:
    """Runs the program and returns its exit code."""
    parser = argparse.ArgumentParser(
        description="Log a run to a tracker. The standard input is the output of `collabui watch RUN --json`.",
        epilog="Other options, such as --data DIR, are passed on to `collabui export`. COLLABUI may name the program.",
    )
    parser.add_argument("run", metavar="RUN")
    parser.add_argument("tracker", choices=TRACKERS)
    parser.add_argument(
        "--to", metavar="NAME", default="collabui",
        help="experiment of MLflow, PROJECT or ENTITY/PROJECT of W&B, folder of TensorBoard (default collabui)",
    )
    options, rest = parser.parse_known_args()
    tracker: Tracker = TRACKERS[options.tracker](options.to)
    try:
        follow(sys.stdin, options.run, tracker, rest)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    finally:
        tracker.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
