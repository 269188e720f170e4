package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestWhatATrainedSystemIsUsedBy(t *testing.T) {
	r := testrun.New(t, testrun.Tiny())
	if _, err := export(t.Context(), r.Bucket, "small", "", t.TempDir(), 1); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "no data of stage 1 yet") {
		t.Errorf("a run that has nothing: %v", err)
	}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("once", func(t *testing.T) { once(t, r, sys) })
	t.Run("events", func(t *testing.T) { showsEvents(t, r, sys) })
	t.Run("export", func(t *testing.T) { exports(t, r, sys) })
}

// once answers a request from a file in text and JSON, which say the same.
func once(t *testing.T, r *testrun.Run, sys infer.System) {
	file := filepath.Join(t.TempDir(), "request")
	if err := os.WriteFile(file, []byte("Goal: Tap ab\nHistory: none\nScreen:\n0 button ab\n1 button cd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var text, raw bytes.Buffer
	if err := (&app{out: &text}).inferOnce(t.Context(), sys, r.Deps.Chat, file, 0); err != nil {
		t.Fatal(err)
	}
	if err := (&app{out: &raw, json: true}).inferOnce(t.Context(), sys, r.Deps.Chat, file, 0); err != nil {
		t.Fatal(err)
	}
	var a infer.Answer
	if err := json.Unmarshal(raw.Bytes(), &a); err != nil || len(a.Collabui.Decision.Cells) != 8 || a.Choices[0].Message.Content == "" {
		t.Fatalf("%s %v", raw.String(), err)
	}
	if !strings.HasSuffix(text.String(), a.Choices[0].Message.Content+"\n") || strings.Count(text.String(), "  agent ") != 4 || strings.Count(text.String(), " *") != a.Collabui.Votes[0].Votes {
		t.Errorf("%s\n%s", text.String(), raw.String())
	}
	if err := os.WriteFile(file, make([]byte, maxRequest+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&app{out: &text}).inferOnce(t.Context(), sys, r.Deps.Chat, file, 0); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	if err := (&app{out: &text}).inferOnce(t.Context(), sys, r.Deps.Chat, file+"x", 0); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// showsEvents shows an episode in text and JSON.
func showsEvents(t *testing.T, r *testrun.Run, sys infer.System) {
	var text, raw bytes.Buffer
	l := infer.Live{Suite: r.Suite, Split: domain.SplitVal, Episodes: 1}
	if err := sys.Play(t.Context(), r.Deps.Chat, l, (&app{out: &text}).event); err != nil {
		t.Fatal(err)
	}
	if err := sys.Play(t.Context(), r.Deps.Chat, l, (&app{out: &raw, json: true}).event); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(raw.String()), "\n")
	var first, step, end infer.Event
	for i, e := range map[int]*infer.Event{0: &first, 1: &step, len(lines) - 1: &end} {
		if err := json.Unmarshal([]byte(lines[i]), e); err != nil {
			t.Fatal(err)
		}
	}
	how := "end: not solved"
	if end.Outcome.Success {
		how = "end: solved"
	}
	for _, want := range []string{"episode 0: scripted", "goal: " + first.Goal, "step 1: 7 elements, 7 shown\n  agent 0 ", "\n  executed: " + step.Executed.JSON(), how} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not said:\n%s", want, text.String())
		}
	}
	if strings.Count(text.String(), "\nstep ") != end.Outcome.Steps || strings.Count(text.String(), "nothing done") != end.Outcome.Invalid || end.Event != "end" || len(lines) != end.Outcome.Steps+2 {
		t.Errorf("%d lines of JSON for %+v:\n%s", len(lines), end.Outcome, text.String())
	}
	if got := plain("a\x1b[31mb\nc\u009b"); got != "a[31mb\nc" {
		t.Errorf("%q", got)
	}
}

// checked verifies SHA256SUMS and gives the names in it.
func checked(t *testing.T, dir string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, infer.SumsFile))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		sum, name, _ := strings.Cut(l, "  ")
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || store.Sum(body) != sum {
			t.Errorf("%s: %v", l, err)
		}
		names = append(names, name)
	}
	return names
}

func unmarshal[T any](t *testing.T, file string) (v T) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func exports(t *testing.T, r *testrun.Run, sys infer.System) {
	dir := filepath.Join(t.TempDir(), "new")
	x, err := export(t.Context(), r.Bucket, "small", "1", dir, 5)
	if err != nil {
		t.Fatal(err)
	}
	names := checked(t, dir)
	if len(names)+1 != x.Files || x.System.Epoch != 1 || len(x.Rows) != 4 {
		t.Errorf("%d hashes, %+v", len(names), x)
	}
	for _, want := range []string{"README.md", "dataset_info.json", "sample.csv", "sample.html", "epoch1-agent0.preference.jsonl", "system/spec.json", "system/system.json", "system/topology.json", "system/prompts/agent.tmpl",
		"system/policies/agent-0/policy.safetensors", "system/policies/agent-3/policy.safetensors"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	for i, p := range sys.Policies {
		raw, err := os.ReadFile(filepath.Join(dir, "system", x.System.Agents[i].Folder, "policy.safetensors"))
		if err != nil || store.Sum(raw) != p.Digest || x.System.Agents[i].Kind != infer.KindTiny || x.System.Agents[i].Tensor != p.Tensor {
			t.Errorf("agent %d: %v", i, err)
		}
	}
	written := unmarshal[infer.Exported](t, filepath.Join(dir, "system", "system.json"))
	if written.Rounds != r.Spec.Rounds || written.TopP != r.Spec.Decoding.TopP || written.Agents[2].Temperature != r.Spec.EvaluationTemperatures()[2] || written.VoteScope != r.Spec.VoteScope || written.Family != domain.FamilyMobile || len(written.Prompts) != 1 {
		t.Errorf("%+v", written)
	}
	if s := unmarshal[spec.Spec](t, filepath.Join(dir, "system", "spec.json")); runs.Digest(s) != runs.Digest(sys.Spec) {
		t.Error("another specification")
	}
	if topo := unmarshal[infer.Topologies](t, filepath.Join(dir, "system", "topology.json")); runs.Digest(topo.Evaluation) != runs.Digest(domain.EvaluationTopologies(4)) || runs.Digest(topo.Epoch) != runs.Digest(sys.Topology) {
		t.Errorf("%+v", topo)
	}
	text, err := prompts.Default(prompts.Agent)
	if raw, err2 := os.ReadFile(filepath.Join(dir, "system", "prompts", "agent.tmpl")); errors.Join(err, err2) != nil || string(raw) != text {
		t.Error(err, err2)
	}

	base := filepath.Join(t.TempDir(), "base")
	if x, err = export(t.Context(), r.Bucket, "small", infer.Base, base, 5); err != nil || x.System.Epoch != 0 || x.Rows["demonstrations"] == 0 || !slices.Contains(checked(t, base), "demonstrations.sharegpt.jsonl") {
		t.Errorf("%+v %v", x, err)
	}
	raw, err := os.ReadFile(filepath.Join(base, "README.md"))
	if err != nil || !strings.Contains(string(raw), "collabui infer small --epoch base") || strings.Contains(string(raw), "vllm") {
		t.Errorf("%s %v", raw, err)
	}
	if _, err := export(t.Context(), r.Bucket, "small", "9", t.TempDir(), 5); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	early := &store.Memory{} // the same run before the end of stage 1
	for _, prefix := range []string{runs.Run("small").Spec().Key, "runs/small/finetune/demonstrations/"} {
		list, err := r.Bucket.List(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			body, err := r.Bucket.Get(t.Context(), o.Key)
			if err == nil {
				_, err = early.PutOnce(t.Context(), o.Key, body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	if x, err = export(t.Context(), early, "small", "", data, 5); err != nil || x.System != nil || slices.ContainsFunc(checked(t, data), func(n string) bool { return strings.HasPrefix(n, "system/") }) {
		t.Errorf("a run without a base: %+v %v", x, err)
	}
	if _, err := export(t.Context(), early, "small", "base", t.TempDir(), 5); !errors.Is(err, infer.ErrNoBase) {
		t.Error(err)
	}
	adapters(t, r, sys)
}

// adapters exports a system of other kinds: two adapters, all parameters, and the bare base model.
func adapters(t *testing.T, r *testrun.Run, sys infer.System) {
	weights, err := store.PutBlob(t.Context(), r.Bucket, []byte("weights"))
	if err != nil {
		t.Fatal(err)
	}
	file := func(path string) domain.ArtifactFile {
		return domain.ArtifactFile{Path: path, Key: weights.Key, SHA256: weights.SHA256, Size: weights.Size}
	}
	model := domain.BaseModel{Name: "Base: 7B", Digest: "d1"}
	policies := []domain.Artifact{{Kind: domain.ArtifactLoRA, Base: model, Rank: 12, Files: []domain.ArtifactFile{file("adapter_model.safetensors"), file("deep/adapter_config.json")}},
		{Kind: domain.ArtifactLoRA, Base: model, Rank: 8, Files: []domain.ArtifactFile{file("adapter_model.safetensors")}}, {Kind: domain.ArtifactFull, Base: model, Files: []domain.ArtifactFile{file("model.safetensors")}}, {Kind: domain.ArtifactBase, Base: model}}
	for i, p := range policies {
		body, digest := p.Encode()
		if _, err := store.PutBlob(t.Context(), r.Bucket, body); err != nil {
			t.Fatal(err)
		}
		sys.Policies[i] = runs.Policy{Digest: digest, Tensor: p.TensorDigest()}
	}
	sys.Spec.Trainer.Options = json.RawMessage(`{"model":"/models/base 7b","template":"qwen"}`)
	sys.Spec.Prompts = map[string]string{prompts.Agent: "{{/* version 9 */ -}}{{define \"system\"}}s{{end}}{{define \"user\"}}u{{end}}"}
	sys.Spec.Summariser.Model = "some"
	dir := t.TempDir()
	x, err := sys.Write(t.Context(), r.Bucket, dir)
	if err != nil {
		t.Fatal(err)
	}
	if x.Prompts[prompts.Agent].Version != "9" || len(x.Prompts) != 2 || x.Agents[0].Rank != 12 || x.Agents[3].Kind != domain.ArtifactBase || x.Agents[2].Base.Name != model.Name {
		t.Errorf("%+v", x)
	}
	for name, want := range map[string]string{"policies/agent-0/adapter_model.safetensors": "weights", "policies/agent-0/deep/adapter_config.json": "weights", "policies/agent-2/model.safetensors": "weights"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(raw) != want {
			t.Errorf("%s: %q %v", name, raw, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "merge-agent-1.yaml"))
	var m map[string]any
	if err == nil {
		err = yaml.Unmarshal(raw, &m)
	}
	if err != nil || m["model_name_or_path"] != "/models/base 7b" || m["adapter_name_or_path"] != "policies/agent-1" || m["template"] != "qwen" || m["export_size"] != 5 || m["export_device"] != "cpu" || m["export_dir"] != "merged/agent-1" {
		t.Errorf("%s %v", raw, err)
	}
	for _, none := range []string{"merge-agent-2.yaml", "merge-agent-3.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, none)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", none, err)
		}
	}
	readme := infer.Readme("small", &x)
	if !strings.Contains(readme, "--max-lora-rank 16 --lora-modules agent-0=system/policies/agent-0 agent-1=system/policies/agent-1`") || !strings.Contains(readme, "infer small --epoch 1") {
		t.Error(readme)
	}
	body, err := store.PutBlob(t.Context(), r.Bucket, []byte("neither"))
	if err != nil {
		t.Fatal(err)
	}
	sys.Policies[1].Digest = body.SHA256
	if _, err := sys.Write(t.Context(), r.Bucket, t.TempDir()); fault.KindOf(err) != fault.Corrupt {
		t.Error(err)
	}
}

func TestCommandLinesOfInferAndExport(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"infer", "x", "--task", "a"}, "--task goes with --environment"},
		{[]string{"infer", "x", "--prompt", "a", "--screenshots", "a"}, "--screenshots goes with --environment"},
		{[]string{"infer", "x", "--seed", "1"}, "--seed goes with --environment"},
		{[]string{"infer", "x", "--prompt", "a", "--environment", "b"}, "give one of --listen, --environment and --prompt"},
		{[]string{"infer", "x", "--prompt", "a", "--listen", "127.0.0.1:0"}, "give one of --listen, --environment and --prompt"},
		{[]string{"export", "x"}, "give --out"},
		{[]string{"export", "x", "--out", "y", "--sample", "-1"}, "--sample must be from 0"},
	} {
		var out, errw bytes.Buffer
		if code := run(append(c.args, "--data", filepath.Join(t.TempDir(), "none")), &out, &errw); code != exitInvalid || !strings.Contains(errw.String(), c.says) {
			t.Errorf("%v: %d %s", c.args, code, errw.String())
		}
	}
	for _, n := range []string{"infer", "export"} {
		var out bytes.Buffer
		if run([]string{n, "--help"}, &out, &out) != exitOK || !strings.Contains(out.String(), "Examples:") || !strings.Contains(out.String(), "Exit codes") {
			t.Errorf("%s --help: %s", n, out.String())
		}
	}
}
