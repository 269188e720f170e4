package interop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
)

// MLflow is a tracking server of MLflow, by its REST API. A tag of the run says of each batch when it was begun, and
// when it is complete: a batch that was cut short is sent again with the same times, and the server keeps each value
// once.
type MLflow struct {
	URL        string
	Experiment string

	// Secrets of a request; empty without.
	User, Password, Token string

	run  string            // ID
	tags map[string]string // of the run
}

// Limits of a request of MLflow.
const (
	mlflowMetrics = 1000
	mlflowParams  = 100
	mlflowValue   = 500 // characters of a parameter; older servers allow no more
)

// mlflowTag begins the names of the tags that this program sets.
const mlflowTag = "collabui."

type (
	mlflowKeyValue struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}

	mlflowMetric struct {
		Key       string  `json:"key"`
		Value     float64 `json:"value"`
		Timestamp int64   `json:"timestamp"`
		Step      int     `json:"step"`
	}

	mlflowRun struct {
		Info struct {
			ID string `json:"run_id"`
		} `json:"info"`
		Data struct {
			Tags []mlflowKeyValue `json:"tags"`
		} `json:"data"`
	}
)

// Begin finds the run by a tag, or creates it.
func (m *MLflow) Begin(
	ctx context.Context, run string, params map[string]string, _ []Batch,
) (map[string]bool, error) {
	experiment, err := m.experiment(ctx)
	if err != nil {
		return nil, err
	}
	var found struct{ Runs []mlflowRun }
	err = m.call(ctx, "runs/search", map[string]any{
		"experiment_ids": []string{experiment}, "max_results": 1,
		"filter": fmt.Sprintf("tags.`%srun` = '%s'", mlflowTag, run), // names of runs have no quotes
	}, &found)
	if err != nil {
		return nil, err
	}
	var r mlflowRun
	if len(found.Runs) > 0 {
		r = found.Runs[0]
	} else {
		var created struct{ Run mlflowRun }
		err := m.call(ctx, "runs/create", map[string]any{
			"experiment_id": experiment, "run_name": run, "start_time": time.Now().UnixMilli(),
			"tags": []mlflowKeyValue{{mlflowTag + "run", run}},
		}, &created)
		if err != nil {
			return nil, err
		}
		r = created.Run
	}

	m.run, m.tags = r.Info.ID, map[string]string{}
	done := map[string]bool{}
	for _, t := range r.Data.Tags {
		m.tags[t.Key] = t.Value
		if name, ok := strings.CutPrefix(t.Key, mlflowTag); ok && strings.HasSuffix(t.Value, complete) {
			done[name] = true
		}
	}

	return done, m.params(ctx, params)
}

// experiment returns the ID of the experiment, and creates it if there is none.
func (m *MLflow) experiment(ctx context.Context) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		}
	}
	name := url.QueryEscape(m.Experiment)
	err := m.call(ctx, "experiments/get-by-name?experiment_name="+name, nil, &found)
	if err == nil {
		return found.Experiment.ID, nil
	}
	if !strings.Contains(err.Error(), "RESOURCE_DOES_NOT_EXIST") {
		return "", err
	}
	var created struct {
		ID string `json:"experiment_id"`
	}
	err = m.call(ctx, "experiments/create", map[string]any{"name": m.Experiment}, &created)

	return created.ID, err
}

// params records parameters. The server accepts one again that has the same value.
func (m *MLflow) params(ctx context.Context, params map[string]string) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(params)), mlflowParams) {
		var list []mlflowKeyValue
		for _, key := range some {
			value := []rune(params[key])
			list = append(list, mlflowKeyValue{mlflowName(key), string(value[:min(len(value), mlflowValue)])})
		}
		if err := m.call(ctx, "runs/log-batch", map[string]any{"run_id": m.run, "params": list}, nil); err != nil {
			return err
		}
	}

	return nil
}

// complete ends the tag of a batch that the server has in full.
const complete = " complete"

// Log sends a batch.
func (m *MLflow) Log(ctx context.Context, b Batch) error {
	tag := mlflowTag + b.Name
	if strings.HasSuffix(m.tags[tag], complete) {
		return nil
	}
	begun := cmp.Or(m.tags[tag], strconv.FormatInt(time.Now().UnixMilli(), 10))
	at, err := strconv.ParseInt(begun, 10, 64)
	if err != nil {
		return fault.New(fault.Invalid, "MLflow has the tag %s = %q, expected a time: delete the run there", tag, begun)
	}
	if err := m.tag(ctx, tag, begun); err != nil {
		return err
	}
	var metrics []mlflowMetric
	for _, p := range b.Points {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) { // JSON has no such numbers
			metrics = append(metrics, mlflowMetric{mlflowName(p.Tag()), p.Value, at, p.Step})
		}
	}
	for some := range slices.Chunk(metrics, mlflowMetrics) {
		if err := m.call(ctx, "runs/log-batch", map[string]any{"run_id": m.run, "metrics": some}, nil); err != nil {
			return err
		}
	}

	return m.tag(ctx, tag, begun+complete)
}

// tag sets a tag of the run.
func (m *MLflow) tag(ctx context.Context, key, value string) error {
	err := m.call(ctx, "runs/set-tag", map[string]any{"run_id": m.run, "key": key, "value": value}, nil)
	if err == nil {
		m.tags[key] = value
	}

	return err
}

// End marks the run as finished.
func (m *MLflow) End(ctx context.Context) error {
	const ended = mlflowTag + "ended"
	if m.tags[ended] != "" {
		return nil
	}
	now := time.Now().UnixMilli()
	err := m.call(ctx, "runs/update", map[string]any{"run_id": m.run, "status": "FINISHED", "end_time": now}, nil)
	if err != nil {
		return err
	}

	return m.tag(ctx, ended, strconv.FormatInt(now, 10))
}

// unnamed are characters that names of MLflow cannot have.
var unnamed = regexp.MustCompile(`[^\w\-./ ]`)

func mlflowName(s string) string { return unnamed.ReplaceAllString(s, "_") }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 8 << 20

// call sends a request, a GET without a body, and decodes the answer unless out is nil.
func (m *MLflow) call(ctx context.Context, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	method, raw := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return fault.As(fault.Fatal, err)
		}
		method = http.MethodPost
	}
	to := strings.TrimSuffix(m.URL, "/") + "/api/2.0/mlflow/" + path
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(raw))
	if err != nil {
		return fault.New(fault.Invalid, "address of MLflow: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	switch {
	case m.Token != "":
		req.Header.Set("Authorization", "Bearer "+m.Token)
	case m.User != "":
		req.SetBasicAuth(m.User, m.Password)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fault.New(fault.Transient, "MLflow does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fault.New(fault.Transient, "MLflow: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		kind := fault.Invalid
		if answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
			kind = fault.Transient
		}

		return fault.New(kind, "MLflow refuses %s with %s: %.300s", path, answer.Status, got)
	}
	if out == nil {
		return nil
	}

	return fault.As(fault.Invalid, json.Unmarshal(got, out))
}
