package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

func TestALabelIsReadWholeOrRefused(t *testing.T) {
	got, err := relabels([]string{"17/3/0/2=0", "18/1/0/0=-1"})
	if want := (runs.Relabel{Slot: 17, Step: 3, Round: 2}); err != nil || len(got) != 2 || got[0] != want {
		t.Errorf("relabels = %+v, %v; want %+v first", got, err, want)
	}
	for _, arg := range []string{"17/3/0/2=0,18/1/0/0=0", "17/3/0/2=0.5", "17/3/0/2=2", "17/3/0=1", ""} {
		if got, err := relabels([]string{arg}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("relabels(%q) = %+v, %v; want it refused", arg, got, err)
		}
	}
}

func TestHowAWorkflowEndedIsAnExitCode(t *testing.T) {
	stopped := temporal.NewNonRetryableApplicationError("ann stopped it", workflows.ErrStopped, nil)
	for _, c := range []struct {
		err  error
		want int
	}{
		{stopped, exitStopped},
		{&temporal.WorkflowExecutionError{}, exitFatal},
		{errors.New("no answer"), exitService},
	} {
		if got := exitCode(endedWith(c.err)); got != c.want {
			t.Errorf("the exit code after %v is %d, want %d", c.err, got, c.want)
		}
	}
	if err := endedWith(nil); err != nil {
		t.Errorf("endedWith(nil) = %v, want nil", err)
	}
}

// TestAnAddressIsTheStoreWhileNoServicesRun has a data folder whose own S3 server ran once.
func TestAnAddressIsTheStoreWhileNoServicesRun(t *testing.T) {
	a := &app{data: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(a.data, "services", "s3", "collabui"), 0o755); err != nil {
		t.Fatal(err)
	}
	for address, own := range map[string]bool{"": true, "127.0.0.1:9": false} {
		t.Setenv(config.EnvS3, address)
		t.Setenv(config.EnvAccess, "a")
		t.Setenv(config.EnvSecret, "b")
		b, err := a.objects()
		if _, files := b.(store.Files); err != nil || files != own {
			t.Errorf("with %s=%s the store is %T, %v; want the folder: %v", config.EnvS3, address, b, err, own)
		}
	}
}

func TestWhyStage1HasNoDataCardsIsTrue(t *testing.T) {
	for want, of := range map[string]spec.FineTune{
		"no level of stage 1 has its data yet": {Levels: []int{1, 2}},
		"stage 1 trains nothing":               {Base: "model"},
		"SFT on expert demonstrations":         {},
	} {
		var out bytes.Buffer
		stage1{of: of}.text(&out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("of %+v it says %q, want %q", of, out.String(), want)
		}
	}
}

func TestDecisionsAreJSONWhereThatIsAsked(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, json: true}
	if err := a.decided("skip", "1/4", "slot 4 of epoch 1 is left out"); err != nil {
		t.Fatal(err)
	}
	if want := `{"decided":"skip","place":"1/4"}` + "\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
}
