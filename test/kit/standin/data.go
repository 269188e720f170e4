package standin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

type message struct{ Role, Content string }

// dataset is an entry of dataset_info.json.
type dataset struct {
	File    string `json:"file_name"`
	Ranking bool   `json:"ranking"`
}

// row is a line of a data file.
type row struct {
	Messages         []message
	Chosen, Rejected message
}

// data reads the rows. Like the real program, it only warns of rows that it drops.
func (j *job) data() error {
	var info map[string]dataset
	raw, err := os.ReadFile(filepath.Join(j.DataDir, "dataset_info.json"))
	if err == nil {
		err = json.Unmarshal(raw, &info)
	}

	if err != nil {
		return err
	}

	file, err := os.Open(filepath.Join(j.DataDir, info[j.Dataset].File))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	sc := bufio.NewScanner(file)
	sc.Buffer(nil, 16<<20)
	rows := 0
	drop := strings.Contains(os.Getenv(Variable), "drop")
	for sc.Scan() {
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return err
		}

		turns := slices.DeleteFunc(r.Messages, func(m message) bool { return m.Role == "system" })
		ranking := info[j.Dataset].Ranking
		if len(turns)%2 == 1 != ranking {
			fmt.Println("Invalid message count in", r.Messages)
			continue
		}
		if drop {
			drop = false
			continue
		}

		rows++
		texts := []string{r.Chosen.Content, r.Rejected.Content}
		if !ranking {
			texts = []string{turns[1].Content}
		}
		if ex := example(turns[0].Content, texts); len(ex.Answers) == len(texts) {
			j.ex = append(j.ex, ex)
		}
	}

	fmt.Fprintf(os.Stderr, "[INFO] >> ***** Running training *****\n[INFO] >>   Num examples = %d\n", rows)
	if len(j.ex) == 0 {
		return fmt.Errorf("ValueError: no data")
	}

	return sc.Err()
}

// example returns a prompt with the answers that the small policy can express, in its own words.
func example(prompt string, texts []string) tinylm.Example {
	p := tinylm.ParsePrompt(prompt)
	ex := tinylm.Example{Prompt: p}
	for _, text := range texts {
		action, err := agents.ParseAnswer(text)
		if element, named := strings.CutPrefix(text, "Element "); named { // level 1, which agents answer in words
			var index int
			index, err = strconv.Atoi(element)
			action = domain.Action{Type: domain.ActionClick}.At(index)
		}
		if err == nil {
			if own, err := tinylm.Render(action); err == nil {
				text = own
			}
		}
		if choice, err := p.Parse(text); err == nil {
			ex.Answers = append(ex.Answers, choice)
		}
	}

	return ex
}
