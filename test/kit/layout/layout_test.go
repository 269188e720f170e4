package layout

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// file returns the path of a role's policy.
func file(role string) string { return "../../../deploy/policies/" + role + ".json" }

// read returns the policies in deploy/policies by role.
func read(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, role := range Roles {
		raw, err := os.ReadFile(file(role))
		if err != nil {
			t.Fatal(err)
		}
		out[role] = raw
	}

	return out
}

// TestPoliciesFollowFromTheLayout compares deploy/policies with the layout. COLLABUI_UPDATE_GOLDEN=1 writes them. Read
// the difference before you commit it.
func TestPoliciesFollowFromTheLayout(t *testing.T) {
	if os.Getenv("COLLABUI_UPDATE_GOLDEN") != "" {
		for _, role := range Roles {
			if err := os.WriteFile(file(role), Policy(role), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for role, raw := range read(t) {
		if !bytes.Equal(raw, Policy(role)) {
			t.Errorf("%s is %s, want %s: write it with COLLABUI_UPDATE_GOLDEN=1 go test ./test/kit/layout",
				file(role), raw, Policy(role))
		}
		// AWS counts the size of a user's policy without white space.
		if size := len(bytes.Join(bytes.Fields(raw), nil)); size > 6144 {
			t.Errorf("%s has %d characters, want at most 6144, which AWS takes", file(role), size)
		}
	}
}

// TestARoleMayDoItsWorkAndNothingMore tries every kind of object with every role, under the names of the layout and
// under other names that people may choose.
func TestARoleMayDoItsWorkAndNothingMore(t *testing.T) {
	tried := 0
	policies := map[string]Rules{}
	for role, raw := range read(t) {
		rules, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v, want a policy", file(role), err)
		}
		policies[role] = rules
	}
	for _, k := range Kinds {
		for _, key := range k.Keys {
			if kinds := Of(key); len(kinds) != 1 || kinds[0].Pattern != k.Pattern {
				t.Errorf("%s is of the kinds %v, want %s alone", key, kinds, k.Pattern)
			}
			for _, named := range hostile(key) {
				for role, policy := range policies {
					for action, want := range map[string]bool{
						"s3:GetObject": k.May(role, false), "s3:PutObject": k.May(role, true),
						"s3:DeleteObject": role == People, "s3:PutObjectAcl": role == People,
					} {
						tried++
						if got := policy.Allow(action, named); got != want {
							t.Errorf("%s: %s of %s is allowed: %v, want %v", role, action, named, got, want)
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests", tried)
}

// hostile returns a key with other names of runs, lines, schedules, experiments, receivers and groups of tasks: the
// names of folders and files of the layout.
func hostile(key string) []string {
	out := []string{key}
	for _, name := range []string{"epochs", "evals", "finetune", "runs", "calls", "blobs", "job-checkpoint-1", "end"} {
		for _, old := range []string{"a-run/", "a-line/", "/a/", "/x/", "desk", "tasks/val"} {
			if new := strings.ReplaceAll(old, strings.Trim(strings.TrimPrefix(old, "tasks/"), "/"), name); new != old {
				if renamed := strings.ReplaceAll(key, old, new); renamed != key {
					out = append(out, renamed)
				}
			}
		}
	}

	return out
}
