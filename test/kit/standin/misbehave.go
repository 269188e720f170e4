package standin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// misbehave performs the fault that Variable orders after the current step.
func (j *job) misbehave(stop <-chan os.Signal) error {
	switch {
	case at("kill", j.step) && once(j.Out, "kill"):
		die()
	case at("quit", j.step) && once(j.Out, "quit"):
		os.Exit(0)
	case at("hang", j.step) && once(j.Out, "hang"):
		for {
			<-stop // ignores the signal and keeps hanging
			time.Sleep(time.Millisecond)
		}
	case at("exit", j.step) && once(j.Out, "exit"):
		_, text, _ := strings.Cut(word("exit@"), "=")
		return errors.New(strings.ReplaceAll(text, "+", " "))
	}

	return nil
}

// orphan starts a process that outlives this one.
func orphan(out string) error {
	command := exec.Command("sleep", "100")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}

	work := filepath.Dir(filepath.Dir(filepath.Dir(out)))

	return os.WriteFile(filepath.Join(work, "orphan"), fmt.Append(nil, command.Process.Pid), 0o644)
}

// die ends this process in the same way as kill -9.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// word returns the rest of the first word of Variable that begins with prefix, or "" if no word does.
func word(prefix string) string {
	for _, w := range strings.Fields(os.Getenv(Variable)) {
		if rest, ok := strings.CutPrefix(w, prefix); ok {
			return rest
		}
	}

	return ""
}

// at reports whether Variable orders something at this step.
func at(what string, step int) bool {
	name, _, _ := strings.Cut(word(what+"@"), "=")
	return name == fmt.Sprint(step)
}

// value returns the number after prefix, or 0 if Variable does not contain it.
func value(prefix string) int {
	n, _ := strconv.Atoi(word(prefix))
	return n
}

// once reports whether something happens for the first time in a job's folder and, for empty and late, whether Variable
// orders it.
func once(out, what string) bool {
	if (what == "empty" || what == "late") && !strings.Contains(os.Getenv(Variable), what) {
		return false
	}

	file, err := os.OpenFile(filepath.Join(filepath.Dir(out), "did-"+what), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)

	return err == nil && file.Close() == nil
}
