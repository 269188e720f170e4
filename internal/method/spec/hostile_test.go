package spec_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

const head = "name: a\n"

func TestAFileIsOneDocumentWithoutTricks(t *testing.T) {
	mistakes{
		// aliases that contain themselves, directly or indirectly
		head + "environments:\n  a:\n    parts: &p\n      b:\n        parts: *p\n": `x.yaml:6:16: ` +
			`environments.a.parts.b.parts: the alias p contains itself`,
		head + "prompts: &p\n  critic: *p\n":                      `x.yaml:3:11: prompts.critic: the alias p contains`,
		head + "decoding: {temperatures: &t [0.1, [*t]]}\n":       `temperatures[1][0]: the alias t contains itself`,
		head + "models: &m\n  one: &n {price: *m}\n  two: *n\n":   `models.one.price: the alias m contains itself`,
		head + "models: {m: *nowhere}\n":                          `x.yaml:2:13: the alias nowhere has no anchor`,
		head + "prompts: {critic: &a x, *a : y}\n":                `prompts: expected a name as the key`,
		head + "models:\n  a: &a {}\n  b:\n    <<: *a\n":          `models.b: merge keys (<<) are not supported`,
		head + "finetune: {data: {? [level1] : x}}\n":             `finetune.data: expected a name as the key`,
		head + "prompts: !include prompts.yaml\n":                 `x.yaml:2:10: prompts: the tag !include is`,
		head + "seed: !env SEED\n":                                `x.yaml:2:7: seed: the tag !env is not supported`,
		head + "about: 1\n---\nname: b\n":                         `x.yaml:3:1: a second document begins here`,
		"---\n" + head + "...\n---\nname: b\n":                    `x.yaml:4:1: a second document begins here`,
		"name: a: b\n":                                            `x.yaml:1:8: mapping values are not allowed`,
		"name: @a\n":                                              `x.yaml:1:7: found character that cannot start`,
		head + "---\n":                                            `x.yaml:2:1: a second document begins here`,
		head + "models: {m: {price: {prompt: inf}}}\n":            `models.m.price.prompt: expected a finite`,
		head + "train: {beta: NaN}\n":                             `x.yaml:2:15: train.beta: expected a finite`,
		head + "failed_share: -Infinity\n":                        `x.yaml:2:15: failed_share: expected a finite`,
		head + "failed_share: .inf\n":                             `x.yaml:2:15: failed_share: expected a finite`,
		head + "failed_share: 1e999\n":                            `x.yaml:2:15: failed_share: expected a finite`,
		head + "prompts: {critic: \"caf\xe9\"}\n":                 `x.yaml:2:23: not UTF-8: found the byte 0xe9`,
		head + "prompts: {critic: \"\x01\"}\n":                    `x.yaml:2:20: the character U+0001 is not allowed`,
		"\xff\xfen\x00a\x00":                                      `x.yaml:1:1: not UTF-8`,
		head + strings.Repeat("#", 1<<20):                         `x.yaml: larger than 512 KiB`,
		head + "models: " + strings.Repeat("{a: ", 5000):          `x.yaml:2`,
		head + "models: {" + strings.Repeat("x", 200) + ": {}}\n": `is longer than 128 bytes`,
	}.check(t, "")
}

// bombs returns texts of at most 1 MB that are expensive for a careless reader.
func bombs() map[string]string {
	var laughs, deep, long, models strings.Builder
	laughs.WriteString(head + "environments:\n  a0: &a0 {suite: webtasks}\n")
	deep.WriteString(head + "environments:\n  a0: &a0 {suite: webtasks}\n")
	for i := range 30 {
		fmt.Fprintf(&laughs, "  a%[1]d: &a%[1]d {parts: {a: *a%[2]d, b: *a%[2]d, c: *a%[2]d, d: *a%[2]d}}\n", i+1, i)
		fmt.Fprintf(&deep, "  a%d: &a%d {parts: {b: *a%d}}\n", i+1, i+1, i)
	}
	nested := head + "environments: {a: " + strings.Repeat("{parts: {b: ", 4_900) + strings.Repeat("}}", 4_900) + "}\n"
	long.WriteString(head + "prompts: {critic: &l " + strings.Repeat("x", 400_000) + "}\n")
	long.WriteString("environments:\n  a:\n    without: [")
	long.WriteString(strings.Repeat("*l, ", 20_000) + "]\n")
	fill := func(before, part, after string, size int) string {
		return before + strings.Repeat(part, (size-len(before)-len(after))/len(part)) + after
	}

	models.WriteString(head + "models: {")
	for i := range 40_000 {
		fmt.Fprintf(&models, "m%d: {},", i)
	}
	models.WriteString("}")

	out := map[string]string{
		"models": models.String(), "four to the 30": laughs.String(), "nested": nested,
		"deep aliases": deep.String(), "long text": long.String(),
	}
	for _, size := range []int{60_000, 500_000, 1_000_000} {
		for name, parts := range map[string][3]string{
			"keys":      {head + "{", "k,", "}"},
			"list":      {head + "decoding: {temperatures: [", "1,", "]}"},
			"mappings":  {head, "?\n", ""},
			"comments":  {head, "a: 1 #\n", ""},
			"brackets":  {head + "a: ", "[", ""},
			"dashes":    {head + "a:\n", "- ", ""},
			"lines":     {head + "a: ", "[\n", ""},
			"anchors":   {head + "a:\n", "- &a\n", ""},
			"aliases":   {head + "a:\n- &a x\n", "- *a\n", ""},
			"one key":   {head + "\"", "k", "\": 1"},
			"one value": {head + "agents: \"", "9", "\""},
			"documents": {head, "---\n", ""},
		} {
			out[fmt.Sprintf("%s, %d bytes", name, size)] = fill(parts[0], parts[1], parts[2], size)
		}
	}

	return out
}

// TestNoFileCostsMuch allows every reading 2 seconds of CPU time and 200 MB of allocations in total.
func TestNoFileCostsMuch(t *testing.T) {
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := computed(t)
			_, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(text), catalog.All{})
			took := computed(t) - began
			runtime.ReadMemStats(&after)

			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fmt.Sprint(err), "x.yaml:") {
				t.Errorf("got %.200v, want an invalid fault that names the file", err)
			}
			if n := len(fmt.Sprint(err)); n > 10_000 {
				t.Errorf("the error has %d bytes, want at most 10,000", n)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 || took > 2*time.Second {
				t.Errorf("used %d MB and computed for %v, want at most 200 MB and 2 s", used, took)
			}
		})
	}
}

// computed returns the CPU time of this process, which is independent of other processes.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}

	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
