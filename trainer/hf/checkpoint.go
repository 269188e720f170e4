package hf

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/collabui/collabui/trainer/external"
)

// Checkpoints returns the folders checkpoint-N that are complete: with state, weights and optimiser. A torn one exists
// while it is written, or after the program was killed.
func Checkpoints(folder external.Folder) map[int]string {
	out := map[int]string{}
	for _, dir := range checkpointDirs(folder) {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "checkpoint-"))
		state, ok := ReadState(dir)
		if err != nil || !ok || state.Step != n {
			continue
		}
		if _, _, err := weights(dir); err == nil && resumable(dir, max(1, folder.Ranks)) {
			out[n] = dir
		}
	}

	return out
}

// checkpointDirs returns the folders of all checkpoints, complete or not.
func checkpointDirs(folder external.Folder) []string {
	dirs, _ := filepath.Glob(filepath.Join(folder.Out(), "checkpoint-*"))

	return dirs
}

// resumable reports whether a checkpoint can be resumed. It needs the random state of every rank, and the optimiser and
// schedule of one process, or DeepSpeed's. Without its optimiser the program would silently continue with another
// result.
func resumable(dir string, ranks int) bool {
	if !wholeArchives(filepath.Join(dir, "rng_state*.pth"), ranks) {
		return false
	}
	if external.WholeArchive(filepath.Join(dir, "optimizer.pt")) {
		return external.WholeArchive(filepath.Join(dir, "scheduler.pt"))
	}

	latest, err := os.ReadFile(filepath.Join(dir, "latest")) // DeepSpeed's name of the folder with its state
	if err != nil {
		return false
	}
	state := filepath.Base(strings.TrimSpace(string(latest)))

	return wholeArchives(filepath.Join(dir, state, "*.pt"), ranks)
}

// wholeArchives reports whether at least n files match a pattern and all of them are whole.
func wholeArchives(pattern string, n int) bool {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		if !external.WholeArchive(file) {
			return false
		}
	}

	return len(files) >= n
}

// weights returns the files that hold a policy's parameters, an adapter's or a model's. It fails unless they are whole.
func weights(dir string) (files []string, adapter bool, err error) {
	if file := filepath.Join(dir, "adapter_model.safetensors"); exists(file) {
		_, err := external.WholeTensors(file)

		return []string{file}, true, err
	}

	if _, err := external.ModelDigest(dir); err != nil {
		return nil, false, err
	}
	files, err = filepath.Glob(filepath.Join(dir, "*.safetensors"))

	return files, false, err
}

func exists(file string) bool {
	_, err := os.Stat(file)

	return err == nil
}
