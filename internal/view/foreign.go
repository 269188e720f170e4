package view

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/interop"
)

// The kinds of documents about trajectories of other programs.
const (
	docTrajectories = "trajectories"
	docTrajectory   = "trajectory" // NUMBER, from 1
)

// trajectoryRow is a line about a trajectory, with its texts for searching.
type trajectoryRow struct {
	Number int      `json:"n"`
	File   string   `json:"file"`
	ID     string   `json:"id,omitempty"`
	Format string   `json:"format"`
	Task   string   `json:"task"`
	Agent  string   `json:"agent,omitempty"`
	Model  string   `json:"model,omitempty"`
	Scores []string `json:"scores,omitempty"`
	Error  string   `json:"error,omitempty"`
	Tokens int      `json:"tokens,omitempty"`
	Turns  int      `json:"turns"`
	Said   []string `json:"said"`
}

// Foreign returns the handler of pages about trajectories that other programs wrote. It reads no store.
func Foreign(title string, all []interop.Trajectory) http.Handler {
	rows := []trajectoryRow{}
	for i, t := range all {
		line := trajectoryRow{
			Number: i + 1, File: t.File, ID: t.ID, Format: t.Format, Task: t.Task, Agent: t.Agent, Model: t.Model,
			Scores: t.Scores, Error: t.Error, Tokens: t.Tokens, Turns: len(t.Turns), Said: []string{},
		}
		for _, turn := range t.Turns {
			if turn.Text != "" {
				line.Said = append(line.Said, turn.Text)
			}
		}
		rows = append(rows, line)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(site()))
	mux.HandleFunc("GET /data/{path...}", func(w http.ResponseWriter, r *http.Request) {
		path, _ := strings.CutSuffix(r.PathValue("path"), ".js")
		kind, number, _ := strings.Cut(path, "/")
		var body any
		switch n, err := strconv.Atoi(number); {
		case path == docIndex:
			content := newIndex(Names{})
			content.Title = title
			content.Foreign = true
			body = content
		case path == docTrajectories:
			body = rows
		case kind == docTrajectory && err == nil && 0 < n && n <= len(all):
			body = all[n-1]
		}
		raw := failedScript(path, "There is no such trajectory.")
		if body != nil {
			var err error
			if raw, err = plainScript(path, body); err != nil {
				raw = failedScript(path, err.Error())
			}
		}
		w.Header().Set("Content-Type", scriptType)
		_, _ = w.Write(raw)
	})

	return secured(mux)
}
