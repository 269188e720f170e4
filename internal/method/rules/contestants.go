package rules

// Names of the systems that only a reproduction evaluates.
const (
	// NameVotes is the base policy with as many silent votes as the system has cells: what voting alone gains.
	NameVotes = "base-1-votes"
	// NameAlone is one trained agent alone, another one from episode to episode: the mean of the trained agents.
	NameAlone = "alone"
	// NameImitation is SFT on the chosen answers of the same pairs, with as many optimiser steps.
	NameImitation = "imitation"
)
