"""Reads what `export --as` wrote with the package of the format, and prints what it has: read_tools.py FORMAT FOLDER."""

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


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](pathlib.Path(sys.argv[2])), sys.stdout)
