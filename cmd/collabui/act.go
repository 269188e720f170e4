package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// actor does what people ask for on pages of the viewer, as the commands do it.
type actor struct {
	bucket store.Bucket
	ends   config.Endpoints
}

// act does it and says what has been done.
func (x actor) act(ctx context.Context, who string, a view.Act) (string, error) {
	if who == "" {
		who = userName()
	}
	switch a.Verb {
	case view.ActNote:
		c := runs.Change{Who: who, Why: a.Why, At: time.Now().UTC(), Link: a.Link}

		return "The note is recorded with the run.", runs.Run(a.Run).Note(ctx, x.bucket, c)
	case view.ActQuarantine:
		return x.quarantine(ctx, who, a)
	case view.ActOverride:
		return x.override(ctx, who, a)
	}

	return "", fault.New(fault.Invalid, "%q is unknown; expected one of %v", a.Verb, view.Acts)
}

// quarantine draws no slots from a template any more.
func (x actor) quarantine(ctx context.Context, who string, a view.Act) (string, error) {
	s, err := runs.Run(a.Run).Current(ctx, x.bucket)
	if err != nil {
		return "", err
	}
	if a.Template == "" || slices.Contains(s.Quarantine, a.Template) {
		return "", fault.New(fault.Invalid, "the template %q is in quarantine already", a.Template)
	}
	list, err := json.Marshal(append(slices.Clone(s.Quarantine), a.Template))
	if err != nil {
		return "", fault.As(fault.Fatal, err)
	}
	typed := map[string]string{"quarantine": string(list)}
	_, err = changeRun(ctx, x.bucket, x.ends, s, typed, spec.Source{}, workflows.Command{Who: who, Why: a.Why})

	return "From the next epoch that begins, no slot is drawn from " + a.Template + ".", err
}

// override makes a fork in which a cell has another label. The run itself stays as it is: what was graded is kept.
func (x actor) override(ctx context.Context, who string, a view.Act) (string, error) {
	if a.Name == "" {
		return "", fault.New(fault.Invalid, "say how the new run is called: the label counts in a fork of %s", a.Run)
	}
	if a.Label < domain.Uncertain || a.Label > domain.Positive {
		return "", fault.New(fault.Invalid, "the label %d is unknown; expected 1, 0 or -1", a.Label)
	}
	f, err := fork.Plan(ctx, x.bucket, fork.Request{
		Run: runs.Run(a.Run), Name: runs.Run(a.Name), Epoch: a.Epoch - 1, Who: who, Why: a.Why, At: time.Now().UTC(),
		Cells: []runs.Relabel{{Slot: a.Slot, Step: a.Step, Agent: a.Agent, Round: a.Round, Label: a.Label}},
	}, spec.Source{}, catalog.All{})
	if err != nil {
		return "", err
	}
	if err := f.Make(ctx, x.bucket, func(int) {}); err != nil {
		return "", err
	}

	return fmt.Sprintf("The fork %s has the label, and shares %d objects with %s. Run it with: collabui train %[1]s",
		a.Name, f.Objects, a.Run), nil
}
