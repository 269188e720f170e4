package supervisor

import (
	"log/slog"
	"testing"
	"time"
)

// TestWhoSeesASupervisorReadsItsState reads the state of a folder while one supervisor after another takes it over.
func TestWhoSeesASupervisorReadsItsState(t *testing.T) {
	data := t.TempDir()
	if err := MakeFolder(data); err != nil {
		t.Fatal(err)
	}
	for round := range 200 {
		owned, seen := make(chan error), make(chan struct{})
		s := &Supervisor{o: Options{Data: data, Log: slog.New(slog.DiscardHandler)}, state: State{
			PID: round, Services: map[Name]Service{},
		}}
		go func() {
			defer close(seen)
			for end := time.Now().Add(time.Minute); time.Now().Before(end); {
				st, alive := Read(data)
				if !alive {
					continue
				}
				if st.PID != round || st.Ready {
					t.Errorf("the state is %+v, want that of supervisor %d, which is not ready", st, round)
				}

				return
			}
			t.Error("no supervisor was seen for a minute, want one")
		}()
		go func() { owned <- s.own() }()
		if err := <-owned; err != nil {
			t.Fatal(err)
		}
		<-seen
		s.update(func(st *State) { st.Ready = true })
		for _, f := range s.locks {
			_ = f.Close()
		}
	}
}
