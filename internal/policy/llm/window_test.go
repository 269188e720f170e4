package llm

import (
	"testing"
	"time"
)

// TestWindow reads the window from lists of models as servers write them.
func TestWindow(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{
		`{"data": [{"id": "other", "max_model_len": 7}, {"id": "m", "max_model_len": 4096}]}`:      4096,
		`{"data": [{"id": "m", "context_length": 128000}]}`:                                        128000,
		`{"data": [{"id": "digest"}], "max_model_len": 4096}`:                                      4096,
		`{"data": [{"id": "other", "max_model_len": 7}, {"id": "another", "meta": {"n_ctx": 7}}]}`: 0,
		`{"data": [{"id": "m.gguf", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 512, ` +
			`"n_ctx_train": 8192}}], "models": [{"name": "m.gguf"}]}`: 512, // it serves its model under any name
		`[]`: 0,
	} {
		fs, p, _ := fakes(t, 3, 0)
		fs[0].set(says(200, list))
		fs[1].set(says(404, "no such page"))
		fs[2].set(says(200, `{"data": [{"id": "m", "max_model_len": 200000}]}`))
		if got, err := p.servers[0].client.Window(t.Context(), "m"); got != want || err != nil {
			t.Errorf("the window of %s is %d, %v, want %d", list, got, err, want)
		}
		if want == 0 {
			want = 200000
		}
		if got, err := p.Window(t.Context(), "m"); got != want || err != nil {
			t.Errorf("the smallest window of the servers, with %s, is %d, %v, want %d", list, got, err, want)
		}
	}

	c, err := New(Config{BaseURL: "http://127.0.0.1:9/v1", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Window(t.Context(), "m"); err == nil {
		t.Errorf("the window of a server that is not there is %d, want an error", got)
	}
}
