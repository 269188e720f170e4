package fault_test

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

func TestAShellReadsAQuotedWordAsItWas(t *testing.T) {
	words := []string{
		"", "run-1", "a b", "it's", `a"b`, "$HOME", "`id`", "a\\b", "*", "~", "!x", "a;b", "a\nb", "ü 日本", "x=[1]",
		"#a", "-n",
	}
	letters := []rune("ab '\"$`\\*~!;&|<>(){}[]?#=\n\tü")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		word := make([]rune, rng.IntN(12))
		for i := range word {
			word[i] = letters[rng.IntN(len(letters))]
		}
		words = append(words, string(word))
	}

	var script strings.Builder
	want := strings.Join(words, "\x00") + "\x00"
	script.WriteString(`printf '%s\0'`)
	for _, word := range words {
		script.WriteString(" " + fault.ShellQuote(word))
	}
	got, err := exec.Command("sh", "-c", script.String()).Output()
	if err != nil || string(got) != want {
		t.Errorf("a shell reads %q, %v; want %q", got, err, want)
	}
}

func TestAWordThatNeedsNoQuotesHasNone(t *testing.T) {
	for _, word := range []string{"quickstart", "examples/paper.yaml", "--set", "a=b", "http://127.0.0.1:8000/v1"} {
		if got := fault.ShellQuote(word); got != word {
			t.Errorf("ShellQuote(%q) = %q, want it unchanged", word, got)
		}
	}
}
