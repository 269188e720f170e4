package external

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer"
)

// collect stores the policy of a finished job and returns its result.
func (w *watch) collect(ctx context.Context) (trainer.Result, error) {
	out := trainer.Result{Steps: w.end, Curve: w.curve(), Skipped: w.cmd.Skipped}
	for _, point := range out.Curve {
		if notNumber(point) {
			return trainer.Result{Diverged: fmt.Sprintf("the loss is not a number at step %d", point.Step)}, nil
		}
	}

	files, metrics, done := w.t.Tool.Result(w.f)
	if w.end < w.cmd.Total || !done {
		var err error
		if files, metrics, err = w.t.Tool.Policy(w.f, w.t.Tool.Checkpoints(w.f)[w.end]); err != nil {
			return out, err
		}
	}

	for name, file := range files {
		if ok, err := finite(name, file); err != nil {
			return out, err
		} else if !ok {
			return trainer.Result{Diverged: "the parameters are not numbers"}, nil
		}
	}

	out.Skipped += int(metrics["skipped_rows"])
	artifact := domain.Artifact{Kind: w.cmd.Kind, Base: w.f.Base.Base, Rank: w.cmd.Rank}
	artifact, digest, err := PutArtifact(ctx, w.t.Bucket, artifact, files)
	if err != nil {
		return out, err
	}

	out.Digest = digest
	out.TensorDigest = artifact.TensorDigest()
	out.Report = &domain.TrainReport{
		Command:  w.cmd.Args,
		Versions: <-w.versions,
		Metrics:  metrics,
		Files:    artifact.Files,
	}
	if w.f.Halved > 0 {
		out.Report.PerDevice = w.cmd.PerDevice
	}
	log, err := putFiles(ctx, w.t.Bucket, map[string]string{filepath.Base(w.f.Log()): w.f.Log()})
	if err == nil { // A policy without its log is still a policy.
		out.Report.Log = &log[0]
	}

	return out, nil
}

// curve returns the points up to the end of the run. The program may already have gone beyond Job.Until.
func (w *watch) curve() []domain.TrainPoint {
	points := slices.DeleteFunc(w.t.Tool.Points(w.f), func(point domain.TrainPoint) bool { return point.Step > w.end })
	for i := range points {
		points[i].Steps = w.cmd.Total
		points[i].Live = ""
	}

	return points
}
