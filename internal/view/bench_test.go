package view_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// filed returns the objects of a store as files.
func filed(b *testing.B, from *store.Memory) store.Files {
	b.Helper()
	files := store.Files{Dir: b.TempDir()}
	all, err := from.List(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, ref := range all {
		body, err := from.Get(b.Context(), ref.Key)
		if err == nil {
			err = disk.Write(files.Dir, ref.Key, body)
		}
		if err != nil {
			b.Fatal(err)
		}
	}

	return files
}

// BenchmarkTheFirstPageOfAThousandRuns opens the first page of 1,000 runs in Chromium, until its table is drawn. Every
// viewer has just started.
func BenchmarkTheFirstPageOfAThousandRuns(b *testing.B) {
	var written store.Memory
	names := view.Names{}
	for i := range 1000 {
		name := fmt.Sprintf("run-%04d", i)
		ended(b, &written, name, i%50, 50+i%50)
		names.Runs = append(names.Runs, name)
	}
	bucket := filed(b, &written)
	x := newTab(b)
	for b.Loop() {
		s := view.Server{
			Library: library(bucket, 1), Index: func(context.Context) (view.Names, error) { return names, nil },
			Events: func(context.Context, string, string) (int, string) { return 0, "0" },
		}
		srv := httptest.NewServer(s.Handler(b.Context()))
		x.open(srv.URL+"/", "document.querySelectorAll('.line.place').length > 20")
		srv.CloseClientConnections()
		srv.Close()
	}
}

// BenchmarkAReportOfTenThousandEpisodes opens the list of episodes of a report in a folder, until its lines are drawn,
// and one episode in the middle of it.
func BenchmarkAReportOfTenThousandEpisodes(b *testing.B) {
	const episodes = 10_000
	var written store.Memory
	run := crafted(b, &written)
	step := hostileStep()
	slots := runs.Slots{Epoch: 2}
	for number := 1; number <= episodes; number++ {
		slots.Slots = append(slots.Slots, domain.Slot{
			Epoch: 2, Number: number,
			Task: domain.Task{Template: "tap", Split: "train", Seed: uint64(number), MaxSteps: 3},
		})
	}
	record(b, &written, run.Topology(2), domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}})
	record(b, &written, run.Slots(2), slots)
	for _, slot := range slots.Slots {
		record(b, &written, run.Start(2, slot.Number, 1), runs.Start{Slot: slot, Attempt: 1})
		ref := record(b, &written, run.Step(2, slot.Number, 1, 1), runs.Step{Step: step})
		record(b, &written, run.Attempt(2, slot.Number, 1), runs.Episode{
			Slot: slot, Attempt: 1, Goal: "one of many", Steps: []store.Ref{ref},
			Outcome: domain.Outcome{Success: slot.Number%2 == 0, Steps: 1},
		})
	}
	url := writeReport(b, &written, string(run))
	x := newTab(b)
	for _, page := range []struct{ name, hash, drawn string }{
		{"list", "#/run/crafted/episodes?epoch=2", "document.querySelectorAll('.line.place').length > 20"},
		{"episode", "#/episode/crafted/2/5000", "document.body.innerText.includes('Decision in step 1')"},
	} {
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				x.open("about:blank", "true")
				x.open(url+page.hash, page.drawn)
			}
		})
	}
}
