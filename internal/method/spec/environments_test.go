package spec

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvironmentsAreCheckedByNameFileAndLine(t *testing.T) {
	head := "name: x\n"
	for text, want := range map[string]string{
		"environment: nowhere":                                                           `x.yaml:2:14: environment: expected one of webtasks,`,
		"environment: autowebbench":                                                      `x.yaml:2:14: environment: expected options under environments.autowebbench: data: autowebbench needs it`,
		"environments:\n  a:\n    suite: autowebbench":                                   `x.yaml:4:5: environments.a: expected data: autowebbench needs it`,
		"environments:\n  a: {suite: autowebbench, data: d, semantics: mobile}":          `environments.a: expected semantics: autowebbench takes no such option; it takes data, broken`,
		"environments:\n  a: {suite: openenv, servers: [x], mapping: {gaol: x}}":         `x.yaml:3:47: environments.a.mapping.gaol: unknown key; did you mean "goal"?`,
		"environments:\n  A: {suite: webtasks}":                                          `environments.A: expected a name of 1 to 40`,
		"actions: both":                                                                  `x.yaml:2:10: actions: expected mobile, or web where`,
		"evaluation:\n  out_of_distribution: [{environment: nope, split: x}]":            `out_of_distribution[0].environment: expected one of`,
		"evaluation:\n  out_of_distribution: [{environment: webtasks}]":                  `out_of_distribution[0].split: expected the name of a split`,
		"credit: outcome\nenvironment: m\nenvironments: {m: {suite: mind2web, data: d}}": `x.yaml:2:9: credit: expected critic where tasks are recorded`,
		"evaluation:\n  out_of_distribution: [{environment: webtasks, split: val}, {environment: webtasks, split: val}]": `out_of_distribution[1]: expected each environment and split once`,
	} {
		if _, err := Parse("x.yaml", []byte(head+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngave %v\nwant %s", text, err, want)
		}
	}
	s, err := Parse(filepath.Join("some", "dir", "x.yaml"), []byte(head+`
environments:
  awb: {suite: autowebbench, data: files}
  gym: {suite: openenv, servers: ["ws://127.0.0.1:1/ws"], mapping: {fields: {id: bid}, tasks: [a, b]}}
evaluation:
  out_of_distribution:
    - {environment: awb, split: en-ind}
`))
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Where("awb").Data; !filepath.IsAbs(d) || !strings.HasSuffix(d, filepath.Join("some", "dir", "files")) || !s.Recorded("awb") || s.Recorded("gym") || s.Recorded("webtasks") {
		t.Errorf("%+v", s.Environments)
	}
	if o := s.Where("gym"); o.Mapping.Fields["id"] != "bid" || len(o.Mapping.Tasks) != 2 || s.Where("webtasks").Suite != "webtasks" {
		t.Errorf("%+v", o)
	}
}
