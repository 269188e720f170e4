package trl

import (
	"strings"
	"testing"
)

// collate gives the script's GRPO two recorded rows, the second of them scored. TRL pads prompts on the left and
// answers on the right.
const collate = `
class GRPOTrainer:
    def __init__(self, reward_funcs, pad_token_id):
        assert reward_funcs == []
        self.pad_token_id = pad_token_id

trl.GRPOTrainer = GRPOTrainer

import train
train.torch.tensor = lambda x: x
trainer = train.GRPO(pad_token_id=9)
rows = [
    {"prompt": [1, 2, 3], "completion": [4], "advantage": 0.5},
    {"prompt": [5], "completion": [6, 7], "advantage": -1.5},
]
print(trainer.data_collator(rows))
for row, old in zip(rows, [[-1.0], [-2.0, -3.0]]):
    row["old_per_token_logps"] = old
print(trainer.data_collator(rows)["old_per_token_logps"])
`

func TestRecordedAnswersTakeThePlaceOfGeneratedOnes(t *testing.T) {
	const want = `{'prompt_ids': [[1, 2, 3], [9, 9, 5]], 'prompt_mask': [[1, 1, 1], [0, 0, 1]], ` +
		`'completion_ids': [[4, 9], [6, 7]], 'completion_mask': [[1, 0], [1, 1]], 'advantages': [0.5, -1.5]}` +
		"\n[[-1.0, 0.0], [-2.0, -3.0]]"
	if got := strings.TrimSpace(python(t, collate)); got != want {
		t.Errorf("the batch is\n%s, want\n%s", got, want)
	}
}
