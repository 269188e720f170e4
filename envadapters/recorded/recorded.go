// Package recorded plays recorded tasks, teacher-forced: whatever the agents do, the recorded next page follows, and
// every step is scored by itself. It also reads the files that hold such tasks. Adapters of data sets are built on it.
package recorded
