package results

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

func importCmd(a *app.App) *cobra.Command {
	var baseModel string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import custom demonstrations, preference pairs or a policy into the store",
		Long: `import checks a file, stores it by content and prints the digest by which a specification names it:
finetune.data.level1, .level2 or .level3 for rows, finetune.base for a policy. Rows are JSON lines or one JSON array, in
UTF-8. A row is {"prompt":…, "chosen":…, "rejected":…} (texts or conversations), or has LLaMA-Factory's forms:
{"messages":[…]}, {"conversations":[…]} (ShareGPT) or {"instruction":…, "input":…, "output":…} (Alpaca), each also with
"chosen" and "rejected". Nothing is stored if any row is broken. Pairs of one action, system messages and images are
dropped and counted.

A folder with adapter_config.json and adapter_model.safetensors is an adapter, a folder with a whole model is a policy
with all parameters. Both belong to the model in --base-model.`,
		Example: "  collabui import pairs.jsonl\n  collabui import policy.safetensors\n" +
			"  collabui import my-adapter --base-model /models/Qwen2-7B-Instruct",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), a, args[0], baseModel) },
	}
	cmd.Flags().StringVar(&baseModel, "base-model", "", "base model that the folder belongs to")

	return cmd
}

// Kinds of imported files. Folders have the kinds of artifacts.
const (
	importedPolicy = "policy"
	importedRows   = "rows"
)

// importSummary describes what an import stored.
type importSummary struct {
	File   string              `json:"file"`
	Kind   domain.ArtifactKind `json:"kind"`
	Digest string              `json:"digest"`
	Rows   int                 `json:"rows,omitempty"`
	Pairs  int                 `json:"pairs,omitempty"` // rows with a rejected answer

	Same    []int `json:"same,omitempty"`    // lines of dropped rows, whose two answers are one action
	Systems int   `json:"systems,omitempty"` // rows with a system message, which is not kept
	Images  int   `json:"images,omitempty"`  // rows with images, which are not kept
}

func runImport(ctx context.Context, a *app.App, path, baseModel string) error {
	out, err := importPath(ctx, a, path, baseModel)
	if err != nil {
		return err
	}

	return a.Print(out, out.text)
}

// importPath stores a folder or a file. It checks a file before it opens the store.
func importPath(ctx context.Context, a *app.App, path, baseModel string) (importSummary, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		bucket, _, err := a.OpenStore()
		if err != nil {
			return importSummary{}, err
		}
		return importFolder(ctx, bucket, path, baseModel)
	}
	out, raw, err := readImport(path)
	if err != nil {
		return out, err
	}
	bucket, _, err := a.OpenStore()
	if err != nil {
		return out, err
	}
	ref, err := store.PutBlob(ctx, bucket, raw)
	out.Digest = ref.SHA256
	if err != nil {
		return out, err
	}

	return out, out.record(ctx, bucket, ref)
}

// record lists the import in the store, because gc would otherwise remove it before a run refers to it.
func (x importSummary) record(ctx context.Context, bucket store.Bucket, blob store.Ref) error {
	return runs.Import(ctx, bucket, runs.Imported{Blob: blob, File: x.File, Who: app.UserName(), At: time.Now().UTC()})
}

func (x importSummary) text(out io.Writer) {
	switch x.Kind {
	case importedRows:
		terminal.Line(out, "%s, %d of them with a rejected answer; train on them with "+
			"`finetune: {levels: […], data: {level3: %s}}`, or level1, level2", terminal.Count(x.Rows, "row"), x.Pairs,
			x.Digest)
		if n := len(x.Same); n > 0 {
			terminal.Line(out,
				"dropped: %s whose chosen and rejected answers are the same action, the first on line %d",
				terminal.Count(n, "row"), x.Same[0])
		}
		if x.Systems > 0 {
			terminal.Line(out, "not kept: the system messages of %s; the policy's own is sent",
				terminal.Count(x.Systems, "row"))
		}
		if x.Images > 0 {
			terminal.Line(out, "not kept: the images of %s; only texts are trained on",
				terminal.Count(x.Images, "row"))
		}
	case importedPolicy:
		terminal.Line(out, "a policy; begin stage 1 with it: `finetune: {base: %s}`", x.Digest)
	default:
		terminal.Line(out, "a policy (%s); begin stage 1 with it: `finetune: {base: %s}`", x.Kind, x.Digest)
	}
}

// maxImport bounds the size, in bytes, of a file of rows or of a small policy, because it is held in memory.
const maxImport = 1 << 30

// readImport reads and checks JSON lines or a small policy.
func readImport(path string) (importSummary, []byte, error) {
	out := importSummary{File: path, Kind: importedPolicy}
	raw, err := disk.Read(path, maxImport)
	if err != nil {
		return out, nil, err
	}
	if _, err := tinylm.Decode(raw); err == nil {
		return out, raw, nil
	}
	if err := envadapters.CheckData(path, raw); err != nil {
		return out, nil, err
	}
	in, err := synth.ReadRows(path, raw, 1)
	if err != nil {
		return out, nil, fault.New(fault.Invalid, "%w; nor is it a policy of the embedded trainer", err)
	}
	out.Kind = importedRows
	out.Rows = len(in.Rows)
	out.Same = in.Same
	out.Systems = in.Systems
	out.Images = in.Images
	out.Pairs = len(slices.DeleteFunc(in.Rows, func(example domain.Example) bool { return example.Rejected == "" }))

	return out, raw, nil
}

// importFolder stores an adapter, or a whole model, as a policy.
func importFolder(ctx context.Context, bucket store.Bucket, dir, model string) (importSummary, error) {
	out := importSummary{File: dir, Kind: domain.ArtifactFull}
	if model == "" {
		return out, fault.New(fault.Invalid,
			"%s is a folder: set --base-model to the folder of the model that it belongs to", dir)
	}
	base, err := external.ModelOf(model)
	if err != nil {
		return out, err
	}
	tmp, err := os.MkdirTemp("", "collabui-import-*")
	if err != nil {
		return out, fault.As(fault.Fatal, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := external.NoCodeNamed(dir); err != nil {
		return out, err
	}
	files, rank, err := hf.Files(dir, tmp)
	if err != nil {
		return out, err
	}
	if rank > 0 {
		out.Kind = domain.ArtifactLoRA
	}

	artifact := domain.Artifact{Kind: out.Kind, Base: base, Rank: rank}
	if artifact, out.Digest, err = external.PutArtifact(ctx, bucket, artifact, files); err != nil {
		return out, err
	}
	body, _ := artifact.Encode()

	return out, out.record(ctx, bucket, store.Ref{
		Key: store.BlobPrefix + out.Digest, SHA256: out.Digest, Size: int64(len(body)),
	})
}
