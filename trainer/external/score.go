package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/proc"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Scorer is a Tool whose libraries can score answers. It may be implemented in addition to Tool.
type Scorer interface {
	// Scoring returns what to run for the options of a job. An error that wraps trainer.ErrNoScores means that this
	// host cannot score.
	Scoring(options json.RawMessage) (Scoring, error)
}

// Scoring is a script that scores answers. Its argument is a file with the JSON of scoreJob, and it writes a list of
// trainer.Score to the file that the job names. It ends with the status cannotScore if it lacks what it needs.
type Scoring struct {
	Python    string
	Script    []byte
	Precision domain.Precision
	Template  string   // the program's name of the chat template; "" means the tokenizer's own
	Devices   int      // 1, or 0 for the CPU
	Env       []string // added to this process's environment
}

// cannotScore is the exit status of a script that lacks a package or a chat template.
const cannotScore = 3

// scoreJob is the job of a script that scores answers.
type scoreJob struct {
	Model     string                `json:"model"`    // folder of the base model
	Policies  map[string]scoredFile `json:"policies"` // by digest
	Precision domain.Precision      `json:"precision"`
	Template  string                `json:"template"`
	System    string                `json:"system"`
	Rows      []scoredRow           `json:"rows"`
	Out       string                `json:"out"`
}

// scoredFile is where a policy lies.
type scoredFile struct {
	Kind domain.ArtifactKind `json:"kind"`
	Dir  string              `json:"dir"`
}

// scoredRow is a row as the script reads it.
type scoredRow struct {
	Policy      string  `json:"policy"`
	Prompt      string  `json:"prompt"`
	Image       string  `json:"image"` // file; empty without a picture
	Answer      string  `json:"answer"`
	Sampled     bool    `json:"sampled"`
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
}

// score is what the script writes of a row.
type score struct {
	LogProb float64 `json:"logprob"`
	Tokens  int     `json:"tokens"`
	Prompt  int     `json:"prompt"`
	IDs     string  `json:"ids"`
	Scaled  float64 `json:"scaled"`
	Cut     float64 `json:"cut"`
}

var _ trainer.Scorer = (*Trainer)(nil)

// Score scores answers with the tool's libraries, on the files of the policies as the store has them.
func (t *Trainer) Score(ctx context.Context, job trainer.ScoreJob) (trainer.Scores, error) {
	tool, ok := t.Tool.(Scorer)
	if !ok {
		return trainer.Scores{}, trainer.ErrNoScores
	}
	scoring, err := tool.Scoring(job.Options)
	if err != nil {
		return trainer.Scores{}, err
	}
	dir, err := os.MkdirTemp("", "collabui-scores-")
	if err != nil {
		return trainer.Scores{}, explainIO(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	request, err := t.scoreJob(ctx, job, scoring, dir)
	if err != nil {
		return trainer.Scores{}, err
	}
	request.Out = filepath.Join(dir, "scores.json")
	if err := t.runScoring(ctx, dir, scoring, request); err != nil {
		return trainer.Scores{}, err
	}

	return readScores(request, scoring.Precision)
}

// scoreJob returns the script's job, with the policies on this host, and the pictures in a folder.
func (t *Trainer) scoreJob(
	ctx context.Context, job trainer.ScoreJob, scoring Scoring, dir string,
) (scoreJob, error) {
	base, err := t.base(job.Options)
	if err != nil {
		return scoreJob{}, err
	}
	out := scoreJob{
		Model: base.Dir, Policies: map[string]scoredFile{}, Precision: scoring.Precision, Template: scoring.Template,
		System: domain.BreakTokens(job.System),
	}
	for _, row := range job.Rows {
		if _, known := out.Policies[row.Policy]; !known {
			local, err := t.local(ctx, row.Policy, base)
			if err != nil {
				return out, err
			}
			out.Policies[row.Policy] = scoredFile{Kind: local.Kind, Dir: local.Dir}
		}
		picture := ""
		if row.Image != "" {
			picture = filepath.Join(dir, row.Image+".png")
			if err := store.GetBlobFile(ctx, t.Bucket, row.Image, picture); err != nil {
				return out, fmt.Errorf("picture of an answer: %w", err)
			}
		}
		out.Rows = append(out.Rows, scoredRow{
			Policy:      row.Policy,
			Prompt:      domain.BreakTokens(row.Prompt),
			Image:       picture,
			Answer:      domain.BreakTokens(row.Answer),
			Sampled:     row.Sampled,
			Temperature: row.Temperature,
			TopP:        row.TopP,
		})
	}

	return out, nil
}

// runScoring runs the script on free devices, while a server that shares them sleeps.
func (t *Trainer) runScoring(ctx context.Context, dir string, scoring Scoring, request scoreJob) error {
	raw, err := json.Marshal(request)
	if err != nil {
		return fault.As(fault.Fatal, err)
	}
	script := filepath.Join(dir, "score.py")
	job := filepath.Join(dir, "job.json")
	if err := errors.Join(os.WriteFile(script, scoring.Script, 0o644), os.WriteFile(job, raw, 0o644)); err != nil {
		return explainIO(err)
	}

	ids, release, err := t.Devices.Take(ctx, scoring.Devices)
	if err != nil {
		return err
	}
	defer release()
	if t.Share != nil && len(ids) > 0 {
		wake, err := t.Share.Sleep(ctx)
		if err != nil {
			return err
		}
		defer wake()
	}

	var said bytes.Buffer
	program := exec.Command(scoring.Python, script, job)
	program.Dir = dir
	program.Stdout = &said
	program.Stderr = &said
	program.Env = append(Environ(), scoring.Env...)
	program.Env = append(program.Env, "CUDA_VISIBLE_DEVICES="+strings.Join(ids, ","))
	if err := proc.Start(program); err != nil {
		return fmt.Errorf("%w: start %s: %w", trainer.ErrNoScores, scoring.Python, err)
	}
	stop := context.AfterFunc(ctx, func() { proc.KillGroup(program) })
	err = program.Wait()
	stop()
	proc.KillGroup(program)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	return explainScoring(err, said.String())
}

// explainScoring turns the end of the script into an error.
func explainScoring(exit error, said string) error {
	var ended *exec.ExitError
	switch {
	case exit == nil:
		return nil
	case errors.As(exit, &ended) && ended.ExitCode() == cannotScore:
		return fmt.Errorf("%w: %s", trainer.ErrNoScores, strings.TrimSpace(Tail(said)))
	case errors.As(exit, &ended) && !ended.Exited(), BadDevice.MatchString(said):
		return fault.New(fault.Transient, "the script that scores answers was killed (%v)\n%s", exit, Tail(said))
	}

	return fault.New(fault.Invalid, "the script that scores answers failed (%v); `serving.canaries: 0` leaves it "+
		"out\n%s", exit, Tail(said))
}

// readScores reads what the script wrote.
func readScores(request scoreJob, precision domain.Precision) (trainer.Scores, error) {
	raw, err := os.ReadFile(request.Out)
	if err != nil {
		return trainer.Scores{}, explainIO(err)
	}
	var got []score
	if err := json.Unmarshal(raw, &got); err != nil || len(got) != len(request.Rows) {
		return trainer.Scores{}, fault.New(fault.Fatal, "the script that scores answers wrote %d scores of %d rows: %w",
			len(got), len(request.Rows), err)
	}

	out := trainer.Scores{Precision: precision}
	for _, s := range got {
		out.Scores = append(out.Scores, trainer.Score{
			LogProb: s.LogProb, Tokens: s.Tokens, Prompt: s.Prompt, IDs: s.IDs, Scaled: s.Scaled, Cut: s.Cut,
		})
	}

	return out, nil
}
