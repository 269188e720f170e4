package supervisor

import (
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/collabui/collabui/fault"
)

// Indices of the ports of a data folder.
const (
	portTemporal = iota
	portUI
	portS3
	portRedis
	portPolicy
	portWorker
	portViewer
	numPorts
)

// Ports are chosen below the range from which the kernel takes ports for clients. Otherwise a client that reconnects
// could take the port of a service that restarts.
const (
	firstPort = 12000
	lastPort  = 30000
)

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// freePorts returns n different ports on which no process listens.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range 2000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", local(port))
		if err != nil {
			continue
		}
		defer func() { _ = listener.Close() }() // held until all are drawn, so that none is drawn twice
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}

	return nil, fault.New(fault.Transient, "no free ports between %d and %d on 127.0.0.1", firstPort, lastPort)
}

// free reports whether a process can listen on all ports. It waits up to limit, because the processes of a supervisor
// that was killed may take a moment to end.
func free(ports []int, limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		if free := allFree(ports); free || time.Now().After(end) {
			return free
		}
	}
}

func allFree(ports []int) bool {
	for _, port := range ports {
		listener, err := net.Listen("tcp", local(port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}

	return true
}
