package estimate

import (
	"math"
	"strings"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Max(1, math.Abs(b)) }

func TestARunIsReckonedFromItsPilot(t *testing.T) {
	p := Pilot{
		Steps: Steps{Pilot: Sample{8, 8, 8, 8}, Expert: Sample{4, 4}},
		Roles: []Role{
			{Name: "critic", Calls: 32, Units: 4, Total: 100, Tokens: Sample{1000, 1000, 1000}, Money: Sample{0.01, 0.01}, Steps: true},
			{Name: "questions", Calls: 8, Units: 8, Total: 400, Tokens: Sample{500, 1500}},
			{Name: "unused", Calls: 3, Units: 3},
		},
		Phases: []Phase{{Name: "rollouts", Seconds: 36, Units: 4, Low: 100, Total: 100, Steps: true}, {Name: "SFT", Seconds: 3.6, Units: 10, Low: 20, Total: 1000}},
		Disks:  []Disk{{Name: "episodes", Bytes: 4e6, Units: 4, Total: 100, Steps: true}, {Name: "policies", Bytes: 1e6, Units: 1, Low: 10, Total: 30}},
	}
	got := p.Estimate()
	if len(got) != 7 {
		t.Fatalf("%+v", got)
	}
	c := got[0] // 8 calls per episode of 8 steps: 800 at most, 400 if episodes become as short as the expert's
	if !near(c.Calls.Low, 400) || !near(c.Calls.Mid, 600) || !near(c.Calls.High, 800) || !near(c.Tokens.High, 800000) || !near(c.Money.Low, 4) {
		t.Errorf("%+v", c)
	}
	if q := got[1]; q.Calls != (Range{400, 400, 400}) || !near(q.Tokens.Mid, 400000) || q.Tokens.Low >= 300000 || q.Tokens.High <= 500000 {
		t.Errorf("%+v", q)
	}
	if r := got[2]; !near(r.Hours.Low, 0.125) || !near(r.Hours.High, 0.25) {
		t.Errorf("%+v", r)
	}
	if s := got[3]; !near(s.Hours.Low*3600, 7.2) || !near(s.Hours.High*3600, 360) {
		t.Errorf("%+v", s)
	}
	if sum := got[6]; sum.Name != "in all" || !near(sum.Calls.High, 1200) || !near(sum.Bytes.High, 1.3e8) || !near(got[5].Bytes.Low, 1e7) || !near(sum.Hours.High, 0.35) {
		t.Errorf("%+v", sum)
	}
	text := Text(got)
	if !strings.Contains(text, "400 to 800") || !strings.Contains(text, "50 MB to 100 MB") || strings.Contains(text, "unused") {
		t.Error(text)
	}
	if _, rel := (Sample{3}).mean(); rel != 1 {
		t.Error("one value tells nothing about its spread")
	}
}
