package app

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/test/kit/shell"
)

// awkward returns words that a shell or a program may read in another way.
func awkward() []string {
	words := []string{
		"quickstart", "a b/data", "it's", `"quoted"`, "$HOME/`x`", "a;b & c", "[1]*?", "-n", "--data", "a\nb", "~",
		"#a", `a\b`,
	}
	letters := []rune("ab-/ '\"$`\\*~!;&|<>(){}[]?#=\n\tü")
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		word := make([]rune, 1+rng.IntN(10))
		for i := range word {
			word[i] = letters[rng.IntN(len(letters))]
		}
		words = append(words, string(word))
	}

	return words
}

func TestACommandThatIsShownIsReadByAShellAsItWasMeant(t *testing.T) {
	for _, word := range awkward() {
		t.Run(word, func(t *testing.T) {
			a := &App{Data: word}
			want := []string{os.Args[0], "train", shell.Path(word), "--detach", "--data", word}
			got := shell.Args(t, a.Command("train %s --detach", word))
			if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
				t.Errorf("a shell reads %q, want %q", got, want)
			}
		})
	}
}

// TestNamesNeedNoQuotes lets commands name runs, lines, schedules and models as they are.
func TestNamesNeedNoQuotes(t *testing.T) {
	for c := range 256 {
		for _, name := range []string{"a" + string(rune(c)) + "a", string(rune(c)) + "a"} {
			if spec.IsName(name) && (fault.ShellQuote(name) != name || Operand(name) != name) {
				t.Errorf("%q is a name that a command cannot show as it is, want it plain", name)
			}
		}
	}
}

// TestReasonsOfRunsCanBePasted reads the commands in a reason with a shell, as this user calls the program.
func TestReasonsOfRunsCanBePasted(t *testing.T) {
	a := &App{Data: "d a'ta"}
	got := a.Pasteable("x is spent; raise it with `collabui set 'r un' budget.money=3`, " +
		"then `collabui resume r --why TEXT`, or `collabui down --data there`.\x1b[2J")
	for _, want := range []string{
		" set 'r un' budget.money=3 --data 'd a'\\''ta'`, then", " resume r --why TEXT --data 'd a'\\''ta'`, or",
		" down --data there`.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("pasteable = %s, want %s", got, want)
		}
	}
	var shown bytes.Buffer
	terminal.Line(&shown, "reason: %s\t%s", got, "\u202eabc\u009b1m")
	if strings.ContainsAny(shown.String(), "\x1b\u202e\u009b") || !strings.HasSuffix(shown.String(), "[2J\tabc1m\n") {
		t.Errorf("say wrote %q, want no control characters but the tab", shown.String())
	}
}
