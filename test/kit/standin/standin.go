// Package standin behaves, and misbehaves on request, like the foreign programs that this system runs:
// llamafactory-cli and a server of language models. Both use the small policy, so training really trains and answers
// are real. Only tests import it.
package standin

// Variable is the environment variable that determines how the program misbehaves, in words separated by blanks. Each
// fault happens once per job, so that a retry succeeds, unless described otherwise.
//
//	kill@N     dies as by kill -9 after optimiser step N
//	torn@N     dies while it writes checkpoint-N
//	hang@N     does nothing after step N and ignores SIGTERM
//	exit@N=T   fails after step N with the text T, with + for blanks
//	nan@N      the loss of step N is not a number; every time
//	garbage    writes invalid lines into its log; every time
//	drop       trains on one row less than the data contain; every time
//	quit@N     ends with status 0 after step N
//	late       dies as by kill -9 after its last checkpoint, before its results
//	orphan     leaves a process in another session, as torchrun does, and its id in the file orphan
//	           of the working folder; every time
//	empty      ends with status 0 and no result
//	slow=MS    waits this long at every step; every time
const Variable = "STANDIN"
