"""Logs a run to Weights & Biases with the official package.

Reads JSON lines on the standard input and answers each with one on the standard output. The first says which run it is;
the answer has the number of the first row that W&B does not have. Each further one has rows, from a number on. After
the last line the run is finished.
"""

import json
import os
import pathlib
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of the input ends this program
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # what packages print is no answer

BLOCK = 1 << 15


def records(path):
    """Yields the records of an offline run: a file of LevelDB's log format, with 7 bytes before it."""
    raw = path.read_bytes()
    at, parts = 7, b""
    while at + 7 <= len(raw):
        if BLOCK - at % BLOCK < 7:  # a block ends with zeros if no header fits
            at += BLOCK - at % BLOCK
            continue
        size, kind = int.from_bytes(raw[at + 4 : at + 6], "little"), raw[at + 6]
        body = raw[at + 7 : at + 7 + size]
        if len(body) < size or kind == 0:
            return  # the program was killed when it wrote this
        at += 7 + size
        parts = body if kind in (1, 2) else parts + body
        if kind in (1, 4):
            yield parts


def rows_offline(settings):
    """Returns the number of rows that offline runs in the folder of runs have."""
    from wandb.proto import wandb_internal_pb2 as proto

    rows = 0
    for path in pathlib.Path(settings.wandb_dir).glob(f"offline-run-*-{settings.run_id}/run-{settings.run_id}.wandb"):
        same, steps = False, 0
        for raw in records(path):
            r = proto.Record.FromString(raw)
            if r.HasField("run"):
                same = r.run.project == settings.project and r.run.entity == (settings.entity or "")
            if r.HasField("history"):
                steps = max(steps, r.history.step.num + 1)
        if same:
            rows = max(rows, steps)
    return rows


def begin(first):
    import wandb

    run = wandb.init(
        project=first["project"], entity=first["entity"] or None, id=first["id"], name=first["id"], resume="allow",
        config=first["params"], allow_val_change=True, settings=wandb.Settings(silent=True, console="off"),
    )
    have = rows_offline(run.settings) if run.settings._offline else run.step
    return run, have


def log(run, row, number, known):
    axis = next(a for a in ("optimiser_step", "epoch") if a in row)
    for key in row.keys() - known:
        run.define_metric(key, step_metric=None if key == axis else axis, hidden=key == axis)
        known.add(key)
    run.log(row, step=number, commit=True)


def main():
    run, known = None, set()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if run is None:
                run, have = begin(command)
                answer = {"have": have}
            else:
                for i, row in enumerate(command["rows"]):
                    log(run, row, command["first"] + i, known)
                answer = {}
        except Exception as e:  # of any kind: the other program says it
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), file=answers)
        if "error" in answer:
            return
    if run is not None:
        run.finish()


main()
