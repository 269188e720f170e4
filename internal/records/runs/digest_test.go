package runs

import (
	"context"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

func TestTheDigestOfStepsIsOfWhatMustBeEqualBetweenRuns(t *testing.T) {
	step := func(change func(*Step)) string {
		s := Step{ObservationDigest: "o", Step: domain.Step{Decision: domain.Decision{
			Cells:    []domain.Cell{{Text: "text", Prompt: "prompt"}},
			Executed: domain.Action{Type: domain.ActionWait},
		}}}
		change(&s)

		return StepsDigest([]Step{s})
	}
	want := step(func(*Step) {})
	for name, c := range map[string]struct {
		change func(*Step)
		equal  bool
	}{
		"tokens":          {func(s *Step) { s.Decision.Cells[0].Usage.Answer = 9 }, true},
		"elements seen":   {func(s *Step) { s.Decision.Seen = [][]int{{1, 2}} }, true},
		"a text":          {func(s *Step) { s.Decision.Cells[0].Text = "other" }, false},
		"a prompt":        {func(s *Step) { s.Decision.Cells[0].Prompt = "other" }, false},
		"a picture":       {func(s *Step) { s.Decision.Cells[0].Image = "digest" }, false},
		"the observation": {func(s *Step) { s.ObservationDigest = "other" }, false},
		"the action":      {func(s *Step) { s.Decision.Executed.Type = domain.ActionBack }, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := step(c.change); (got == want) != c.equal {
				t.Errorf("digest %s, want it equal to %s: %v", got, want, c.equal)
			}
		})
	}
}

func TestTheDigestOfAnEpochIsThatOfItsPartsAsOneValue(t *testing.T) {
	pairs := [][]domain.Example{{{Prompt: "<p> & \u2028", Chosen: "c"}, {Prompt: "q"}}, nil, {}, {{Agent: 3}}}
	for _, kept := range []string{"", "a fall on val"} {
		p, err := NewEpochParts()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.Parent, p.Tensors, p.Kept, p.Episodes = "parent", []string{"a"}, kept, []string{"e", "", "f", "g"}
		p.Slots, p.Labels = []domain.Slot{{Number: 1}}, [][]domain.Credit{{{Step: 1}}, nil, {}, {}}
		for _, of := range pairs {
			if err := p.AddPairs(of); err != nil {
				t.Fatal(err)
			}
		}
		got, err := p.Digest()
		want := Digest(struct {
			Parent   string
			Topology domain.Topology
			Slots    []domain.Slot
			Episodes []string
			Labels   [][]domain.Credit
			Pairs    [][]domain.Example
			Tensors  []string
			Kept     string `json:",omitempty"`
		}{p.Parent, p.Topology, p.Slots, p.Episodes, p.Labels, pairs, p.Tensors, p.Kept})
		if got != want || err != nil {
			t.Errorf("kept %q: got %s and error %v, want %s", kept, got, err, want)
		}
	}
}

func TestPairsAreWrittenAsOneValue(t *testing.T) {
	for _, rows := range [][]domain.Example{nil, {}, {{Prompt: "p"}}, {{Prompt: "<p>"}, {Agent: 2}, {Prompt: "<p>"}}} {
		b := &store.Memory{}
		ref, err := PutPairs(t.Context(), b, rows)
		if err != nil {
			t.Fatal(err)
		}
		if want := Digest(rows); ref.SHA256 != want {
			t.Errorf("%d rows: got the sum %s, want %s", len(rows), ref.SHA256, want)
		}
		got, err := ReadPairs(t.Context(), b, ref)
		if err != nil || !slices.Equal(got, rows) {
			t.Errorf("got %v and error %v, want %v", got, err, rows)
		}
	}
	for _, body := range []string{"", "[", "[1]", `[{"agent": 1}`, `{"agent": 1}`, `[{"agent": "x"}]`} {
		b := &store.Memory{}
		ref, err := store.PutBlob(t.Context(), b, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPairs(t.Context(), b, ref); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%q: got %v, want a corrupt fault", body, err)
		}
	}
}

func TestCommittedEpochsAreCountedInFewReads(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 100} {
		b := &countingBucket{}
		for k := 1; k <= n; k++ {
			given := func() (Epoch, error) { return Epoch{Number: k}, nil }
			if _, _, err := Run("r").Epoch(k).Record(t.Context(), b, given); err != nil {
				t.Fatal(err)
			}
		}
		b.reads = 0
		got, err := Run("r").Committed(t.Context(), b)
		if got != n || err != nil {
			t.Errorf("got %d epochs and error %v, want %d", got, err, n)
		}
		if b.reads > 18 {
			t.Errorf("%d epochs: got %d reads, want at most 18", n, b.reads)
		}
	}
}

type countingBucket struct {
	store.Memory
	reads int
}

func (b *countingBucket) Get(ctx context.Context, key string) ([]byte, error) {
	b.reads++

	return b.Memory.Get(ctx, key)
}
