package main

import (
	"fmt"
	"net"
)

// checkAddress finds out early whether addr is free. The embedded servers open
// their own listeners and some end the process when that fails, so the check
// has to come before them.
func checkAddress(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return portProblem(addr, err)
	}

	return listener.Close()
}

// freePorts returns n different ports that are free on the loopback interface.
// All are held until the last is known, so that no port comes out twice.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}

	return ports, nil
}
