//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"
)

// decisions is the number of recorded decisions that sideBySide asks again.
const decisions = 16

// sideBySide logs how many decisions per second the gateway and vLLM make, asked as players do (eight episodes at a
// time, the agents of a round at once), and call by call. Both ways ask what was recorded, greedily; a text before the
// prompts, of the same length, keeps one way from the cached prompts of another. rows come in the order of decisions.
func (p *production) sideBySide(rows []row) {
	p.t.Helper()
	const agents, rounds = 2, 2
	n := min(decisions, len(rows)/(agents*rounds))
	round := func(d, r int) []row {
		at := (d*rounds + r) * agents

		return rows[at : at+agents]
	}
	oneByOne := func(way string) (answers int) {
		for d := range n {
			for r := range rounds {
				for _, c := range round(d, r) {
					answers += p.asks(way, c)
				}
			}
		}

		return answers
	}
	asPlayers := func(way string) (answers int) {
		var mu sync.Mutex
		var episodes sync.WaitGroup
		places := make(chan struct{}, 8)
		for d := range n {
			episodes.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				for r := range rounds {
					var turn sync.WaitGroup
					for _, c := range round(d, r) {
						turn.Go(func() {
							tokens := p.asks(way, c)
							mu.Lock()
							defer mu.Unlock()
							answers += tokens
						})
					}
					turn.Wait()
				}
			})
		}
		episodes.Wait()

		return answers
	}

	took := map[string]time.Duration{}
	for _, x := range []struct {
		name, way string
		play      func(string) int
	}{
		{"call by call", "A", oneByOne}, {"as players", "B", asPlayers},
		{"as players", "C", asPlayers}, {"call by call", "D", oneByOne},
	} {
		began := time.Now()
		answers := x.play(x.way)
		d := time.Since(began)
		took[x.name] += d
		p.t.Logf("%d decisions %s: %.1f s, %.2f decisions and %.0f tokens of answers per second",
			n, x.name, d.Seconds(), float64(n)/d.Seconds(), float64(answers)/d.Seconds())
	}
	p.t.Logf("as players, decisions come %.1f times as fast as call by call",
		took["call by call"].Seconds()/took["as players"].Seconds())
}

// asks asks the gateway for the answer to a recorded prompt again, and returns its number of tokens.
func (p *production) asks(way string, c row) int {
	body, err := json.Marshal(map[string]any{
		"model": c.digest, "temperature": 0, "max_tokens": 64,
		"messages": []map[string]string{
			{"role": "system", "content": way + " " + c.System}, {"role": "user", "content": c.User},
		},
	})
	if err != nil {
		p.t.Error(err)

		return 0
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://"+p.gate+"/v1/chat/completions",
		bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)

		return 0
	}
	req.Header.Set("Authorization", "Bearer between-us")
	req.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Error(err)

		return 0
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	var out struct {
		Usage struct {
			CompletionTokens int `json:"completion_tokens"`
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || r.StatusCode != http.StatusOK {
		p.t.Errorf("the gateway says %d %s %v, want an answer", r.StatusCode, raw, err)
	}

	return out.Usage.CompletionTokens
}
