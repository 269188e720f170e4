// Command collabui trains collaborating UI agents by durable workflows; `collabui help` lists what it does.
package main

import (
	"os"

	"github.com/collabui/collabui/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
