package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store/runs"
)

// SystemsID asks for the systems of an epoch; 0 is the base.
type SystemsID struct {
	Run   string
	Epoch int
}

// Names of systems in results. base-1 is the better of its two decodings on val.
const (
	nameBaseGreedy = "base-1-greedy"
	nameBaseWarm   = "base-1-t0.2"
)

// Systems lists what can be evaluated at an epoch: of epoch 0 both decodings of one base agent and the base policy n times, of others the trained system.
func (c *Control) Systems(ctx context.Context, id SystemsID) ([]rules.EvalSystem, error) {
	s, err := c.spec(ctx, id.Run)
	if err != nil {
		return done[[]rules.EvalSystem](nil, err)
	}
	var policies []string
	if id.Epoch == 0 {
		b, _, err := runs.Run(id.Run).Base().Read(ctx, c.Bucket)
		if err != nil {
			return done[[]rules.EvalSystem](nil, err)
		}
		for range s.Agents {
			policies = append(policies, b.Policy.Digest)
		}
		one := func(name string, t float64) rules.EvalSystem {
			return rules.EvalSystem{Name: name, Policies: policies[:1], Rounds: 1, Temperature: []float64{t}, TopP: s.Decoding.TopP}
		}
		alone := []rules.EvalSystem{one(nameBaseGreedy, 0), one(nameBaseWarm, 0.2)}
		if s.Agents == 1 {
			return alone, nil // base-1 is chosen of these
		}
		return append(alone, rules.EvalSystem{Name: rules.BaseName(s.Agents), Policies: policies, Rounds: s.Rounds, Temperature: s.EvaluationTemperatures(), TopP: s.Decoding.TopP}), nil
	}
	for a := range s.Agents {
		u, _, err := runs.Run(id.Run).Update(id.Epoch, a).Read(ctx, c.Bucket)
		if err != nil {
			return done[[]rules.EvalSystem](nil, err)
		}
		policies = append(policies, u.Policy.Digest)
	}
	return []rules.EvalSystem{{Name: rules.TrainedName(s.Agents), Policies: policies, Rounds: s.Rounds, Temperature: s.EvaluationTemperatures(), TopP: s.Decoding.TopP}}, nil
}

// Final says what the last evaluation of a run plays.
type Final struct {
	Best   int // the epoch with the highest rate on val, ties to the earlier; 0 without epochs
	Splits []rules.Split
	Base1  string // the decoding that was better on val

	References []rules.EvalItem `json:",omitempty"` // systems without policies, on splits of recorded tasks
}

// PlanFinal reads val results only: a test split is read once, for the best system.
func (c *Control) PlanFinal(ctx context.Context, run string) (Final, error) {
	s, err := c.spec(ctx, run)
	if err != nil {
		return done(Final{}, err)
	}
	f := Final{Base1: nameBaseWarm, Splits: []rules.Split{{Name: domain.SplitTestSeeds, Episodes: s.Evaluation.TestSeeds}, {Name: domain.SplitTestTemplates, Episodes: s.Evaluation.TestTemplates}}}
	if f.Splits, f.References, err = c.elsewhere(s, f.Splits); err != nil {
		return done(f, err)
	}
	greedy, err := c.val(ctx, run, 0, nameBaseGreedy)
	if err != nil {
		return done(f, err)
	}
	warm, err := c.val(ctx, run, 0, nameBaseWarm)
	if err != nil {
		return done(f, err)
	}
	if greedy.Rate >= warm.Rate {
		f.Base1 = nameBaseGreedy
	}
	top := -1.0
	for e := 1; e <= s.Epochs; e++ {
		v, err := c.val(ctx, run, e, rules.TrainedName(s.Agents))
		if missing(err) {
			continue
		}
		if err != nil {
			return done(f, err)
		}
		if v.Rate > top {
			top, f.Best = v.Rate, e
		}
	}
	return f, nil
}

// elsewhere adds the splits out of distribution, and gives the references for all splits of recorded tasks.
func (c *Control) elsewhere(s spec.Spec, splits []rules.Split) ([]rules.Split, []rules.EvalItem, error) {
	var refs []rules.EvalItem
	refer := func(p rules.Split) {
		if p.Episodes > 0 {
			refs = append(refs, p.Item(s.Name, rules.ReferenceFolder, rules.References()[0]))
		}
	}
	if s.Recorded(c.Catalog, s.Environment) {
		for _, p := range append([]rules.Split{{Name: domain.SplitVal, Episodes: s.Evaluation.Val}}, splits...) {
			refer(p)
		}
	}
	for _, x := range s.Evaluation.OutOfDistribution {
		p := rules.Split{Name: x.Split, Episodes: x.Episodes, Environment: x.Environment, Options: s.Where(x.Environment)}
		suite, err := c.suite(p.Options)
		if err != nil {
			return nil, nil, err
		}
		ts, err := suite.Templates(x.Split)
		if err != nil {
			return nil, nil, err
		}
		if p.Episodes == 0 {
			p.Episodes = len(ts)
		}
		splits = append(splits, p)
		if envadapters.ProtocolOf(suite) != "" {
			refer(p)
		}
	}
	return splits, refs, nil
}

func (c *Control) val(ctx context.Context, run string, epoch int, system string) (runs.Result, error) {
	v, _, err := runs.Run(run).Result(rules.EvalID(rules.EpochFolder(epoch), system, domain.SplitVal)).Read(ctx, c.Bucket)
	return v, err
}

// Finish writes end.json: the table of results and the final digest.
func (c *Control) Finish(ctx context.Context, run string) (runs.End, error) {
	end, _, err := runs.Run(run).End().Record(ctx, c.Bucket, func() (runs.End, error) { return c.end(ctx, run) })
	if err == nil {
		c.emit(run, events.End{FinalDigest: end.FinalDigest, Results: end.Results})
	}
	return done(end, err)
}

func (c *Control) end(ctx context.Context, run string) (runs.End, error) {
	s, err := c.spec(ctx, run)
	if err != nil {
		return runs.End{}, err
	}
	f, err := c.PlanFinal(ctx, run)
	if err != nil {
		return runs.End{}, err
	}
	e := runs.End{Best: f.Best}
	base, ref, err := runs.Run(run).Base().Read(ctx, c.Bucket)
	if err != nil {
		return e, err
	}
	e.Epoch, e.FinalDigest = ref, base.Policy.Tensor
	if s.Epochs > 0 {
		last, ref, err := runs.Run(run).Epoch(s.Epochs).Read(ctx, c.Bucket)
		if err != nil {
			return e, err
		}
		e.Epoch, e.FinalDigest = ref, last.Digest
	}
	rows := []struct {
		epoch        int
		stored, name string
	}{{0, f.Base1, "base-1"}}
	if s.Agents > 1 {
		rows = append(rows, struct {
			epoch        int
			stored, name string
		}{0, rules.BaseName(s.Agents), rules.BaseName(s.Agents)})
	}
	if f.Best > 0 {
		rows = append(rows, struct {
			epoch        int
			stored, name string
		}{f.Best, rules.TrainedName(s.Agents), rules.TrainedName(s.Agents)})
	}
	var items []rules.EvalItem
	var names []string
	for _, p := range append([]rules.Split{{Name: domain.SplitVal}}, f.Splits...) {
		for _, r := range rows {
			items, names = append(items, p.Item(run, rules.EpochFolder(r.epoch), rules.EvalSystem{Name: r.stored})), append(names, r.name)
		}
		for _, r := range f.References {
			if r.Environment == p.Environment && r.Split == p.Name {
				items, names = append(items, r), append(names, r.System.Name)
			}
		}
	}
	for i, item := range items {
		res, _, err := runs.Run(run).Result(item.ID()).Read(ctx, c.Bucket)
		if missing(err) {
			continue // a split of size 0
		}
		if err != nil {
			return e, err
		}
		res.System = names[i]
		e.Results = append(e.Results, res)
	}
	for k := range s.Epochs + 1 {
		name := rules.TrainedName(s.Agents)
		if k == 0 {
			name = rules.BaseName(s.Agents)
		}
		v, err := c.val(ctx, run, k, name)
		if missing(err) {
			continue // not an epoch of evaluation.every
		}
		if err != nil {
			return e, err
		}
		e.Curve = append(e.Curve, runs.EvalPoint{At: k, Rate: v.Rate})
	}
	return e, nil
}
