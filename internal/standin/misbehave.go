package standin

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
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
	if what == "empty" && !strings.Contains(os.Getenv(Variable), "empty") {
		return false
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(out), "did-"+what), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	return err == nil && f.Close() == nil
}
