package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
)

// service is one local server.
type service interface {
	// flags adds flags that not every service has.
	flags(*flag.FlagSet, *options)
	// prepare checks the command line and returns the addresses to listen on.
	prepare(options) (addresses []string, err error)
	// start returns when clients can use the service. From then until stop, it calls fail if the service ends on its
	// own.
	start(ctx context.Context, fail func(error)) error
	// stop ends the service. It is also called after a failed start.
	stop()
}

// options are the flags that all services share.
type options struct {
	dir        string // absolute, because the S3 server changes the working directory
	addr       string
	parentPipe bool
}

// command is a parsed command line.
type command struct {
	options
	name      string
	service   service
	addresses []string
}

const usage = "use collabui-local temporal|s3|redis; -h after a service shows its flags"

func newService(name string) service {
	switch name {
	case "temporal":
		return &temporalService{}
	case "s3":
		return &s3Service{}
	case "redis":
		return &redisService{}
	}

	return nil
}

// parse parses the command line. Help and flag errors go to out.
func parse(args []string, out io.Writer) (*command, error) {
	if len(args) == 0 {
		return nil, usageProblem("no service named", usage)
	}

	cmd := &command{name: args[0], service: newService(args[0])}
	if cmd.service == nil {
		return nil, usageProblem(fmt.Sprintf("unknown service %q", cmd.name), usage)
	}

	fs := flag.NewFlagSet("collabui-local "+cmd.name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.StringVar(&cmd.addr, "addr", "", "serve on `IP:PORT`")
	fs.BoolVar(&cmd.parentPipe, "parent-pipe", false, "end at EOF on standard input: the supervisor is gone")
	cmd.service.flags(fs, &cmd.options)
	if err := fs.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil || fs.NArg() > 0 {
		return nil, usageProblem("wrong flags or arguments", usage)
	}

	return cmd, cmd.check()
}

func (c *command) check() (err error) {
	if c.dir != "" {
		if c.dir, err = filepath.Abs(c.dir); err != nil {
			return dataProblem("cannot find the working directory", err)
		}
	}

	if _, err := parseAddress("addr", c.addr); err != nil {
		return err
	}

	c.addresses, err = c.service.prepare(c.options)

	return err
}

func (o *options) dirFlag(fs *flag.FlagSet) {
	fs.StringVar(&o.dir, "dir", "", "keep the data in folder `DIR`; created if missing")
}

// needDir returns an error without --dir, which services that keep data need.
func (o options) needDir() error {
	if o.dir == "" {
		return usageProblem("--dir is missing", "name the folder that holds the data")
	}

	// The Temporal server puts the path into a SQLite URI without escaping it.
	if strings.ContainsAny(o.dir, "?#%") {
		return usageProblem(fmt.Sprintf("folder %q has ?, # or %% in its name", o.dir), "choose another folder")
	}

	return nil
}

// parseAddress parses an IP address and a port, both of which the caller must choose.
func parseAddress(name, addr string) (*net.TCPAddr, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	host, _, splitErr := net.SplitHostPort(addr)
	if err != nil || splitErr != nil || net.ParseIP(host) == nil || tcp.Port == 0 {
		return nil, usageProblem(fmt.Sprintf("--%s %q is not an address", name, addr),
			"give IP:PORT, for example 127.0.0.1:7233")
	}

	return tcp, nil
}
