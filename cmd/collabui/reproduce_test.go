package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReproduceRefusesATrainerWithoutSFTBeforeItStartsAnything(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trl.yaml")
	text := "name: a\ntrainer: {name: trl, options: {model: /m}}\nfinetune: {base: model}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	err := (&app{out: io.Discard}).runReproduce(t.Context(), reproduceOptions{seeds: 2, episodes: 1}, file)
	if want := "the trainer trl has only dpo"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("reproduce = %v, want an error with %q", err, want)
	}
}
