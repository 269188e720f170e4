package results

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// summed verifies SHA256SUMS and returns the names in it.
func summed(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(read(t, filepath.Join(dir, infer.SumsFile))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := store.Sum([]byte(read(t, filepath.Join(dir, name)))); got != sum {
			t.Errorf("the hash of %s is %s, want %s", name, got, sum)
		}
		names = append(names, name)
	}

	return names
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}

func unmarshal[T any](t *testing.T, file string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, file)), &v); err != nil {
		t.Fatal(err)
	}

	return v
}

// wantEqual compares values by their digests.
func wantEqual(t *testing.T, name string, got, want any) {
	t.Helper()
	if runs.Digest(got) != runs.Digest(want) {
		t.Errorf("%s = %+v, want %+v", name, got, want)
	}
}

func exportsAnEpoch(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	dir := filepath.Join(t.TempDir(), "new")
	x, err := export(t.Context(), r.Bucket, "small", exportOptions{epoch: "1", out: dir})
	if err != nil {
		t.Fatal(err)
	}
	names := summed(t, dir)
	if len(names)+1 != x.Files || x.System.Epoch != 1 || len(x.Rows) != 4 {
		t.Errorf("export = %+v with %d hashes, want epoch 1, 4 data sets, and a hash of every other file",
			x, len(names))
	}
	for _, want := range []string{
		"README.md", "dataset_info.json", "epoch1-agent0.preference.jsonl",
		"system/spec.json", "system/system.json", "system/topology.json", "system/prompts/agent.tmpl",
		"system/policies/agent-0/policy.safetensors", "system/policies/agent-3/policy.safetensors",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("the files are %v, want %s among them", names, want)
		}
	}
	exportsACard(t, r, read(t, filepath.Join(dir, "README.md")))
	exportsPolicies(t, filepath.Join(dir, "system"), x, sys)
	exportsTheSystem(t, filepath.Join(dir, "system"), r, sys)
}

// exportsACard checks that the card of an epoch's pairs has the facts of the run.
func exportsACard(t *testing.T, r *testrun.Run, readme string) {
	t.Helper()
	_, spec, err := runs.Run("small").Spec().Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	end, _, err := runs.Run("small").End().Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"---\npretty_name: collabui run small\n", "config_name: epoch1-agent3.preference\n",
		"| specification | SHA-256 `" + spec.SHA256 + "` |", "| final digest of the run | `" + end.FinalDigest + "` |",
		"| data of | epoch 1 |", "| labels | by oracle (privileged) |",
		"A right answer is what its source called right: oracle (privileged)",
		"- `rejected`: a wrong answer", "## Licence", "## Personal data", "There are no screenshots.",
		`load_dataset(os.getcwd(), "epoch1-agent0.preference"`, "dataset: collabui_epoch1_agent0_dpo\n",
		"## The trained system",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("the card lacks a fact, want %q:\n%s", want, readme)
		}
	}
}

func TestTheCardNamesWhatItsExamplesAreTestedWith(t *testing.T) {
	for file, names := range map[string][]string{
		"llamafactory.in": {"llamafactory", "transformers", "peft"}, "trl.in": {"trl"},
	} {
		lock := read(t, filepath.Join("../../../scripts/locks", file))
		for _, name := range names {
			found := regexp.MustCompile(`\b` + name + ` ([0-9.]*[0-9])`).FindStringSubmatch(cardText)
			if found == nil {
				t.Errorf("the card names no version of %s, want one", name)
				continue
			}
			if want := name + "==" + found[1]; !strings.Contains(lock, want) {
				t.Errorf("scripts/locks/%s has another version, want %s as in the card", file, want)
			}
		}
	}
}

func TestACardIsNotBrokenByNames(t *testing.T) {
	var c dataCard
	c.fact("labels", "gpt | <img src=x>\nmore")
	if got, want := c.Facts[0][1], `gpt \| &lt;img src=x> more`; got != want {
		t.Errorf("the fact is %q, want %q", got, want)
	}
}

func exportsPolicies(t *testing.T, dir string, x exportSummary, sys infer.TrainedSystem) {
	t.Helper()
	for i, p := range sys.Policies {
		agent := x.System.Agents[i]
		if agent.Kind != infer.KindTiny || agent.Tensor != p.Tensor {
			t.Errorf("agent %d is %+v, want a small policy with tensors %s", i, agent, p.Tensor)
		}
		body := read(t, filepath.Join(dir, agent.Folder, "policy.safetensors"))
		if got := store.Sum([]byte(body)); got != p.Digest {
			t.Errorf("the policy of agent %d has hash %s, want %s", i, got, p.Digest)
		}
	}
}

// exportsTheSystem checks how the exported agents decide.
func exportsTheSystem(t *testing.T, dir string, r *testrun.Run, sys infer.TrainedSystem) {
	t.Helper()
	written := unmarshal[infer.Exported](t, filepath.Join(dir, "system.json"))
	wantEqual(t, "rounds", written.Rounds, r.Spec.Rounds)
	wantEqual(t, "top_p", written.TopP, r.Spec.Decoding.TopP)
	wantEqual(t, "temperature", written.Agents[2].Temperature, r.Spec.Temperatures()[2])
	wantEqual(t, "vote scope", written.VoteScope, r.Spec.VoteScope)
	wantEqual(t, "family", written.Family, domain.FamilyMobile)
	wantEqual(t, "number of prompts", len(written.Prompts), 1)
	wantEqual(t, "specification", unmarshal[spec.Spec](t, filepath.Join(dir, "spec.json")), sys.Spec)

	topologies := unmarshal[infer.Topologies](t, filepath.Join(dir, "topology.json"))
	wantEqual(t, "topologies of evaluation", topologies.Evaluation, domain.EvaluationTopologies(4))
	wantEqual(t, "topology of the epoch", topologies.Epoch, sys.Topology)

	prompt, err := prompts.Default(prompts.Agent)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "prompt", read(t, filepath.Join(dir, "prompts", "agent.tmpl")), prompt)
}

func exportsTheBase(t *testing.T, r *testrun.Run) {
	dir := filepath.Join(t.TempDir(), "base")
	x, err := export(t.Context(), r.Bucket, "small", exportOptions{epoch: infer.Base, out: dir})
	if err != nil || x.System.Epoch != 0 || x.Rows["demonstrations"] == 0 {
		t.Errorf("export = %+v, %v; want epoch 0 with demonstrations", x, err)
	}
	if names, want := summed(t, dir), "demonstrations.sharegpt.jsonl"; !slices.Contains(names, want) {
		t.Errorf("the files are %v, want %s among them", names, want)
	}
	readme := read(t, filepath.Join(dir, "README.md"))
	if !strings.Contains(readme, "| data of | stage 1 |") || !strings.Contains(readme, "SFTTrainer(") {
		t.Errorf("the card wants to be of stage 1, with an example of SFT:\n%s", readme)
	}
	if !strings.Contains(readme, "collabui infer small --epoch base") || strings.Contains(readme, "vllm serve") {
		t.Errorf("the README wants the command for the base policy and nothing about vLLM:\n%s", readme)
	}

	_, err = export(t.Context(), r.Bucket, "small", exportOptions{epoch: "9", out: t.TempDir()})
	wantInvalid(t, err, "")
}

// exportsEarly exports the run as it was before the end of stage 1.
func exportsEarly(t *testing.T, r *testrun.Run) {
	early := &store.Memory{}
	for _, prefix := range []string{runs.Run("small").Spec().Key, "runs/small/finetune/demonstrations/"} {
		objects, err := r.Bucket.List(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			body, err := r.Bucket.Get(t.Context(), o.Key)
			if err == nil {
				_, err = early.PutOnce(t.Context(), o.Key, body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	dir := filepath.Join(t.TempDir(), "data")
	x, err := export(t.Context(), early, "small", exportOptions{out: dir})
	if err != nil || x.System != nil {
		t.Errorf("export = %+v, %v; want no system", x, err)
	}
	for _, name := range summed(t, dir) {
		if strings.HasPrefix(name, "system/") {
			t.Errorf("export wrote %s, want no system", name)
		}
	}
	if readme := read(t, filepath.Join(dir, "README.md")); !strings.Contains(readme, "the run has not ended") ||
		!strings.Contains(readme, "There is none yet: stage 1 has not ended") {
		t.Errorf("the card wants to say that the run has not ended and has no system:\n%s", readme)
	}
	_, err = export(t.Context(), early, "small", exportOptions{epoch: "base", out: t.TempDir()})
	if !errors.Is(err, infer.ErrNoBase) {
		t.Errorf("export of the base policy = %v, want %v", err, infer.ErrNoBase)
	}
}

// artifacts stores two adapters, a policy with all parameters, and the bare base model.
func artifacts(t *testing.T, b store.Bucket) []runs.Policy {
	t.Helper()
	weights, err := store.PutBlob(t.Context(), b, []byte("weights"))
	if err != nil {
		t.Fatal(err)
	}
	file := func(path string) domain.ArtifactFile {
		return domain.ArtifactFile{Path: path, Key: weights.Key, SHA256: weights.SHA256, Size: weights.Size}
	}
	base := domain.BaseModel{Name: "Base: 7B", Digest: "d1"}
	var policies []runs.Policy
	for _, a := range []domain.Artifact{
		{
			Kind: domain.ArtifactLoRA, Base: base, Rank: 12,
			Files: []domain.ArtifactFile{file("adapter_model.safetensors"), file("deep/adapter_config.json")},
		},
		{
			Kind: domain.ArtifactLoRA, Base: base, Rank: 8,
			Files: []domain.ArtifactFile{file("adapter_model.safetensors")},
		},
		{Kind: domain.ArtifactFull, Base: base, Files: []domain.ArtifactFile{file("model.safetensors")}},
		{Kind: domain.ArtifactBase, Base: base},
	} {
		body, digest := a.Encode()
		if _, err := store.PutBlob(t.Context(), b, body); err != nil {
			t.Fatal(err)
		}
		policies = append(policies, runs.Policy{Digest: digest, Tensor: a.TensorDigest()})
	}

	return policies
}

func exportsAdapters(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	sys.Policies = artifacts(t, r.Bucket)
	sys.Spec.Prompts = map[string]string{
		prompts.Agent: "{{/* version 9 */ -}}{{define \"system\"}}s{{end}}{{define \"user\"}}u{{end}}",
	}
	sys.Spec.Summariser.Model = "some"
	dir := t.TempDir()
	x, err := sys.Write(t.Context(), r.Bucket, dir)
	if err != nil {
		t.Fatal(err)
	}

	wantEqual(t, "version of the prompt", x.Prompts[prompts.Agent].Version, "9")
	wantEqual(t, "number of prompts", len(x.Prompts), 2)
	wantEqual(t, "rank of agent 0", x.Agents[0].Rank, 12)
	wantEqual(t, "kind of agent 3", x.Agents[3].Kind, domain.ArtifactBase)
	wantEqual(t, "base model of agent 2", x.Agents[2].Base.Name, "Base: 7B")
	for _, name := range []string{
		"agent-0/adapter_model.safetensors", "agent-0/deep/adapter_config.json", "agent-2/model.safetensors",
	} {
		wantEqual(t, name, read(t, filepath.Join(dir, "policies", name)), "weights")
	}

	readme := infer.Readme("small", &x)
	for _, want := range []string{
		"--max-lora-rank 16 --lora-modules agent-0=system/policies/agent-0 agent-1=system/policies/agent-1`",
		"--model_name_or_path 'PATH-OF-Base: 7B' --adapter_name_or_path system/policies/agent-K",
		"infer small --epoch 1",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README lacks a command, want %q:\n%s", want, readme)
		}
	}

	neither, err := store.PutBlob(t.Context(), r.Bucket, []byte("neither"))
	if err != nil {
		t.Fatal(err)
	}
	sys.Policies[1].Digest = neither.SHA256
	if _, err := sys.Write(t.Context(), r.Bucket, t.TempDir()); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("Write of what is not a policy = %v, want a corrupt fault", err)
	}
}
