package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/workflows"
)

// live describes what a run is doing now.
type live struct {
	workflows.Progress
	Level     string        `json:"level,omitempty"`      // what the phase belongs to
	PerMinute float64       `json:"per_minute,omitempty"` // units that the phase counts
	LeftS     float64       `json:"left_s,omitempty"`     // seconds until the phase ends, at that rate
	Around    *surroundings `json:"around,omitempty"`
	pending
}

// surroundings are the workers, and the servers that they see. They are unknown without Redis.
type surroundings struct {
	Workers      int                  `json:"workers"`
	Environments []envadapters.Server `json:"environment_servers,omitempty"`
	Policies     []envadapters.Server `json:"policy_servers,omitempty"`
}

// open reports whether the workflow of the run is open.
func (st *status) open() bool {
	return st.Status == stateRunning || st.Status == statePaused || st.Status == stateStopping
}

// readLive queries the open workflows of a run for their progress, and the workers for their state.
func (st *status) readLive(ctx context.Context, e config.Endpoints) {
	if !st.open() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	t, err := dial(ctx, e)
	if err != nil {
		return
	}
	defer t.Close()

	l := &live{}
	var wg sync.WaitGroup
	wg.Go(func() { l.read(ctx, t, st.told) })
	wg.Go(func() { l.pending = readPending(ctx, t, st.Name) })
	wg.Go(func() { l.Around = readSurroundings(ctx, e, st.spec) })
	wg.Wait()
	st.Live = l
}

// read queries a run for its progress. It returns false if no workflow answers.
func (l *live) read(ctx context.Context, t client.Client, st workflows.Status) (ok bool) {
	l.Progress, l.Level, ok = progressOf(ctx, t, st)
	done, all := l.counted()
	if took := time.Since(l.Since); 0 < done && done < all && !l.Since.IsZero() {
		l.PerMinute = float64(done) / took.Minutes()
		l.LeftS = took.Seconds() / float64(done) * float64(all-done)
	}

	return ok
}

// counted returns how much of the phase is done, and the total.
func (l *live) counted() (done, all int) {
	if l.Phase == workflows.PhaseUpdates {
		return l.Updates, l.Agents
	}

	return l.Done, l.Slots
}

// readSurroundings reads the workers' reports on themselves and on the servers that the run's specification names.
func readSurroundings(ctx context.Context, e config.Endpoints, s spec.Spec) *surroundings {
	client, err := e.OpenRedis()
	if err != nil {
		return nil
	}
	if client != nil {
		defer func() { _ = client.Close() }()
	}
	stream := events.Over(client)
	named := map[string]bool{}
	for name := range s.Environments {
		for _, address := range s.Where(name).Servers {
			named[address] = true
		}
	}
	for _, address := range s.Where(s.Environment).Servers {
		named[address] = true
	}
	var out surroundings
	for _, w := range stream.Workers(ctx) {
		out.Workers++
		for _, x := range w.Servers {
			if named[x.Address] {
				out.Environments = worst(out.Environments, x)
			}
		}
		for _, x := range w.Policies {
			out.Policies = worst(out.Policies, x)
		}
	}
	if out.Workers == 0 {
		return nil
	}

	return &out
}

// worst adds the state of a server to a list. If any worker reports a problem with the server, the problem counts.
func worst(all []envadapters.Server, x envadapters.Server) []envadapters.Server {
	for i, a := range all {
		if a.Address == x.Address {
			if a.State == envadapters.Ready {
				all[i] = x
			}

			return all
		}
	}

	return append(all, x)
}

// text prints what a run is doing now.
func (l *live) text(w io.Writer) {
	if l == nil {
		return
	}
	if l.Phase != "" {
		say(w, "now: %s", l.line(false))
	}
	for _, x := range l.Stuck {
		say(w, "%s", x)
	}
	for _, j := range l.Jobs {
		say(w, "  %s", j.Now)
	}
	for _, x := range l.Again {
		say(w, "tried again: %s in %s, try %d%s: %s", x.Activity, x.Of, x.Tries, others(x.Number-1), x.Why)
	}
	l.Around.text(w)
}

// units are the things that phases count, if not episodes.
var units = map[string]string{
	workflows.PhaseDemonstrations: "demonstrations",
	workflows.PhaseExploration:    "tasks explored",
	workflows.PhaseSynthesis:      "trajectories written about",
	workflows.PhaseUpdates:        "agents",
}

// line describes the phase, with a bar if bar is set.
func (l *live) line(bar bool) string {
	out := l.Phase
	if l.Level != "" {
		out = l.Level + ", " + out
	}
	if l.Steps > 0 {
		out += fmt.Sprintf(" after %d optimiser steps", l.Steps)
	}
	if done, all := l.counted(); all > 0 {
		before := ","
		if bar {
			before = " " + blocks(done, all)
		}
		out += fmt.Sprintf("%s %d of %d %s", before, done, all, cmp.Or(units[l.Phase], "episodes"))
	}
	if l.Done > 0 && l.Plays() {
		out += fmt.Sprintf(", %.1f %% right", 100*float64(l.Successes)/float64(l.Done))
	}
	if l.Pairs > 0 {
		out += fmt.Sprintf(", %d pairs", l.Pairs)
	}
	if l.Next != nil {
		out += fmt.Sprintf(", %d of %d episodes of the next epoch", l.Next.Done, l.Next.Slots)
	}
	if l.Failed > 0 {
		out += fmt.Sprintf(", %d failed", l.Failed)
	}
	if l.PerMinute > 0 {
		out += fmt.Sprintf(", %.1f per minute, about %v left", l.PerMinute,
			time.Duration(l.LeftS*float64(time.Second)).Round(time.Second))
	}

	return out
}

func others(n int) string {
	if n < 1 {
		return ""
	}

	return fmt.Sprintf(" (and %d others)", n)
}

// text prints the number of workers, and the servers that do not respond.
func (s *surroundings) text(w io.Writer) {
	if s == nil {
		return
	}
	say(w, "workers: %d; environment servers: %s; policy servers: %s", s.Workers, counted(s.Environments),
		counted(s.Policies))
	for _, x := range s.broken() {
		say(w, "  %s: %s, %s", x.Address, x.State, x.Detail)
	}
}

// broken returns the servers that are neither ready nor busy.
func (s *surroundings) broken() (out []envadapters.Server) {
	if s == nil {
		return nil
	}
	for _, x := range append(slices.Clone(s.Environments), s.Policies...) {
		if x.State != envadapters.Ready && x.State != envadapters.Busy {
			out = append(out, x)
		}
	}

	return out
}

// counted returns how many servers respond.
func counted(all []envadapters.Server) string {
	if len(all) == 0 {
		return "none"
	}
	broken := (&surroundings{Environments: all}).broken()

	return fmt.Sprintf("%d of %d answer", len(all)-len(broken), len(all))
}
