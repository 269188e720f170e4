"""Reads what `export --as` wrote, or what python/collabui_track.py logged, with the package that it belongs to, and prints
what it has: read_tools.py FORMAT FOLDER."""

import json
import pathlib
import sys


def atif(folder):
    from harbor.models.trajectories import Trajectory
    from harbor.utils.trajectory_validator import TrajectoryValidator

    out = {}
    for path in sorted(folder.rglob("*.json")):
        validator = TrajectoryValidator()
        assert validator.validate(path), (path, validator.errors)
        t = Trajectory.model_validate_json(path.read_text())
        known = {s.trajectory_id: s for s in t.subagent_trajectories or []}
        refs = [
            ref.trajectory_id
            for step in t.steps
            for result in (step.observation.results if step.observation else [])
            for ref in result.subagent_trajectory_ref or []
        ]
        assert refs == list(known), (path, refs, list(known))
        out[str(path.relative_to(folder))] = {
            "steps": len(t.steps),
            "subagents": len(known),
            "answers": sum(s.source == "agent" for k in known.values() for s in k.steps),
        }
    return out


def inspect(folder):
    import subprocess

    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries

    out = {}
    paths = sorted(folder.glob("*.eval"))
    assert len(list_eval_logs(str(folder))) == len(paths)
    for path in paths:
        log, header = read_eval_log(str(path)), read_eval_log(str(path), header_only=True)
        summaries = read_eval_log_sample_summaries(str(path))
        assert header.samples is None and header.eval == log.eval and header.results == log.results
        assert [s.id for s in summaries] == log.eval.dataset.sample_ids == [s.id for s in log.samples]
        for s in log.samples:
            one = read_eval_log_sample(str(path), s.id)
            assert one.model_dump() == s.model_dump()
            spans = [e.id for e in s.events if e.event == "span_begin"]
            assert len(set(spans)) == len(spans)
            assert sorted(spans) == sorted(e.id for e in s.events if e.event == "span_end")
        out[path.name] = {
            "status": log.status,
            "samples": len(log.samples),
            "errors": sum(s.error is not None for s in log.samples),
            "retries": sum(len(s.error_retries or []) for s in log.samples),
            "scored": log.results.scores[0].scored_samples,
            "successes": sum(s.scores["success"].value for s in log.samples if s.scores),
            "accuracy": log.results.scores[0].metrics["accuracy"].value,
            "models": sum(e.event == "model" for s in log.samples for e in s.events),
            "tools": sum(e.event == "tool" for s in log.samples for e in s.events),
        }
    command = [sys.executable, "-m", "inspect_ai", "log", "dump", str(path)]
    dumped = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert len(dumped["samples"]) == len(log.samples)
    return out


def mlflow(folder):
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{folder}/mlflow.db")
    (experiment,) = [e for e in client.search_experiments() if e.name == "here"]
    runs = client.search_runs([experiment.experiment_id])
    curves = {}
    for run in runs:
        for key in run.data.metrics:
            history = client.get_metric_history(run.info.run_id, key)
            curves.setdefault(key, []).extend([m.step, m.value] for m in history)
    ended = all(run.info.status == "FINISHED" for run in runs)
    return {"runs": len(runs), "parameters": len(runs[0].data.params), "ended": ended, "curves": curves}


def tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    runs = {path.parent for path in folder.rglob("*tfevents*")}
    curves = {}
    for run in runs:
        events = EventAccumulator(str(run), size_guidance={"scalars": 0})
        events.Reload()
        assert events.file_version == 2, events.file_version
        for tag in events.Tags()["scalars"]:
            curves.setdefault(tag, []).extend([e.step, e.value] for e in events.Scalars(tag))
    return {"runs": len(runs), "curves": curves}


def wandb(folder):
    from wandb.proto import wandb_internal_pb2 as proto
    from wandb.sdk.internal.datastore import DataStore

    ids, config, curves, numbers = set(), set(), {}, []
    for path in sorted(folder.rglob("*.wandb")):
        store = DataStore()
        store.open_for_scan(str(path))
        while (raw := store.scan_data()) is not None:
            r = proto.Record.FromString(raw)
            if r.HasField("run"):
                ids.add(f"{r.run.entity}/{r.run.project}/{r.run.run_id}")
                config.update(u.key for u in r.run.config.update)
            if r.HasField("history"):
                row = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in r.history.item}
                numbers.append(r.history.step.num)
                axis = row.get("epoch", row.get("optimiser_step"))
                for key, value in row.items():
                    if not key.startswith("_") and key not in ("epoch", "optimiser_step"):
                        curves.setdefault(key, []).append([axis, value])
    assert numbers == list(range(len(numbers))), numbers
    assert all(i.startswith("team/here/curved-") for i in ids), ids
    return {"runs": len(ids), "parameters": len(config), "curves": curves}


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](pathlib.Path(sys.argv[2])), sys.stdout)
