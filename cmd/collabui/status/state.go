package status

import (
	"github.com/collabui/collabui/workflows"
)

// state describes what a run is doing now.
type state string

const (
	stateAbsent    state = "absent"  // the run is only in the store: Temporal has no workflow of it
	stateUnknown   state = "unknown" // Temporal does not respond
	stateRunning   state = "running"
	statePaused    state = "paused"
	stateStopping  state = "stopping"
	stateStopped   state = "stopped"
	stateFineTuned state = "fine-tuned" // only stage 1 has been run
	stateFinished  state = "finished"
)

// StateOf returns the state of a run whose workflow is open.
func StateOf(status workflows.Status) state {
	switch {
	case status.Stopping, status.StopAfter != "":
		return stateStopping
	case status.Paused:
		return statePaused
	}

	return stateRunning
}
