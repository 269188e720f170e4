package interop

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
)

// Trajectory is what agents of any make did on one task, as far as pages show it.
type Trajectory struct {
	File   string    `json:"file"`
	ID     string    `json:"id,omitempty"` // within the file
	Format string    `json:"format"`
	Task   string    `json:"task"`
	Agent  string    `json:"agent,omitempty"`
	Model  string    `json:"model,omitempty"`
	Scores []string  `json:"scores,omitempty"` // each NAME VALUE
	Error  string    `json:"error,omitempty"`
	Tokens int       `json:"tokens,omitempty"`
	Turns  []Message `json:"turns"`
}

// Message is one turn of a trajectory.
type Message struct {
	Role      string      `json:"role"`
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Images    []string    `json:"images,omitempty"` // addresses that contain the image
	Calls     []ToolCall  `json:"calls,omitempty"`
	Results   []string    `json:"results,omitempty"`
	Inner     []Inner     `json:"inner,omitempty"`
	Facts     []ToolValue `json:"facts,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"` // JSON
}

// ToolValue is a figure of a turn.
type ToolValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Inner is the trajectory of a sub-agent.
type Inner struct {
	Name  string    `json:"name"`
	Turns []Message `json:"turns"`
}

// maxLog is the size of the largest file that is read, in bytes.
const maxLog = 512 << 20

// Trajectories reads a file, or all files of a folder, that are trajectories of ATIF or logs of Inspect. In a folder,
// other files are skipped.
func Trajectories(path string) ([]Trajectory, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	if !info.IsDir() {
		return readLog(path, filepath.Base(path))
	}
	var out []Trajectory
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		extension := strings.ToLower(filepath.Ext(file))
		if err != nil || !entry.Type().IsRegular() || extension != ".json" && extension != ".eval" {
			return err
		}
		name, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		if found, err := readLog(file, filepath.ToSlash(name)); err == nil {
			out = append(out, found...)
		}

		return nil
	})
	if err == nil && len(out) == 0 {
		err = fault.New(fault.Invalid, "%s has no trajectory of ATIF and no log of Inspect", path)
	}

	return out, err
}

// readLog reads one file.
func readLog(file, name string) ([]Trajectory, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	if info.Size() > maxLog {
		return nil, fault.New(fault.Invalid, "%s has %d MB, which is more than %d", file, info.Size()>>20, maxLog>>20)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	var out []Trajectory
	if bytes.HasPrefix(raw, []byte("PK")) {
		out, err = readInspectZip(raw)
	} else {
		out, err = readJSONLog(raw)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", file, err)
	}
	for i := range out {
		out[i].File = name
	}

	return out, nil
}

// readJSONLog reads a trajectory of ATIF, or a log of Inspect as JSON.
func readJSONLog(raw []byte) ([]Trajectory, error) {
	var kind struct {
		Version string          `json:"schema_version"`
		Eval    json.RawMessage `json:"eval"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fault.New(fault.Invalid, "it is no JSON object: %w", err)
	}
	switch {
	case strings.HasPrefix(kind.Version, "ATIF"):
		trajectory, err := readATIF(raw)

		return []Trajectory{trajectory}, err
	case len(kind.Eval) > 0:
		return readInspectJSON(raw)
	}

	return nil, fault.New(fault.Invalid, "it is neither a trajectory of ATIF nor a log of Inspect")
}

// content is the text of a message: a string, or parts with texts, reasoning and images.
type content struct {
	text      string
	reasoning string
	images    []string
}

// part is a part of a message in either format.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning"`
	Image     json.RawMessage `json:"image"`
	Source    json.RawMessage `json:"source"`
}

func (c *content) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &c.text); err == nil {
		return nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		c.text = string(raw) // of a form that only its program knows

		return nil
	}
	for _, p := range parts {
		var image string
		switch {
		case p.Type == "reasoning":
			c.reasoning += p.Reasoning
		case p.Text != "":
			c.text += p.Text
		case json.Unmarshal(p.Image, &image) == nil && isImage(image):
			c.images = append(c.images, image)
		default:
			c.text += "(" + p.Type + ")"
		}
	}

	return nil
}

// isImage reports whether an address contains an image. Pages load no others.
func isImage(address string) bool {
	return slices.ContainsFunc([]string{"png", "jpeg", "webp", "gif"}, func(kind string) bool {
		return strings.HasPrefix(address, "data:image/"+kind+";base64,")
	})
}

// readInspectZip reads a log of Inspect in its own format, a zip file with a file for each sample.
func readInspectZip(raw []byte) (out []Trajectory, err error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	header := inspectHeader{}
	left := int64(maxLog) // a zip file may unpack to much more than it has
	read := func(file *zip.File, to any) error {
		reader, err := file.Open()
		if err != nil {
			return err
		}
		defer func() { _ = reader.Close() }()
		text, err := io.ReadAll(io.LimitReader(reader, left+1))
		if left -= int64(len(text)); left < 0 {
			return fault.New(fault.Invalid, "it unpacks to more than %d MB", maxLog>>20)
		}
		if err != nil {
			return err
		}

		return json.Unmarshal(text, to)
	}
	for _, name := range []string{"_journal/start.json", "header.json"} {
		i := slices.IndexFunc(archive.File, func(file *zip.File) bool { return file.Name == name })
		if i < 0 {
			continue
		}
		if err := read(archive.File[i], &header); err != nil {
			return nil, err
		}
	}
	for _, file := range archive.File {
		if !strings.HasPrefix(file.Name, "samples/") || !strings.HasSuffix(file.Name, ".json") {
			continue
		}
		var sample inspectSample
		if err := read(file, &sample); err != nil {
			return nil, err
		}
		out = append(out, sample.trajectory(header))
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Invalid, "it has no samples of Inspect")
	}

	return out, nil
}
