package hf

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer/external"
)

const (
	// maxLine bounds a line of a log, in bytes.
	maxLine = 1 << 20
	// stateStep is the field of a state's history that holds the step.
	stateStep = "step"
)

// Points merges the curve of the newest state with the log of this host. The log has lines of JSON, is in the output
// folder, and counts steps in the field step. After a resume on another host the log begins late; between checkpoints
// it is ahead of the state.
func Points(folder external.Folder, log, step string) []domain.TrainPoint {
	points := readLog(filepath.Join(folder.Out(), log), step)
	newest := newestState(folder)
	for _, l := range newest.History {
		if point, ok := point(l, stateStep); ok {
			point.Live = points[point.Step].Live
			points[point.Step] = point
		}
	}

	out := make([]domain.TrainPoint, 0, len(points))
	margin := lastMargin(newest)
	for _, n := range slices.Sorted(maps.Keys(points)) {
		point := points[n]
		if point.Margin == 0 && margin != "" && n > newest.Step { // Some programs write margins with checkpoints only.
			point.Live = strings.TrimPrefix(point.Live+", "+margin, ", ")
		}
		out = append(out, point)
	}

	return out
}

// readLog reads the points of a log by step. A missing log has no points.
func readLog(file, step string) map[int]domain.TrainPoint {
	out := map[int]domain.TrainPoint{}
	lines, err := os.Open(file)
	if err != nil {
		return out
	}
	defer func() { _ = lines.Close() }()

	sc := bufio.NewScanner(lines)
	sc.Buffer(nil, maxLine)
	for sc.Scan() {
		var l map[string]json.RawMessage
		if unmarshal(sc.Bytes(), &l) != nil {
			continue // The line is incomplete, or not one of the log's.
		}
		if p, ok := point(l, step); ok {
			p.Live = live(l)
			out[p.Step] = p
		}
	}

	return out
}

// newestState returns the state of the latest step, in a checkpoint or in the output folder.
func newestState(folder external.Folder) State {
	newest := State{}
	for _, dir := range append(checkpointDirs(folder), folder.Out()) {
		if state, ok := ReadState(dir); ok && state.Step > newest.Step {
			newest = state
		}
	}

	return newest
}

// lastMargin describes the margin at the end of a state's history; "" if it has no margin.
func lastMargin(state State) string {
	if len(state.History) == 0 {
		return ""
	}
	p, ok := point(state.History[len(state.History)-1], stateStep)
	if !ok || p.Margin == 0 {
		return ""
	}

	return fmt.Sprintf("margin %.3f at step %d", p.Margin, p.Step)
}

// point reads an entry of a log. ok is false if it is not about an optimiser step.
func point(line map[string]json.RawMessage, step string) (p domain.TrainPoint, ok bool) {
	count, ok := number(line[step])
	loss, has := number(line["loss"])
	if !ok || !has || count < 1 {
		return p, false
	}

	p.Step = int(count)
	p.Loss = loss
	p.Margin, _ = number(line["rewards/margins"])
	if p.Accuracy, has = number(line["rewards/accuracies"]); !has {
		p.Accuracy, _ = number(line["accuracy"])
	}

	return p, true
}

// live describes speed, remaining time and, for GRPO, the divergence from the reference.
func live(line map[string]json.RawMessage) string {
	var out []string
	if x, ok := number(line["throughput"]); ok && !math.IsNaN(x) {
		out = append(out, fmt.Sprintf("%.0f tokens/s", x))
	}
	if x, ok := number(line["kl"]); ok {
		out = append(out, fmt.Sprintf("KL %.3f", x))
	}
	if text := strings.Trim(string(line["remaining_time"]), `"`); text != "" && len(text) < 40 {
		out = append(out, text+" left")
	}

	return strings.Join(out, ", ")
}
