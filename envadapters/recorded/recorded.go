// Package recorded plays recorded tasks, teacher-forced: the recorded next page follows regardless of the agents'
// actions, and every step is scored on its own. It also reads the files of such tasks. Adapters of data sets are built
// on it.
package recorded
