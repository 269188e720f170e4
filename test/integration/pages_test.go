//go:build integration

package integration

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/typed"
)

// newcomer types commands of pages in a checkout of its own.
type newcomer struct {
	m   *machine
	dir string
}

var (
	optional = regexp.MustCompile(` \[[^\]]*\]`)
	choice   = regexp.MustCompile(`(\w+)\|[\w|]+`)
	blank    = regexp.MustCompile(`^[A-Z][A-Z/]*$`)
)

// instead has what a newcomer types for a command whose words alone do not tell it.
var instead = map[string]string{
	"envs check NAME": "envs check webtasks --tasks 1", // all tasks take minutes
	"envs serve NAME": "envs serve webtasks",
	"copy FROM TO":    "copy store DIR",

	"eval RUN --epoch 3 --split test-seeds": "eval RUN --epoch 3 --split test-seeds --episodes 3",
}

// fill replaces what a reader replaces in a command. It drops optional parts, and takes the first of several choices.
func (n *newcomer) fill(command string) string {
	meaning := map[string]string{
		"my.yaml": n.m.spec, "/big/disk": n.m.data, "RUN": "kill", "quickstart": "kill", "EPOCH/SLOT": "1/1", "3": "1",
		"K": "0", "NEW": "forked", "TEXT": "seen", "NAME": "panel", "DIR": filepath.Join(n.m.t.TempDir(), "out"),
		"127.0.0.1:8080": "127.0.0.1:0",
	}
	if is, found := instead[command]; found {
		command = is
	}
	command = choice.ReplaceAllString(optional.ReplaceAllString(command, ""), "$1")
	words := strings.Fields(command)
	for i, word := range words {
		if is, found := meaning[word]; found {
			words[i] = fault.ShellQuote(is)
		} else if blank.MatchString(word) {
			n.m.t.Errorf("%q has the word %s, want it among the words that the test replaces", command, word)
		}
	}

	return strings.Join(words, " ")
}

// types types a command of collabui. A server is ended once it prints its address.
func (n *newcomer) types(command string) {
	n.m.t.Helper()
	text := n.fill(command)
	if !strings.Contains(text, "--data") {
		text += " --data " + n.m.data
	}
	ctx, cancel := context.WithTimeout(n.m.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "exec bin/collabui "+text+" 2>&1")
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), n.m.env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.m.t.Fatal(err)
	}

	serves := regexp.MustCompile(`^(infer|envs serve) `).MatchString(text + " ")
	var printed strings.Builder
	address := regexp.MustCompile(`(http|ws)://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if serves && address.MatchString(lines.Text()) {
			serves = false
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
	if err := cmd.Wait(); err != nil || serves {
		n.m.t.Errorf("collabui %s: %v, want success (and an address: %v)\n%s", text, err, serves, printed.String())
	}
}

// TestTheCommandsOfTheFirstPages types the commands of README.md and docs/run-locally.md in order, with a small run on
// a fresh data folder.
func TestTheCommandsOfTheFirstPages(t *testing.T) {
	t.Parallel()
	m := newMachine(t, strings.Replace(specification, "epochs: 2", "epochs: 1", 1))
	n := &newcomer{m: m, dir: checkout(t, m)}

	done := map[string]bool{}
	var first []string // commands about a run that come before the page that starts one
	for _, name := range typed.Pages {
		page, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range typed.Commands(string(page)) {
			if typed.Untyped[command] != "" || done[command] {
				continue
			}
			done[command] = true
			if name == "README.md" {
				first = append(first, command)
				continue
			}
			n.types(command)
			for _, earlier := range first {
				n.types(earlier)
			}
			first = nil
		}
	}
	m.sound(time.Minute)
}
