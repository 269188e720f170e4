package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

func importCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "import FILE", Short: "Bring demonstrations, preference pairs or a policy of one's own into the store", Args: cobra.ExactArgs(1),
		Example: "  collabui import pairs.jsonl\n  collabui import policy.safetensors\n  collabui import my-adapter --base-model /models/Qwen2-7B-Instruct",
		Long:    "import checks a file, stores it by content and prints the digest by which a specification names it: finetune.data.level1, .level2 or .level3 for JSON lines,\nfinetune.base for a policy. A line is {\"prompt\":…, \"chosen\":…, \"rejected\":…} (texts or conversations) or {\"messages\":[…]}. Nothing is stored of a file that has a broken line.\nA folder with adapter_config.json and adapter_model.safetensors is an adapter, a folder with a whole model a policy with all parameters; both belong to the model in --base-model.",
	}
	model := c.Flags().String("base-model", "", "of a folder: the base model that it belongs to")
	c.RunE = func(c *cobra.Command, args []string) error {
		if st, err := os.Stat(args[0]); err == nil && st.IsDir() {
			b, _, err := a.bucket()
			if err != nil {
				return err
			}
			out, err := importFolder(c.Context(), b, args[0], *model)
			if err != nil {
				return err
			}
			return a.print(out, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "a policy (%s); begin stage 1 with it by `finetune: {base: %s}`\n", out.Kind, out.Digest)
			})
		}
		raw, err := os.ReadFile(args[0])
		if err != nil {
			return fault.New(fault.Invalid, "read the file: %w", err)
		}
		out := imported{File: args[0], Kind: "policy"}
		if _, err := tinylm.Decode(raw); err != nil {
			out.Kind = "rows"
			rows, err := synth.ReadRows(args[0], raw, 1)
			if err != nil {
				return fault.New(fault.Invalid, "%w; a policy of the embedded trainer it is not either", err)
			}
			out.Rows = len(rows)
			out.Pairs = len(slices.DeleteFunc(rows, func(p domain.Pair) bool { return p.Rejected == "" }))
		}
		b, _, err := a.bucket()
		if err != nil {
			return err
		}
		ref, err := store.PutBlob(c.Context(), b, raw)
		if err != nil {
			return err
		}
		out.Digest = ref.SHA256
		return a.print(out, func(w io.Writer) {
			if out.Kind == "policy" {
				_, _ = fmt.Fprintf(w, "a policy; begin stage 1 with it by `finetune: {base: %s}`\n", out.Digest)
				return
			}
			_, _ = fmt.Fprintf(w, "%d rows, %d of them with a rejected answer; train on them by `finetune: {levels: […], data: {level3: %s}}`, or level1, level2\n", out.Rows, out.Pairs, out.Digest)
		})
	}
	return c
}

// importFolder stores an adapter, or a whole model, as a policy.
func importFolder(ctx context.Context, b store.Bucket, dir, model string) (imported, error) {
	out := imported{File: dir, Kind: domain.ArtifactFull}
	if model == "" {
		return out, fault.New(fault.Invalid, "%s is a folder: give --base-model, the folder of the model that it belongs to", dir)
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
	files, rank, err := hf.Files(dir, tmp)
	if err != nil {
		return out, err
	}
	if rank > 0 {
		out.Kind = domain.ArtifactLoRA
	}
	art := domain.Artifact{Kind: out.Kind, Base: base, Rank: rank}
	_, out.Digest, err = external.PutArtifact(ctx, b, art, files)

	return out, err
}

type imported struct {
	File   string              `json:"file"`
	Kind   domain.ArtifactKind `json:"kind"` // or "policy" or "rows", of a file
	Digest string              `json:"digest"`
	Rows   int                 `json:"rows,omitempty"`
	Pairs  int                 `json:"pairs,omitempty"`
}
