package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
)

// column is a column of the Web UI's list of workflows.
type column struct {
	Label string `json:"label"`
}

// view is a saved filter of the Web UI's list of workflows.
type view struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Query string `json:"query"`
	Type  string `json:"type"`
}

// columns are the columns of a list of runs, epochs and shards.
var columns = []column{
	{"Status"}, {"Workflow ID"}, {"CollabRun"}, {"CollabStage"}, {"CollabEpoch"}, {"CollabSuccessRate"}, {"Start"},
	{"End"},
}

// views are the saved filters. docs/operate.md lists them for operators of their own Temporal.
var views = []view{
	{"collabui-runs", "Runs", `WorkflowType="Run"`, "user"},
	{
		"collabui-paused", "Paused runs",
		`WorkflowType="Run" AND ExecutionStatus="Running" AND CollabStage="paused"`, "user",
	},
	{"collabui-rollouts", "Rollouts", `WorkflowType="Shard"`, "user"},
}

// withViews returns the Web UI's files with a first page that stores the columns and filters in the browser, unless a
// person has chosen others. The Web UI keeps both in the browser, by namespace.
func withViews(assets fs.FS, namespace string) (fs.FS, error) {
	page, err := fs.ReadFile(assets, "index.html")
	if err != nil {
		return nil, err
	}
	at := bytes.Index(page, []byte("<meta http-equiv=\"content-security-policy\""))
	if at < 0 {
		return assets, nil // another version of the Web UI: it works without them
	}
	keep := map[string]any{"namespace-workflow-table-columns": columns, "saved-workflow-queries": views}
	defaults, err := json.Marshal(keep)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(namespace)
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf(`<script>
for (const [key, value] of Object.entries(%s)) {
  let all = {};
  try { all = JSON.parse(localStorage.getItem(key)) || {}; } catch {}
  if (!(%s in all)) localStorage.setItem(key, JSON.stringify({...all, [%[2]s]: value}));
}
</script>
`, defaults, name)
	page = bytes.Join([][]byte{page[:at], []byte(script), page[at:]}, nil)

	return patched{assets, page}, nil
}

// patched is a file system with another first page.
type patched struct {
	fs.FS
	page []byte
}

// ReadFile implements fs.ReadFileFS.
func (p patched) ReadFile(name string) ([]byte, error) {
	if name == "index.html" {
		return p.page, nil
	}

	return fs.ReadFile(p.FS, name)
}
