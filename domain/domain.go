// Package domain holds the terms of the method that all other packages share: tasks, observations, actions,
// topologies, decisions, episodes, preference pairs and artifacts. It is public, so environments and trainers can be
// written outside this module.
//
// Nothing here reads a clock or draws a random number that does not derive from a seed.
//
// It does no I/O.
package domain
