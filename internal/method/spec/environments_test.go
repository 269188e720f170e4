package spec_test

import (
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

func TestEnvironmentsAreChecked(t *testing.T) {
	const elsewhere = "evaluation:\n  out_of_distribution: "
	mistakes{
		"environment: nowhere": `x.yaml:2:14: environment: expected one of webtasks,`,
		"environment: autowebbench": `x.yaml:2:14: environment: expected options under ` +
			`environments.autowebbench: data:`,
		"environments:\n  a:\n    suite: autowebbench": `x.yaml:4:5: environments.a: expected data: ` +
			`autowebbench needs it`,
		"environments:\n  a: {suite: autowebbench, data: d, semantics: mobile}": `environments.a: ` +
			`expected semantics: autowebbench takes no such option; it takes data, broken`,
		"environments:\n  a: {suite: openenv, servers: [x], mapping: {gaol: x}}": `x.yaml:3:47: ` +
			`environments.a.mapping.gaol: unknown key; did you mean "goal"?`,
		"environments:\n  A: {suite: webtasks}": `environments.A: expected a name of 1 to 40`,
		"environments:\n  a: {suite: openenv, servers: ['wss://u:canary@h/ws']}": `environments.a.servers.0: ` +
			`expected a URL without a user and a password`,

		"actions: both": `x.yaml:2:10: actions: expected mobile, or web where`,
		"credit: outcome\nenvironment: m\nenvironments: {m: {suite: mind2web, data: d}}": `x.yaml:2:9: ` +
			`credit: expected critic where tasks are recorded`,

		elsewhere + "[{environment: nope, split: x}]": `out_of_distribution[0].environment: expected one of`,
		elsewhere + "[{environment: webtasks}]":       `out_of_distribution[0].split: expected the name of a split`,
		elsewhere + "[{environment: webtasks, split: val}, {environment: webtasks, split: val}]": `` +
			`out_of_distribution[1]: expected each environment and split once`,
	}.check(t, "name: x\n")
}

const environments = `
environments:
  awb: {suite: autowebbench, data: files}
  gym: {suite: openenv, servers: ["ws://127.0.0.1:1/ws"], mapping: {fields: {id: bid}, tasks: [a, b]}}
evaluation:
  out_of_distribution:
    - {environment: awb, split: en-ind}
`

func TestEnvironmentsAreFoundByName(t *testing.T) {
	s, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/some/dir"}, []byte("name: x"+environments), catalog.All{})
	if err != nil {
		t.Fatal(err)
	}

	if got, want := s.Where("awb").Data, "/some/dir/files"; got != want {
		t.Errorf("data of awb = %q, want %q", got, want)
	}
	m := s.Where("gym").Mapping
	if m.Fields["id"] != "bid" || len(m.Tasks) != 2 {
		t.Errorf("mapping of gym = %+v, want the field id and two tasks", m)
	}
	if got := s.Where("webtasks").Suite; got != "webtasks" {
		t.Errorf("suite of webtasks = %q, want webtasks", got)
	}

	for name, want := range map[string]bool{"awb": true, "gym": false, "webtasks": false} {
		if got := s.Recorded(catalog.All{}, name); got != want {
			t.Errorf("Recorded(%q) = %v, want %v", name, got, want)
		}
	}
}
