package openenv

import (
	"net/http"
	"testing"
)

func TestTheKeyIsSentToThisMachineAndToListedHostsOnly(t *testing.T) {
	t.Setenv(EnvKey, "canary\nthe-key-before") // of several, the first is sent
	t.Setenv(EnvHosts, "gpu-1.example, 10.0.0.5")
	for address, want := range map[string]bool{
		"ws://127.0.0.1:8000/ws":         true,
		"ws://localhost:8000/ws":         true,
		"ws://[::1]:8000/ws":             true,
		"wss://GPU-1.example/ws":         true,
		"http://10.0.0.5:8001/ready":     true,
		"ws://evil.example/ws":           false,
		"ws://gpu-1.example.evil/ws":     false,
		"ws://127.0.0.1.evil.example/ws": false,
		"ws://10.0.0.50/ws":              false,
	} {
		h := http.Header{}
		if err := Authorize(h, address); err != nil {
			t.Fatal(err)
		}
		if got := h.Get("Authorization") == "Bearer canary"; got != want {
			t.Errorf("the key is sent to %s: %v, want %v", address, got, want)
		}
	}
}
