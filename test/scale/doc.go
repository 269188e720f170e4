// Package scale measures whether an episode costs the same in a large epoch and an epoch the same late in a long run,
// and how many episodes a second 1 to 64 rollout workers play: wall time, processor time and memory of the worker,
// Temporal and S3, each in a process of its own. The environment is the scripted one, and policies and trainer are
// fakes that answer at once, so that what is measured is the pipeline. `make scale` runs it.
package scale
