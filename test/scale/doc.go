// Package scale measures whether an episode costs the same in a large epoch and an epoch the same late in a long run,
// and how many episodes per second 1 to 64 rollout workers play. It measures wall time, processor time and memory of
// the worker, Temporal and S3, each in a process of its own. The environment is the scripted one, and policies and
// trainer are fakes that answer immediately, so that only the pipeline is measured. `make scale` runs it.
package scale
