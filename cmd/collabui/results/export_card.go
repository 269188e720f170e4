package results

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/rows"
	"github.com/collabui/collabui/workers/catalog"
)

//go:embed card.md.tmpl
var cardText string

var cardTemplate = template.Must(template.New("").Funcs(template.FuncMap{"purpose": purpose}).Parse(cardText))

// purpose describes the readers of a file.
func purpose(file rows.File) string {
	switch {
	case file.Format == rows.Preference:
		return "TRL and others, `collabui import`"
	case file.Ranking:
		return "LLaMA-Factory, DPO: `" + file.Dataset + "`"
	}

	return "LLaMA-Factory, SFT: `" + file.Dataset + "`"
}

// dataCard holds the contents of an export's card: facts about the run.
type dataCard struct {
	Run         string
	Epoch       int  // 0 is stage 1
	Samples     bool // for GRPO, instead of pairs
	Facts       [][2]string
	Levels      []string // cards of the levels of stage 1
	Configs     []rows.Config
	Columns     []string
	Empty       string       // files without rows
	Example     *rows.Config // what the examples train on
	Critic      string       // what labels an answer as right
	Texts       string       // source of the texts in the rows
	Screenshots int
	System      string

	build app.Build // of the program that exports
}

// readme returns the README.md of an export, which describes its data sets and how to use its system.
func (c *dataCard) readme(ctx context.Context, bucket store.Bucket, specification spec.Spec) ([]byte, error) {
	if err := c.findFacts(ctx, bucket, specification); err != nil {
		return nil, err
	}
	head, err := rows.CardHeader("collabui run "+c.Run, c.Configs)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	out := bytes.NewBuffer(head)
	if err := cardTemplate.Execute(out, c); err != nil {
		return nil, fault.As(fault.Fatal, err)
	}

	return out.Bytes(), nil
}

// findFacts fills in where the rows come from.
func (c *dataCard) findFacts(ctx context.Context, bucket store.Bucket, specification spec.Spec) error {
	run := runs.Run(specification.Name)
	_, ref, err := run.Spec().Must(ctx, bucket)
	if err != nil {
		return err
	}
	end, ended, err := run.End().May(ctx, bucket)
	if err != nil {
		return err
	}
	digest := "the run has not ended"
	if ended {
		digest = "`" + end.FinalDigest + "`"
	}

	c.fact("run", specification.Name)
	c.fact("specification", "SHA-256 `"+ref.SHA256+"`")
	c.fact("final digest of the run", digest)
	c.fact("exported by", "collabui "+strings.TrimSpace(c.build.Version+" "+c.build.Commit))
	c.findEnvironment(specification)
	if c.Epoch > 0 {
		c.ofEpoch(specification)
	} else if err := c.ofStage1(ctx, bucket, specification); err != nil {
		return err
	}
	c.fact("lines of histories", "by "+rules.RoleName(specification, specification.Summariser.Model, "fixed rules"))

	return nil
}

// fact adds a line to a table. It escapes the value, because a model may have any name.
func (c *dataCard) fact(name, value string) {
	c.Facts = append(c.Facts, [2]string{name, inTable.Replace(agents.Line(value, 300))})
}

var inTable = strings.NewReplacer("|", "\\|", "<", "&lt;")

// findEnvironment fills in what the run trained on, and the source of the texts on its screens.
func (c *dataCard) findEnvironment(specification spec.Spec) {
	options := specification.Where(specification.Environment)
	suites := []string{options.Suite}
	for _, part := range slices.Sorted(maps.Keys(options.Parts)) {
		suites = append(suites, options.Part(part).Suite)
	}
	var texts []string
	for _, name := range slices.Compact(suites) {
		environment, _ := catalog.FindEnvironment(name)
		c.fact("environment", "`"+name+"`: "+cmp.Or(environment.About, "not part of this build"))
		if len(options.Parts) == 0 || name != options.Suite {
			texts = append(texts, name+": "+cmp.Or(environment.Texts, "not known"))
		}
	}
	c.Texts = strings.Join(texts, "; ")
}

// ofEpoch describes how the pairs of an epoch were made.
func (c *dataCard) ofEpoch(given spec.Spec) {
	c.Critic = rules.CriticName(given, catalog.All{})
	c.fact("data of", fmt.Sprintf("epoch %d", c.Epoch))
	c.fact("played by", fmt.Sprintf("the %d agents of the system before it, in %d episodes", given.Agents, given.Slots))
	c.fact("labels", "by "+c.Critic)
	if c.Samples {
		return
	}
	if given.Clones() {
		c.fact("wrong answers", "none, because RFT learns from right answers alone")

		return
	}
	c.fact("wrong answers", "those of agents that were labelled wrong; others proposed by "+
		rules.RoleName(given, given.Adversary.Model,
			fmt.Sprintf("the agents' own policies at temperature %g", given.Adversary.Temperature)))
}

// ofStage1 describes how the data of stage 1 were made.
func (c *dataCard) ofStage1(ctx context.Context, bucket store.Bucket, specification spec.Spec) error {
	c.fact("data of", "stage 1")
	c.Critic = "the environment's expert"
	levels, err := runs.Run(specification.Name).Levels(ctx, bucket)
	if err != nil {
		return err
	}
	if len(levels) > 0 {
		c.Critic = "named with each level above"
	} else {
		c.fact("played by", c.Critic)
	}
	for _, levelSet := range levels {
		c.Levels = append(c.Levels, strings.ReplaceAll(levelSet.Card.Text(), "`", "'"))
	}

	return nil
}

// describe fills in what the files contain.
func (c *dataCard) describe(sets []rows.Set, files map[string][]byte) {
	for _, config := range c.Configs {
		for _, feature := range config.Features {
			c.Columns = append(c.Columns, fmt.Sprintf("`%s`: %s", feature.Name, feature.About))
		}
	}
	slices.Sort(c.Columns)
	c.Columns = slices.Compact(c.Columns)

	var empty []string
	for _, set := range sets {
		for _, file := range set.Files() {
			if len(files[file.Name]) == 0 {
				empty = append(empty, "`"+file.Name+"`")
			}
		}
	}
	c.Empty = strings.Join(empty, ", ")
	for name := range files {
		if strings.HasPrefix(name, "images/") {
			c.Screenshots++
		}
	}
	c.Example = exampleOf(c.Configs)
}

// exampleOf returns what the examples train on: the first rows with wrong answers, if there are any. It returns nil for
// samples, because neither program trains on recorded advantages by itself.
func exampleOf(configs []rows.Config) *rows.Config {
	var found *rows.Config
	for i, config := range configs {
		if slices.ContainsFunc(config.Features, func(f rows.Feature) bool { return f.Name == "advantage" }) {
			return nil
		}
		better := found == nil || config.File.Ranking && !found.File.Ranking
		if config.File.Format == rows.ShareGPT && better {
			found = &configs[i]
		}
	}

	return found
}
