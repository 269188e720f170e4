package main

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// runRepair sets the database of the local Temporal server aside.
func (a *app) runRepair() error {
	if err := a.local(); err != nil {
		return err
	}
	if !supervisor.Owns(a.data) {
		return fault.New(fault.Invalid, "%s is not a data folder of collabui", a.data)
	}
	if _, err := supervisor.Stop(a.data, 30*time.Second); err != nil {
		return err
	}

	file := filepath.Join(a.data, "services", "temporal.db")
	aside := file + ".damaged-" + time.Now().UTC().Format("20060102T150405Z")
	moved := false
	for _, part := range []string{"-wal", "-shm", ""} {
		err := os.Rename(file+part, aside+part)
		if err != nil && !os.IsNotExist(err) {
			return fault.New(fault.Invalid, "set %s aside: %w", file+part, err)
		}
		moved = moved || err == nil
	}

	return a.print(map[string]any{"set_aside": moved, "file": aside}, func(w io.Writer) {
		if !moved {
			say(w, "there is no %s: nothing to do", file)
			return
		}
		say(w, "set aside as %s; %s continues your run from the store", aside, a.typed("train SPEC"))
		say(w, "schedules do not fire until %s creates each of them again", a.typed("schedule create NAME"))
	})
}
