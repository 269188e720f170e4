package status

import (
	"context"
	"io"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// stage1 describes what stage 1 of a run has made so far.
type stage1 struct {
	Run   string       `json:"run"`
	Base  *runs.Base   `json:"base,omitempty"`
	Cards []synth.Card `json:"cards"` // of the data of the levels

	of spec.FineTune
}

// ShowStage1 prints what stage 1 of a run has made so far.
func ShowStage1(ctx context.Context, a *app.App, bucket store.Bucket, name string) error {
	run := runs.Run(name)
	specification, err := run.Find(ctx, bucket)
	if err != nil {
		return err
	}
	x := stage1{Run: name, Cards: []synth.Card{}, of: specification.FineTune}
	sets, err := run.Levels(ctx, bucket)
	if err != nil {
		return err
	}
	for _, set := range sets {
		x.Cards = append(x.Cards, set.Card)
	}
	base, there, err := run.Base().May(ctx, bucket)
	if err != nil {
		return err
	}
	if there {
		x.Base = &base
	}

	return a.Print(x, x.text)
}

// text prints the data cards, or the reason why they are missing, and the base policy.
func (x stage1) text(out io.Writer) {
	switch {
	case len(x.Cards) > 0:
	case len(x.of.Levels) > 0:
		terminal.Line(out, "no level of stage 1 has its data yet")
	case x.of.Base != "":
		terminal.Line(out, "stage 1 trains nothing: the run begins with the policy of finetune.base")
	default:
		terminal.Line(out, "stage 1 has no levels: it is SFT on expert demonstrations")
	}
	for _, card := range x.Cards {
		terminal.Line(out, "%s", card.Text())
	}
	if x.Base == nil {
		return
	}
	for _, evalPoint := range x.Base.Curve {
		terminal.Line(out, "after %5d optimiser steps one agent on val %5.1f %%", evalPoint.At, 100*evalPoint.Rate)
	}
	terminal.Line(out, "base policy %s", x.Base.Policy.Digest)
}

// Stage1 is the value of --until.
const Stage1 = "stage-1"
