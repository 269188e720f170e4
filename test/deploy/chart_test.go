package deploy

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/workflows"
)

var (
	written = regexp.MustCompile(`(?m)^ *- (--[a-z-]+)`)
	queue   = regexp.MustCompile(`range \$role := list ([^}]*)\}\}`)
)

// TestFlagsOfTheChartExist reads the templates as text, because what renders them may not be installed.
func TestFlagsOfTheChartExist(t *testing.T) {
	for file, command := range map[string]string{
		"_pod.tpl": "worker", "serve.yaml": "worker", "viewer.yaml": "view", "codec.yaml": "worker",
	} {
		flags := written.FindAllStringSubmatch(text(t, "helm/collabui/templates/"+file), -1)
		if len(flags) < 2 {
			t.Errorf("%s has %d flags, want some", file, len(flags))
		}
		for _, f := range flags {
			checkCommand(t, file, []string{command, f[1]})
		}
	}

	// Every values file gives the roles further flags.
	for file, raw := range files(t) {
		if !strings.HasPrefix(file, "helm/examples/") && path.Base(file) != "values.yaml" {
			continue
		}
		values := decoded[map[string]any](t, file, raw)
		for _, role := range []string{"control", "rollout", "model", "gpu", "serve"} {
			args := []string{"worker"}
			list, _ := at(values, role, "args").([]any)
			for _, a := range list {
				args = append(args, a.(string))
			}
			checkCommand(t, file+" "+role, args)
		}
	}
}

func TestTheChartScalesNoUpdates(t *testing.T) {
	m := queue.FindStringSubmatch(text(t, "helm/collabui/templates/scaling.yaml"))
	if want := `"` + workflows.QueueRollout + `" "` + workflows.QueueModel + `" `; m == nil || m[1] != want {
		t.Errorf("scaling.yaml scales %q, want %s", m, want)
	}
	values := decoded[map[string]any](t, "values.yaml", text(t, "helm/collabui/values.yaml"))
	for role, v := range values {
		scaled := at(v, "autoscaling") != nil
		if want := role == workflows.QueueRollout || role == workflows.QueueModel; scaled != want {
			t.Errorf("%s has autoscaling %v, want %v", role, scaled, want)
		}
	}
}

// TestTheSchemaHasEveryValue compares the keys of values.yaml with those of values.schema.json.
func TestTheSchemaHasEveryValue(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal([]byte(text(t, "helm/collabui/values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var compare func(where string, value, s any)
	compare = func(where string, value, s any) {
		if ref, ok := at(s, "$ref").(string); ok {
			s = at(schema, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		properties, _ := at(s, "properties").(map[string]any)
		fields, _ := value.(map[string]any)
		if len(properties) == 0 {
			return
		}
		for k, v := range fields {
			if properties[k] == nil {
				t.Errorf("the schema lacks %s.%s, want it", where, k)
			}
			compare(where+"."+k, v, properties[k])
		}
		// What an example may set is in the values, so that people find it there.
		for k := range properties {
			optional := []string{"claims", "global", "localhostProfile"}
			if _, exists := fields[k]; !exists && !slices.Contains(optional, k) {
				t.Errorf("values.yaml lacks %s.%s, which the schema has; want it with its default", where, k)
			}
		}
	}
	compare("", any(decoded[map[string]any](t, "values.yaml", text(t, "helm/collabui/values.yaml"))), schema)
}
