package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

func TestARequestIsChangedOnlyWhereItMust(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	d := s.lora("x")
	const all = `"top_k":5,"repetition_penalty":1.2,"temperature":0.30,"top_p":0.9,"min_p":0.1,"seed":9007199254740993`
	for _, c := range []struct{ send, want string }{
		{all, all},
		{ // a client that cannot send a 0
			`"temperature":1e-45,"top_k":5,"repetition_penalty":1,"top_p":1,"min_p":0`,
			`"temperature":0,"top_k":5,"repetition_penalty":1,"top_p":1,"min_p":0`,
		},
		{`"top_k":null,"n":3`, `"top_k":-1,"n":3,"repetition_penalty":1,"temperature":1,"top_p":1,"min_p":0`},
	} {
		s.wants(http.MethodPost, "/v1/chat/completions", `{"model":"`+d+`",`+hello+`,`+c.send+`}`, http.StatusOK)
		bodies := e.Bodies()
		var got, want map[string]json.RawMessage
		if err := json.Unmarshal(bodies[len(bodies)-1], &got); err != nil {
			t.Fatal(err)
		}

		if err := json.Unmarshal([]byte(`{"model":"p-`+d[:16]+`",`+hello+`,`+c.want+`}`), &want); err != nil {
			t.Fatal(err)
		}

		if fmt.Sprintf("%s", got) != fmt.Sprintf("%s", want) { // byte for byte
			t.Fatalf("the engine got\n%s, want\n%s", got, want)
		}
	}

	for body, want := range map[string]int{
		`{"model":"` + d + `","stream":true}`: 400,
		`null`:                                400,
		`[`:                                   400,
		`{"model":7}`:                         400,
		`{"model":"small"}`:                   404,
		`{"x":"` + strings.Repeat("y", maxBody) + `"}`: 413,
	} {
		if status, text, _ := s.post("/v1/chat/completions", body); status != want {
			t.Fatalf("%.30s is answered %d %s, want %d", body, status, text, want)
		}
	}

	picture := strings.Repeat("A", 4<<20)
	withPicture := `{"model":"` + d + `","messages":[{"role":"user","content":"` + picture + `"}]}`
	s.wants(http.MethodPost, "/v1/chat/completions", withPicture, http.StatusOK)
	e.FailChat(http.StatusTooManyRequests, "slow down")
	s.refuses(d, http.StatusTooManyRequests, "slow down")
}

func TestWhatCannotBeServedIsRefusedWithTheReason(t *testing.T) {
	e := &fakeengine.Engine{}
	s := setUp(t, e, nil)
	other := model
	other.Name, other.Digest = "other-7b", strings.Repeat("cd", 32)
	foreign := s.put(domain.Artifact{Kind: domain.ArtifactBase, Base: other})
	s.refuses(foreign, http.StatusConflict, "other-7b", "small-7b")
	s.refuses(strings.Repeat("0", 64), http.StatusNotFound)
	junk, err := store.PutBlob(t.Context(), s.bucket, []byte("a checkpoint"))
	if err != nil {
		t.Fatal(err)
	}

	s.refuses(junk.SHA256, http.StatusConflict, "artifact")
	gone := s.lora("gone")
	s.bucket.Damage(store.BlobPrefix+store.Sum([]byte("gone")), nil)
	s.refuses(gone, http.StatusServiceUnavailable, "the store does not show it") // the store may show it later
	spoiled := s.lora("spoiled")
	s.bucket.Damage(store.BlobPrefix+store.Sum([]byte("spoiled")), []byte("spoilt"))
	s.refuses(spoiled, http.StatusConflict, "hash")

	d := s.lora("x")
	e.FailLoad(http.StatusInternalServerError, "LoRA rank 64 is greater than max_lora_rank 16.")
	s.refuses(d, http.StatusConflict, "--max-lora-rank", "rank 64")
	e.FailLoad(http.StatusNotFound, "No adapter found")
	s.refuses(d, http.StatusConflict, "under that path")
	e.FailLoad(http.StatusInternalServerError, strings.Repeat("boo", 10000))
	if _, text := s.chat(d); len(text) > 1000 {
		t.Fatalf("the refusal has %d bytes, want at most 1000", len(text))
	}

	e.FailChat(http.StatusInternalServerError, "CUDA error") // the probe
	s.refuses(d, http.StatusServiceUnavailable, "probe", "CUDA error")
	if n := e.Loaded(); len(n) != 0 {
		t.Fatalf("%v are loaded after a failed probe, want none", n)
	}

	s.says(d, "x")
	e.Down(true)
	s.refuses(d, http.StatusServiceUnavailable, "does not answer")
	s.wants(http.MethodGet, "/health", "", http.StatusServiceUnavailable)
	e.Down(false)
	s.says(d, "x")

	whole := domain.Artifact{
		Kind:  domain.ArtifactFull,
		Base:  other,
		Files: []domain.ArtifactFile{{Path: "model.safetensors", SHA256: strings.Repeat("0", 64)}},
	}

	full := s.put(whole)
	s.refuses(full, http.StatusConflict, "--served-model-name "+full)
	s2 := setUp(t, &fakeengine.Engine{Models: []string{full}}, nil)
	s2.put(whole)
	s2.says(full, "base")
}
