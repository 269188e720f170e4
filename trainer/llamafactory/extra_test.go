package llamafactory

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// mistakesOf returns what Check reports about further keys, by their fields.
func mistakesOf(extra map[string]string) map[string]string {
	o := DefaultOptions()
	o.Model, o.Extra = "/m", extra
	got := map[string]string{}
	o.Check(func(ok bool, field, expected string, args ...any) {
		if !ok {
			got[field] = fmt.Sprintf(expected, args...)
		}
	}, 16)

	return got
}

// dangerous are keys of the program, and of packages below it, that run code, send something away, or name a file.
var dangerous = []string{
	"trust_remote_code", "push_to_hub", "hub_model_id", "hub_token", "hf_hub_token", "ms_hub_token", "hub_strategy",
	"tokenized_path", "logging_dir", "cache_dir", "use_ray", "ray_init_kwargs", "ray_storage_path", "output_dir",
	"deepspeed", "fsdp_config", "accelerator_config", "offload_folder", "new_special_tokens_config", "adapter_folder",
	"reward_model", "reward_model_type", "model_revision", "use_swanlab", "swanlab_lark_webhook_url", "report_to",
	"run_name", "export_dir", "export_hub_model_id", "eval_dataset", "plot_loss", "torch_compile_backend",
	"optim_target_modules", "optim_args", "infer_backend", "vllm_config", "train_from_scratch", "streaming", "x", "",
}

// spellings are other ways to write a key.
func spellings(key string) []string {
	camel := ""
	for part := range strings.SplitSeq(key, "_") {
		camel += strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):]
	}

	return []string{
		key, strings.ToUpper(key), camel, strings.ReplaceAll(key, "_", "-"), "--" + key, " " + key, key + " ",
		key + "\n", key + "=true", key + ": true\nflash_attn", "flash_attn: fa2\n" + key, "flash_attn." + key,
		"flash_attn," + key, "\ufeff" + key, "<<",
	}
}

// TestASpecificationSetsOnlyListedKeys tries keys that run code, send something away or write elsewhere, in every
// spelling and with every kind of value, before a run starts and where the job is rendered.
func TestASpecificationSetsOnlyListedKeys(t *testing.T) {
	for _, key := range dangerous {
		for _, spelt := range spellings(key) {
			for _, value := range []string{"true", "'true'", "1", "yes", "/tmp/x", "{a: b}", ""} {
				extra := map[string]string{spelt: value, "flash_attn": "sdpa"}
				got := mistakesOf(extra)
				if len(got) != 1 || got["extra."+spelt] == "" {
					t.Errorf("mistakes of %q: %q = %v, want one at that key", spelt, value, got)
				}
			}
		}
		o := DefaultOptions()
		o.Extra = map[string]string{key: "true"}
		_, _, err := rendered(t, tool(t), o, someJob(trainer.SFT), domain.ArtifactBase, "")
		wantInvalid(t, err, "trainer.options.extra."+key+": expected ")
	}

	got := mistakesOf(map[string]string{"push_to_hub": "true"})["extra.push_to_hub"]
	for _, want := range []string{"flash_attn", `not "push_to_hub"`, "remove it", config.EnvTrainerOptions} {
		if !strings.Contains(got, want) {
			t.Errorf("the mistake is %q, want one with %q", got, want)
		}
	}
}

// TestStoredOptionsAreCheckedLikeThoseOfAFile: a stored specification is JSON, and may come from anywhere.
func TestStoredOptionsAreCheckedLikeThoseOfAFile(t *testing.T) {
	for _, text := range []string{
		`{"model":"/m","extra":{"trust_remote_code":"true"}}`,
		`{"model":"/m","extra":{"trust_remote_code":true}}`,
		`{"model":"/m","extra":{"flash_attn":{"trust_remote_code":true}}}`,
		`{"model":"/m","Extra":{"Trust_Remote_Code":"true"}}`,
		`{"model":"/m","extra":{"optim":"sgd"},"extra":{"trust_remote_code":"true"}}`,
	} {
		j := trainer.Job{Options: json.RawMessage(text)}
		_, err := tool(t).Render(t.Context(), external.Folder{Path: t.TempDir()}, j)
		wantInvalid(t, err, "trainer.options")
	}
}

func TestUsualKeysAreWords(t *testing.T) {
	for value, want := range map[string]bool{
		"fa2": true, "true": true, "4": true, "1e-8": true, "adamw_torch": true, "-1": true,
		"": false, "/etc/passwd": false, "../x": false, "kernels-community/x": false, "{a: b}": false, "[1]": false,
		"https://example.com": false, "${oc.env:HOME}": false, "a\nb: c": false, "2026-01-01": false, ".inf": false,
		strings.Repeat("x", 65): false, "'a b'": false,
	} {
		for _, key := range usual {
			if got := mistakesOf(map[string]string{key: value}); (len(got) == 0) != want {
				t.Errorf("mistakes of %s: %q = %v, want none: %v", key, value, got, want)
			}
		}
	}
}

// TestAnOperatorListsFurtherKeys, but none that collabui sets itself.
func TestAnOperatorListsFurtherKeys(t *testing.T) {
	t.Setenv(config.EnvTrainerOptions, " rope_scaling, trust_remote_code,output_dir,*")
	if got := mistakesOf(map[string]string{"rope_scaling": "yarn", "trust_remote_code": "true"}); len(got) > 0 {
		t.Errorf("mistakes of listed keys = %v, want none", got)
	}
	for _, key := range []string{"output_dir", "deepspeed", "push_to_hub", "rope", "**", ""} {
		if got := mistakesOf(map[string]string{key: "x"}); len(got) != 1 {
			t.Errorf("mistakes of %q = %v, want one", key, got)
		}
	}

	o := DefaultOptions()
	got, _, err := rendered(t, tool(t), o, someJob(trainer.SFT), domain.ArtifactBase, "")
	if err != nil || got["trust_remote_code"] != false {
		t.Errorf("trust_remote_code = %v, %v; want false unless it is asked for", got["trust_remote_code"], err)
	}
	o.Extra = map[string]string{"trust_remote_code": "true"}
	got, _, err = rendered(t, tool(t), o, someJob(trainer.SFT), domain.ArtifactBase, "")
	if err != nil || got["trust_remote_code"] != true {
		t.Errorf("trust_remote_code = %v, %v; want true", got["trust_remote_code"], err)
	}
}

func TestNoUsualKeyIsReserved(t *testing.T) {
	for _, list := range [][]string{usual, reserved} {
		if unique := slices.Compact(slices.Sorted(slices.Values(list))); len(unique) != len(list) {
			t.Errorf("got %d different keys of %d, want each once: %v", len(unique), len(list), list)
		}
	}
	for _, key := range usual {
		if slices.Contains(reserved, key) || slices.Contains(dangerous, key) {
			t.Errorf("%s is usual, want it refused", key)
		}
	}
}

// TestProgramsStayOffline: these variables come after those of the worker's own environment, and count.
func TestProgramsStayOffline(t *testing.T) {
	_, cmd, err := rendered(t, tool(t), DefaultOptions(), someJob(trainer.SFT), domain.ArtifactBase, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HF_DATASETS_OFFLINE=1"} {
		if !slices.Contains(cmd.Env, want) {
			t.Errorf("environment = %v, want %s", cmd.Env, want)
		}
	}
}

// TestADeepSpeedFileAmongPoliciesIsRefused: whoever may import a policy chooses what is in it.
func TestADeepSpeedFileAmongPoliciesIsRefused(t *testing.T) {
	work, link := t.TempDir(), filepath.Join(t.TempDir(), "zero3.json")
	f := external.Folder{Path: filepath.Join(work, "jobs", "j")}
	file := filepath.Join(work, "policies", "d", "config.json")
	for _, dir := range []string{f.Path, filepath.Dir(file)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(file, []byte("{}"), 0o644), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, work + "/jobs/../policies/d/config.json"} {
		_, err := deepSpeed(f, Options{DeepSpeed: path})
		wantInvalid(t, err, "outside of the worker's folder")
	}
}

func TestAMissingDeepSpeedFileIsRefused(t *testing.T) {
	o, j := fullOptions("/nowhere.json")
	_, _, err := rendered(t, tool(t), o, j, domain.ArtifactBase, "")
	wantInvalid(t, err, "every GPU worker")
}
