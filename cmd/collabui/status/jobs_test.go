package status

import (
	"slices"
	"strings"
	"testing"

	common "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

// beating returns a pending activity whose last heartbeat said something, as JSON.
func beating(name, said string) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{
		ActivityType: &common.ActivityType{Name: name},
		HeartbeatDetails: &common.Payloads{Payloads: []*common.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
			Data:     []byte(said),
		}}},
	}
}

func TestShowSaysWhatTrainingJobsSay(t *testing.T) {
	var l live
	for _, a := range []*workflowpb.PendingActivityInfo{
		beating("Update", `"agent 2: step 3 of 9, loss 0.500"`),
		beating("Update", `"agent 0: step 4 of 9, loss 0.400"`),
		beating("Update", `{}`),
		beating("Rollout", `"slot 3"`),
		{ActivityType: &common.ActivityType{Name: "Update"}},
	} {
		l.Jobs = addJob(l.Jobs, converter.GetDefaultDataConverter(), "run/epoch/0001", a)
	}
	sortJobs(l.Jobs)
	want := []trainingJob{
		{Of: "run/epoch/0001", Now: "agent 0: step 4 of 9, loss 0.400"},
		{Of: "run/epoch/0001", Now: "agent 2: step 3 of 9, loss 0.500"},
	}
	if !slices.Equal(l.Jobs, want) {
		t.Errorf("the jobs are %+v, want %+v", l.Jobs, want)
	}

	var b strings.Builder
	l.text(&b)
	if want := "  agent 0: step 4 of 9, loss 0.400\n"; !strings.Contains(b.String(), want) {
		t.Errorf("show says\n%s\nwant it to have %q", b.String(), want)
	}

	b.Reset()
	printUpdates(&b, []runs.Update{
		{Agent: 1, Kept: "KL 12.00 is above max_kl 10", Curve: []domain.TrainPoint{{Loss: 0.4125}}},
	})
	kept := "    1   0.412 not measured  parent kept: KL 12.00 is above max_kl 10\n"
	if !strings.Contains(b.String(), kept) {
		t.Errorf("show says\n%s\nwant it to have %q", b.String(), kept)
	}
}
