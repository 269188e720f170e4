package spec

import (
	"encoding/json"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer/registry"
)

// Trainer says what updates the policies; rates, batch and passes stand under train and finetune.
type Trainer struct {
	Name    string          `json:"name" yaml:"name"`
	Options json.RawMessage `json:"options,omitempty" yaml:"options"` // the trainer's own, all of them; see docs/specification.md
}

// Embedded is the name of the small policy's trainer.
const Embedded = "tiny"

// Serving says when a system counts as served.
type Serving struct {
	Quorum int `json:"quorum" yaml:"quorum"` // policy servers that must have the new policies before an epoch goes on; 0: all of them
}

// Embedded tells whether the run trains the small policy, which has a wording of its own.
func (s Spec) Embedded() bool { return s.Trainer.Name == Embedded }

// trainer decodes the trainer's name, then its options over that trainer's defaults, as strictly as everything else.
func (d *decoder) trainer(n *yaml.Node, t *Trainer, path string) {
	var parts struct {
		Name    string    `yaml:"name"`
		Options yaml.Node `yaml:"options"`
	}
	known := []string{"name", "options"}
	if n.Kind != yaml.MappingNode || n.Decode(&parts) != nil {
		d.fail(n, path, "expected a mapping with name and options")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value != "name" && k.Value != "options" {
			d.fail(k, path+"."+k.Value, "unknown key%s", nearest(k.Value, known))
		}
		d.at[path+"."+n.Content[i].Value] = n.Content[i+1]
	}
	if parts.Name != "" {
		t.Name = parts.Name
	}
	e, ok := registry.Find(t.Name)
	if !ok {
		return // check says so
	}
	t.Options = registry.Raw(e.Options)
	if parts.Options.Kind == 0 {
		return
	}
	if e.Options == nil {
		d.fail(&parts.Options, path+".options", "the trainer %s takes none", t.Name)
		return
	}
	v := reflect.New(reflect.TypeOf(e.Options)).Elem()
	v.Set(reflect.ValueOf(e.Options))
	d.decode(&parts.Options, v, path+".options")
	t.Options = registry.Raw(v.Interface())
}

// checkTrainer says which values of trainer and serving are impossible.
func (s Spec) checkTrainer(must func(ok bool, field, expected string, args ...any)) {
	must(s.Serving.Quorum >= 0 && s.Serving.Quorum <= 1000, "serving.quorum", "a whole number from 0 (all servers) to 1000, not %d", s.Serving.Quorum)
	e, ok := registry.Find(s.Trainer.Name)
	must(ok, "trainer.name", "one of %s, not %q", strings.Join(registry.Names(), ", "), s.Trainer.Name)
	must(s.Actions == domain.FamilyMobile || e.Free && s.Actions == domain.FamilyWeb, "actions", "mobile, or web where the policies are language models, not %q (environments of the other family are played by translation)", s.Actions)
	if !ok || e.Options == nil {
		return
	}
	v := reflect.New(reflect.TypeOf(e.Options))
	if raw := s.Trainer.Options; raw != nil {
		if err := json.Unmarshal(raw, v.Interface()); err != nil {
			must(false, "trainer.options", "the trainer's options: %v", err)
			return
		}
	}
	if e.Check != nil {
		e.Check(v.Elem().Interface(), func(ok bool, field, expected string, args ...any) {
			must(ok, "trainer.options."+field, expected, args...)
		},
			registry.Wanted{Batches: []int{s.Train.BatchSize, s.FineTune.Train.BatchSize, s.FineTune.Preference.BatchSize}, Single: s.Parameters == "shared" || s.Epochs == 0})
	}
}
