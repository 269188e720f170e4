package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
)

const back = `"Action: {\"action_type\":\"navigate_back\"}"`

// pair returns a row with two answers.
func pair(prompt, chosen, rejected string) string {
	return fmt.Sprintf(`{"prompt":%q,"chosen":%s,"rejected":%s}`, prompt, chosen, rejected)
}

func TestFilesOfOtherProgramsAreRead(t *testing.T) {
	one, two := pair("a", wait, back), pair("b", back, wait)
	for name, c := range map[string]struct {
		text string
		at   []int // slots of the rows
	}{
		"byte order mark":           {"\ufeff" + one + "\n" + two, []int{1, 2}},
		"CRLF":                      {one + "\r\n\r\n" + two + "\r\n", []int{1, 3}},
		"array":                     {"[" + one + "," + two + "]", []int{1, 2}},
		"array over lines":          {"[\n" + one + ",\n" + two + "\n]\n", []int{1, 2}},
		"mark, CRLF and array":      {"\ufeff\r\n[\r\n" + one + "\r\n,\r\n" + two + "]\r\n", []int{1, 2}},
		"a row over several lines":  {"[" + strings.ReplaceAll(one, `,"`, ",\n\"") + ",\n" + two + "]", []int{1, 2}},
		"without a last line break": {one + "\n" + two, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadRows("f", []byte(c.text), 2)
			if err != nil || len(got.Rows) != 2 {
				t.Fatalf("ReadRows() = %+v, %v; want two rows", got, err)
			}
			for i, p := range got.Rows {
				if want := []string{"a", "b"}[i]; p.Prompt != want || p.Slot != c.at[i] {
					t.Errorf("row %d is %q at %d, want %q at %d", i, p.Prompt, p.Slot, want, c.at[i])
				}
			}
		})
	}
}

func TestFormsOfLLaMAFactoryAreRead(t *testing.T) {
	human, gpt := `{"from":"human","value":"u"}`, `{"from":"gpt","value":`+wait+`}`
	user, assistant := `{"role":"user","content":"u"}`, `{"role":"assistant","content":`+wait+`}`
	for name, c := range map[string]struct {
		row     string
		prompt  string
		pairs   bool
		systems int
	}{
		"ShareGPT":         {`{"conversations":[` + human + "," + gpt + `]}`, "u", false, 0},
		"ShareGPT, system": {`{"conversations":[` + human + "," + gpt + `],"system":"s","tools":""}`, "u", false, 1},
		"ShareGPT, ranked": {`{"conversations":[` + human + `],"chosen":` + gpt +
			`,"rejected":{"from":"gpt","value":"x"}}`, "u", true, 0},
		"OpenAI": {
			`{"messages":[{"role":"system","content":"s"},` + user + "," + assistant + `]}`, "u", false, 1,
		},
		"OpenAI, ranked": {`{"messages":[` + user + `],"chosen":` + assistant + `,"rejected":"x"}`, "u", true, 0},
		"Alpaca": {
			`{"instruction":"i","input":"","output":` + wait + `,"system":"","history":[]}`, "i", false, 0,
		},
		"Alpaca, input":    {`{"instruction":"i","input":"j","output":` + wait + `,"system":"s"}`, "i\nj", false, 1},
		"Alpaca, ranked":   {`{"instruction":"i","input":null,"chosen":` + wait + `,"rejected":"x"}`, "i", true, 0},
		"preference, null": {`{"prompt":"p","chosen":` + wait + `,"rejected":null,"images":[ ]}`, "p", false, 0},
		"what means nothing": {`{"id":7,"meta":{"a":1},"prompt":"p","chosen":` + wait +
			`,"rejected":"x"}`, "p", true, 0},
		"a pair of emoji":     {`{"prompt":"\ud83d\ude00 \\ud800","chosen":` + wait + `}`, "😀 \\ud800", false, 0},
		"a replacement of it": {`{"prompt":"\ufffd","chosen":` + wait + `}`, "\ufffd", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadRows("f", []byte(c.row), 2)
			if err != nil || len(got.Rows) != 1 || got.Systems != c.systems {
				t.Fatalf("ReadRows() = %+v, %v; want one row, and %d system messages", got, err, c.systems)
			}
			p := got.Rows[0]
			if p.Prompt != c.prompt || p.ChosenCanonical != "wait" || (p.Rejected == "x") != c.pairs {
				t.Errorf("the row is %+v, want prompt %q, waiting chosen, a rejected answer: %v", p, c.prompt, c.pairs)
			}
		})
	}
}

func TestWhatWouldBeChangedInSilenceIsRefusedWithItsLine(t *testing.T) {
	ok := pair("a", wait, back) + "\n"
	half := `is half of a surrogate pair`
	for text, want := range map[string]string{
		ok + "{\"prompt\":\"caf\xe9\"}":                                      "f:2: not UTF-8: found the byte 0xe9",
		"[" + ok + ",\n\n{\"prompt\":\"\xed\xa0\x80\"}]":                     "f:4: not UTF-8: found the byte 0xed",
		"\xff\xfe{\x00}\x00":                                                 "f:1: is UTF-16",
		ok + `{"prompt":"\ud83d","chosen":"c"}`:                              `f:2: \ud83d ` + half,
		ok + `{"prompt":"\ude00\ud83d","chosen":"c"}`:                        `f:2: \ude00 ` + half,
		ok + `{"prompt":"\uD800\uD800","chosen":"c"}`:                        `f:2: \ud800 ` + half,
		ok + `{"prompt":"p","chosen":"c","chosen":"d"}`:                      `f:2: member "chosen" occurs twice`,
		ok + `{"prompt":"p","ch\u006fsen":"c","chosen":"d"}`:                 `f:2: member "chosen" occurs twice`,
		ok + `{"messages":[{"role":"user","role":"assistant"}]}`:             `f:2: messages[0]: member "role" occurs`,
		ok + `{"prompt":"p","messages":[],"chosen":"c"}`:                     `f:2: expected one of prompt, messages`,
		ok + `{"prompt":"p","chosen":"c","videos":["a.mp4"]}`:                `f:2: videos: rows with videos`,
		ok + `{"instruction":"p","output":"c","history":[["",""]]}`:          `f:2: history: expected one turn`,
		ok + `{"messages":[],"kto_tag":false}`:                               `f:2: kto_tag: rows for KTO`,
		ok + `{"prompt":"p","chosen":"c","label":true}`:                      `f:2: label: rows for KTO`,
		ok + `{"messages":[{"role":"user","content":"u","tool_calls":[1]}]}`: `f:2: messages[0].tool_calls`,
		ok + `{"conversations":[{"from":"human","value":"u"},{"from":"observation","value":"o"},` +
			`{"from":"gpt","value":"c"}]}`: `f:2: prompt: expected one user message`,
		ok + `{"conversations":[{"from":"human","value":"u"},{"from":"gpt","value":"c"}],` +
			`"rejected":"r"}`: `f:2: rejected`,
		ok + `{"instruction":"p","output":"c","chosen":"d"}`: `f:2: output: expected either`,
		ok + `[{"prompt":"p"}]`:                              `f:2: not a JSON object`,
		ok + "\ufeff" + ok:                                   `f:2: not a JSON object`,
		"[" + ok + "\n,\n{\"prompt\":3}]":                    `f:4: row 2: prompt: expected a list`,
		"[" + ok + ",\nnull]":                                `f:3: row 2: not a JSON object`,
		"[" + ok + ",\nnonsense]":                            `f:3: not a JSON object`,
		"[" + ok + ",\n{\"prompt\":\"p":                      `f:3: the array does not end`,
		"[" + ok:                                             `f:2: the array does not end`,
		"[" + ok + "]\n\n[]":                                 `f:4: expected nothing after the array`,
		"[]":                                                 `f: has no rows`,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ReadRows("f", []byte(text), 1)
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("ReadRows() = %+v, %v; want an error with %q", got, err, want)
			}
		})
	}
}

func TestPairsOfOneActionAreDroppedAndCounted(t *testing.T) {
	text := strings.Join([]string{
		pair("a", wait, back),
		pair("spaces", back, `"Action: { \"action_type\" : \"navigate_back\" }"`),
		pair("reasons", `"Reason: x\nAction: {\"action_type\":\"wait\"}"`, wait),
		pair("letters", `"Action: {\"action_type\":\"input_text\",\"index\":1,\"text\":\"Bob \"}"`,
			`"Action: {\"index\":1,\"text\":\"bob\",\"action_type\":\"input_text\"}"`),
		pair("words", `"free words"`, `"free words "`),
		pair("b", `"Action: {\"action_type\":\"click\",\"index\":1}"`,
			`"Action: {\"action_type\":\"click\",\"index\":2}"`),
	}, "\n")
	got, err := ReadRows("f", []byte(text), 1)
	if want := []int{2, 3, 4, 5}; err != nil || len(got.Rows) != 2 || !slices.Equal(got.Same, want) {
		t.Errorf("ReadRows() = %d rows, dropped %v, %v; want 2 rows, and lines %v dropped", len(got.Rows),
			got.Same, err, want)
	}
}

// FuzzReadRows checks that rows hold exactly what the file holds, or that the file is refused with an error that names
// it.
func FuzzReadRows(f *testing.F) {
	for _, s := range []string{
		"", `{"prompt":"p","chosen":"c"}`, "\ufeff[" + pair("a", wait, back) + ",\r\n" + pair("b", wait, wait) + "]",
		`{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}`,
		`{"conversations":[{"from":"human","value":"u"},{"from":"gpt","value":"a"}],"system":"s"}`,
		`{"instruction":"i","input":"j","output":"o"}`, `{"prompt":"\ud83d","chosen":"c"}`, "[{}", "[1]", "null",
		`{"prompt":[{"role":"user","content":"u"}],"chosen":[{"role":"assistant","content":"a"}],"rejected":null}`,
		"{\"prompt\":\"\xff\"}", `{"a":1,"a":2}`, `[` + "\n" + `{"prompt":"\\","chosen":"\\u"}]]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		began := time.Now()
		got, err := ReadRows("f", raw, 1)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d bytes took %v, want less than 10 s", len(raw), took)
		}
		if (err == nil) != (len(got.Rows) > 0) || err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("ReadRows(%q) = %d rows, %v; want rows or an error with the file", raw, len(got.Rows), err)
		}
		if err == nil && !utf8.Valid(raw) {
			t.Errorf("ReadRows(%q) read what is not UTF-8, want an error", raw)
		}
		for _, p := range got.Rows {
			if p.Prompt == "" || p.Chosen == "" || p.Chosen == p.Rejected {
				t.Errorf("ReadRows(%q) has %+v, want a prompt and different answers", raw, p)
			}
			replaced := bytes.Contains(raw, []byte("\ufffd")) || bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
			if !replaced && strings.ContainsRune(p.Prompt+p.Chosen+p.Rejected, utf8.RuneError) {
				t.Errorf("ReadRows(%q) has %+v, want no replaced characters", raw, p)
			}
			readAgain(t, p)
		}
	})
}

// readAgain writes a row in the first form and reads it back.
func readAgain(t *testing.T, p domain.Example) {
	t.Helper()
	row := map[string]string{"prompt": p.Prompt, "chosen": p.Chosen, "rejected": p.Rejected}
	raw, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRows("f", raw, 1)
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Prompt != p.Prompt || got.Rows[0].Chosen != p.Chosen {
		t.Errorf("ReadRows(%s) = %+v, %v; want the same row", raw, got, err)
	}
}
