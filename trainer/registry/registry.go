// Package registry knows every trainer of this build by its name: its options, and how to open it. It only wires. Trainers of one's own stand in files beside this one
// (docs/add-a-trainer.md).
package registry

import (
	"encoding/json"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/trainer/tiny"
	"github.com/collabui/collabui/trainer/trl"
)

// Host is what a worker gives to its trainers.
type Host struct {
	external.Host
	LlamaFactory string // the program; "": on the PATH

	TinyCheckpoint func(job string, step int) string // key of the embedded trainer's checkpoint
}

// Must says of a field what was expected where ok is false.
type Must = func(ok bool, field, expected string, args ...any)

// Wanted is what a specification asks of its trainer beside the options.
type Wanted struct {
	Batches []int // sizes
	Single  bool  // one policy for all agents
}

// Entry is one trainer.
type Entry struct {
	Name    string                                 // as specifications name it
	About   string                                 // what it is, in a sentence
	Options any                                    // its options with their defaults: a struct with json and yaml names; nil: it takes none
	Check   func(options any, must Must, w Wanted) // says which options are impossible, of the type of Options
	Open    func(Host) trainer.Trainer             // opens it on a worker; it makes no request and starts nothing
	Free    bool                                   // its policies are language models: they speak both action families, in words of their own
}

// own are the trainers that stand in files of their own.
var own []Entry

// All lists the trainers, the embedded one first.
func All() []Entry {
	return append([]Entry{
		{Name: "tiny", About: "the embedded small policy, on the CPU", Open: func(h Host) trainer.Trainer {
			return &tiny.Trainer{Bucket: h.Bucket, CheckpointKey: h.TinyCheckpoint}
		}},
		{Name: "llamafactory", About: "LLaMA-Factory on GPU workers: LoRA adapters or all parameters of a language model", Free: true, Options: llamafactory.DefaultOptions(),
			Check: func(o any, must Must, w Wanted) {
				l := o.(llamafactory.Options)
				l.Check(must, w.Batches...)
				must(l.Finetuning != "full" || w.Single, "finetuning", "lora, or parameters: shared: servers of language models take one policy with all parameters each, started with it")
			},
			Open: func(h Host) trainer.Trainer {
				return &external.Trainer{Host: h.Host, Tool: &llamafactory.Tool{Bucket: h.Bucket, Program: h.LlamaFactory, Python: h.Python}}
			}},
		{Name: "trl", About: "TRL on GPU workers: DPO of LoRA adapters; the example of a trainer of one's own", Free: true, Options: trl.DefaultOptions(),
			Check: func(o any, must Must, w Wanted) { o.(trl.Options).Check(must, w.Batches...) },
			Open: func(h Host) trainer.Trainer {
				return &external.Trainer{Host: h.Host, Tool: &trl.Tool{Python: h.Python}}
			}},
	}, own...)
}

// Find gives a trainer by its name.
func Find(name string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Names of all trainers.
func Names() []string {
	var out []string
	for _, e := range All() {
		out = append(out, e.Name)
	}
	return out
}

// Open gives every trainer of this build on a host, by its name.
func Open(h Host) map[string]trainer.Trainer {
	out := map[string]trainer.Trainer{}
	for _, e := range All() {
		out[e.Name] = e.Open(h)
	}
	return out
}

// Missing says that a worker has no such trainer.
func Missing(name string) error {
	return fault.New(fault.Invalid, "this worker has no trainer %q: it was built without it", name)
}

// Raw is a value as specifications store it.
func Raw(options any) json.RawMessage {
	if options == nil {
		return nil
	}
	raw, err := json.Marshal(options)
	if err != nil {
		panic(err) // plain values only
	}
	return raw
}
