// Package failpoint makes places in this program fail, so that tests can show the consequences of a fault there. It
// does nothing unless COLLABUI_FAILPOINT is set.
//
// Places are named by their effects: put.KIND and get.KIND for an object of the store, where KIND is its key without
// names and numbers (put.epochs/episodes/steps); begin.NAME and end.NAME for an activity; ask.NAME for calls of models;
// write.NAME for a file of this machine.
package failpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Variable is the environment variable that contains the failpoints, separated by commas: PLACE@N=VERB:FILE makes the
// Nth time at PLACE fail, once. FILE is created first, and a process that finds it continues without the failure. With
// the place "list", FILE gets a line for every place.
const Variable = "COLLABUI_FAILPOINT"

// Verb is how a place fails.
type Verb string

// The verbs.
const (
	Error     Verb = "error"      // an error instead of the effect
	Sleep     Verb = "sleep"      // three seconds before the effect
	Pause     Verb = "pause"      // the whole process stops, as by SIGSTOP
	Kill      Verb = "kill"       // the process dies before the effect
	KillAfter Verb = "kill-after" // the process dies after the effect
	Torn      Verb = "torn"       // half of the effect, then an error
	Lost      Verb = "lost"       // the effect takes place, and an error says that it did not
)

// Verbs contains all verbs.
var Verbs = []Verb{Error, Sleep, Pause, Kill, KillAfter, Torn, Lost}

// ErrStruck is the error of a failpoint.
var ErrStruck = errors.New("failpoint")

const pause = 3 * time.Second

var (
	mu   sync.Mutex
	hits = map[string]int{} // by failpoint, as it is set
)

// Set reports whether there are failpoints. Without failpoints, callers need not compute the names of places.
func Set() bool { return os.Getenv(Variable) != "" }

// Do performs the effect of a place by calling do, unless a failpoint strikes. If torn, do performs half of the effect;
// if do then returns nil, Do returns an error.
func Do(place string, do func(torn bool) error) error {
	setting := os.Getenv(Variable)
	if setting == "" {
		return do(false)
	}

	verb := struck(setting, place)
	switch verb {
	case Error:
		return fmt.Errorf("%w: error at %s", ErrStruck, place)
	case Sleep:
		time.Sleep(pause)
	case Pause:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case Kill:
		kill()
	}
	err := do(verb == Torn)
	switch {
	case verb == KillAfter:
		kill()
	case err == nil && (verb == Torn || verb == Lost):
		return fmt.Errorf("%w: %s at %s", ErrStruck, verb, place)
	}

	return err
}

// Hit marks a place without an effect of its own.
func Hit(place string) error { return Do(place, func(bool) error { return nil }) }

// struck returns the verb of the failpoint that strikes at a place now, or "".
func struck(setting, place string) Verb {
	for one := range strings.SplitSeq(setting, ",") {
		where, file, ok := strings.Cut(one, ":")
		if ok && where == "list" {
			note(file, place)
			continue
		}
		where, verb, ok2 := strings.Cut(where, "=")
		name, count, ok3 := strings.Cut(where, "@")
		n, err := strconv.Atoi(count)
		if ok && ok2 && ok3 && err == nil && name == place && reached(one, n) && claim(file, one) {
			return Verb(verb)
		}
	}

	return ""
}

// reached counts a hit and reports whether it is the nth.
func reached(failpoint string, n int) bool {
	mu.Lock()
	defer mu.Unlock()
	hits[failpoint]++

	return hits[failpoint] == n
}

// claim creates the file of a failpoint, and reports whether this call created it.
func claim(file, failpoint string) bool {
	f, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	_, _ = fmt.Fprintf(f, "%s pid %d\n", failpoint, os.Getpid())

	return f.Close() == nil
}

// note appends a place to a file, once per process.
func note(file, place string) {
	mu.Lock()
	defer mu.Unlock()
	if hits[place]++; hits[place] > 1 {
		return
	}
	f, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, place)
		_ = f.Close()
	}
}

// kill ends the process by SIGKILL.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)

	select {} // the signal may take a moment; nothing more may happen
}
