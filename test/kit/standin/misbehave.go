package standin

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func unarchive(file string) ([]byte, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }()
	f, err := z.Open("archive/data.pkl")
	if err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// misbehave does what is asked for behind the present step.
func (j *job) misbehave(stop <-chan os.Signal) error {
	switch {
	case at("kill", j.step) && once(j.Out, "kill"):
		die()
	case at("quit", j.step) && once(j.Out, "quit"):
		os.Exit(0)
	case at("hang", j.step) && once(j.Out, "hang"):
		for {
			<-stop // and goes on hanging
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
	c := exec.Command("sleep", "100")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(out))), "orphan"), fmt.Append(nil, c.Process.Pid), 0o644)
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// word is the one that begins so.
func word(prefix string) string {
	for _, w := range strings.Fields(os.Getenv(Variable)) {
		if rest, ok := strings.CutPrefix(w, prefix); ok {
			return rest
		}
	}
	return ""
}

func at(what string, step int) bool {
	n, _, _ := strings.Cut(word(what+"@"), "=")
	return n == fmt.Sprint(step)
}

func value(prefix string) int {
	n, _ := strconv.Atoi(word(prefix))
	return n
}

// once is true the first time in a job's folder.
func once(out, what string) bool {
	if (what == "empty" || what == "late") && !strings.Contains(os.Getenv(Variable), what) {
		return false
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(out), "did-"+what), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	return err == nil && f.Close() == nil
}
