package catalog

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/trainer/peft"
	"github.com/collabui/collabui/trainer/tiny"
	"github.com/collabui/collabui/trainer/trl"
)

// Host is what a worker provides to its trainers.
type Host struct {
	external.Host
	LlamaFactory string // the program; empty: llamafactory-cli on the PATH

	TinyCheckpoint func(job string, step int) string // returns the key of the embedded trainer's checkpoint
}

// Trainer is one trainer.
type Trainer struct {
	Name  string // as specifications name it
	About string // what it is, in a sentence
	Rules spec.TrainerRules

	// Open opens the trainer on a worker. It makes no request and starts no process.
	Open func(Host) trainer.Trainer
}

// trainers holds the trainers: the embedded one first, your own last.
var trainers = []Trainer{
	{
		Name:  spec.Embedded,
		About: "the embedded small policy, on the CPU",
		Rules: spec.TrainerRules{
			Objectives: []string{string(trainer.SFT), string(trainer.DPO), string(trainer.GRPO)},
		},
		Open: func(h Host) trainer.Trainer {
			return &tiny.Trainer{Bucket: h.Bucket, CheckpointKey: h.TinyCheckpoint}
		},
	},
	{
		Name:  "llamafactory",
		About: "LLaMA-Factory on GPU workers: LoRA adapters or all parameters of a language model",
		Rules: spec.TrainerRules{
			Options:        llamafactory.DefaultOptions(),
			LanguageModels: true,
			Pictures:       true,
			Losses:         []domain.Loss{domain.LossDPO},
			Check: func(o any, must spec.Must, d spec.Demand) {
				l := o.(llamafactory.Options)
				l.Check(must, d.Batches...)
				must(l.Finetuning != "full" || d.OnePolicy, "finetuning", "lora, or parameters: shared: "+
					"servers of language models are started with one policy that has all parameters")
			},
		},
		Open: func(h Host) trainer.Trainer {
			tool := &llamafactory.Tool{Bucket: h.Bucket, Program: h.LlamaFactory, Python: h.Python}
			return &external.Trainer{Host: h.Host, Tool: tool}
		},
	},
	{
		Name:  "trl",
		About: "TRL on GPU workers: DPO and GRPO of LoRA adapters; the example of a custom trainer",
		Rules: spec.TrainerRules{
			Options:        trl.DefaultOptions(),
			LanguageModels: true,
			Objectives:     []string{string(trainer.DPO), string(trainer.GRPO)},
			Losses:         []domain.Loss{domain.LossDPO},
			Check:          func(o any, must spec.Must, d spec.Demand) { o.(trl.Options).Check(must, d.Batches...) },
		},
		Open: func(h Host) trainer.Trainer {
			return &external.Trainer{Host: h.Host, Tool: &trl.Tool{Python: h.Python}}
		},
	},
	{
		Name:  "peft",
		About: "PEFT on GPU workers: SFT and DPO of LoRA adapters, those of all agents in one process if wished",
		Rules: spec.TrainerRules{
			Options:        peft.DefaultOptions(),
			LanguageModels: true,
			Losses:         []domain.Loss{domain.LossDPO},
			Check:          func(o any, must spec.Must, d spec.Demand) { o.(peft.Options).Check(must, d.Batches...) },
		},
		Open: func(h Host) trainer.Trainer {
			return &external.Trainer{Host: h.Host, Tool: &peft.Tool{Python: h.Python}}
		},
	},
}

// OpenTrainers opens every trainer of this build, by name.
func OpenTrainers(host Host) map[string]trainer.Trainer {
	out := map[string]trainer.Trainer{}
	for _, t := range trainers {
		out[t.Name] = t.Open(host)
	}

	return out
}
