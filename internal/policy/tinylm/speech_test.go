package tinylm

import (
	"errors"
	"slices"
	"testing"
)

const spoken = `Goal: Mute the person of the team Amber
History: none
Screen:
4 button Mute Ada
5 button Mute Bob
You see elements 4 to 5 of 9; other agents see the rest; you may speak
Agent 2 said, maybe wrong: Reason: others need these words. Action: {"action_type":"tell","text":"Amber Bob"}
`

func TestAgentsSpeakOnlyWhereThePromptAllowsIt(t *testing.T) {
	const silent = "Goal: g\nHistory: none\nScreen:\n4 button Mute Ada\n" +
		"You see elements 4 of 9; other agents see the rest\n"
	pass := ParsePrompt(spoken).Answer(Choice{Kind: slices.IndexFunc(ActionKinds, func(kind ActionKind) bool {
		return kind.Name == "pass"
	})})
	if !Fits(spoken, pass) {
		t.Errorf("%q does not fit\n%s", pass, spoken)
	}
	for _, kind := range ParsePrompt(silent).legalKinds() {
		if ActionKinds[kind].speech {
			t.Errorf("%s is legal without speech", ActionKinds[kind].Name)
		}
	}
}

func TestWordsOfPeersCanBeCopiedAndAreFlagged(t *testing.T) {
	prompt := ParsePrompt(spoken)
	for text, want := range map[string]bool{"Amber Bob": true, "Bob": true, "Amber Ada": false, "text": false} {
		answer := `Reason: others need these words.` + "\n" + `Action: {"action_type":"tell","text":"` + text + `"}`
		if _, err := prompt.Parse(answer); (err == nil) != want || err != nil && !errors.Is(err, ErrNotExpressible) {
			t.Errorf("telling %q: %v, want it to be expressible: %v", text, err, want)
		}
	}
	for word, want := range map[string]uint8{"Ada": 0, "Bob": flagGoal} {
		i := slices.IndexFunc(prompt.Tokens, func(token Token) bool {
			return token.Sec == SecScreen && token.Word == hashWord(word)
		})
		if got := prompt.Tokens[i].Flags & flagGoal; got != want {
			t.Errorf("%s on the screen has the flag %d, want %d", word, got, want)
		}
	}
}
