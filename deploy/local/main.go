// Command collabui-local runs the services that a training run needs on one
// machine: a Temporal server with its Web UI, an S3 server over a folder, and
// a Redis server. Each subcommand is one process, meant to run under a
// supervisor:
//
//	collabui-local temporal --dir DIR --addr HOST:PORT --ui-addr HOST:PORT --namespace NAME
//	collabui-local s3       --dir DIR --addr HOST:PORT --bucket NAME
//	collabui-local redis    --addr HOST:PORT
//
// When a service can be used, one JSON line goes to standard output. Logs go to standard error. SIGTERM and SIGINT end
// it, and so does EOF on standard input when --parent-pipe is given.
//
// Exit codes: 0 stopped on request, 1 other failure, 2 wrong usage, 3 port not
// usable, 4 data folder locked by another process, 5 disk or data problem.
//
// The module is separate because a Temporal server brings some 250 modules that
// a training worker must not carry; it imports nothing of the main module.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// stopLimit bounds a graceful stop: nothing may outlive its supervisor.
const stopLimit = 10 * time.Second

func main() {
	// Embedded servers print banners and notes to standard output, which
	// belongs to the supervisor: only the ready line may appear there.
	ready := os.Stdout
	os.Stdout = os.Stderr
	os.Exit(report(os.Stderr, run(os.Args[1:], ready)))
}

func run(args []string, ready io.Writer) error {
	cmd, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}

	data, err := openData(cmd.dir, cmd.name)
	if err != nil {
		return err
	}
	defer data.close()
	for _, addr := range cmd.addresses {
		if err := checkAddress(addr); err != nil {
			return err
		}
	}

	ctx, end := lifetime(cmd.parentPipe)
	go data.watch(ctx, end)

	return serve(ctx, end, cmd, ready)
}

// serve runs the service until ctx ends and returns why it ended.
func serve(ctx context.Context, end context.CancelCauseFunc, cmd *command, ready io.Writer) error {
	defer stopInTime(cmd.service)
	if err := cmd.service.start(ctx, end); err != nil {
		if ctx.Err() != nil {
			return reason(ctx)
		}
		return fmt.Errorf("start %s: %w", cmd.name, err)
	}

	if err := announce(ready, cmd.name, cmd.addr); err != nil {
		return err
	}

	<-ctx.Done()

	return reason(ctx)
}

func stopInTime(s service) {
	timer := time.AfterFunc(stopLimit, func() {
		os.Exit(report(os.Stderr, errors.New("did not stop in time, ended by force")))
	})
	defer timer.Stop()
	s.stop()
}

func announce(out io.Writer, name, addr string) error {
	line := struct {
		Ready string `json:"ready"`
		PID   int    `json:"pid"`
		Addr  string `json:"addr"`
	}{name, os.Getpid(), addr}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return fmt.Errorf("announce %s: %w", name, err)
	}

	return nil
}

// report writes err as one line and returns its exit code.
func report(out io.Writer, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}

	p := diagnose(err)
	fmt.Fprintln(out, p.line())

	return p.code
}
