package status

import (
	"github.com/collabui/collabui/workflows"
)

// State describes what a run is doing now.
type State string

const (
	stateAbsent    State = "absent"  // the run is only in the store: Temporal has no workflow of it
	stateUnknown   State = "unknown" // Temporal does not respond
	stateRunning   State = "running"
	statePaused    State = "paused"
	stateStopping  State = "stopping"
	stateStopped   State = "stopped"
	stateFineTuned State = "fine-tuned" // only stage 1 has been run
	stateFinished  State = "finished"
)

// StateOf returns the state of a run whose workflow is open.
func StateOf(status workflows.Status) State {
	switch {
	case status.Stopping, status.StopAfter != "":
		return stateStopping
	case status.Paused:
		return statePaused
	}

	return stateRunning
}
