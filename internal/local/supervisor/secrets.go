package supervisor

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/collabui/collabui/fault"
)

// secrets is the content of secrets.json, which only its owner can read. It is created once per data folder.
type secrets struct {
	Access string `json:"access"`
	Secret string `json:"secret"`
	Ports  []int  `json:"ports"`            // kept, so that clients find a restarted service
	Redis  string `json:"redis,omitempty"`  // external address, which may contain a password
	Policy string `json:"policy,omitempty"` // external address, which may contain a password
}

// secrets returns the keys and ports of the folder. It creates missing ones, and replaces ports that are in use.
func (s *Supervisor) secrets() (secrets, error) {
	sec, err := readSecrets(s.o.Data)
	if err == nil && len(sec.Ports) == numPorts {
		if free(sec.Ports, 5*time.Second) {
			return sec, nil
		}
		s.o.Log.Warn("other programs use ports of this data folder; choosing new ones", "ports", sec.Ports)
	} else {
		data := make([]byte, 32)
		if _, err := rand.Read(data); err != nil {
			return sec, fault.As(fault.Fatal, err)
		}
		sec = secrets{Access: hex.EncodeToString(data[:8]), Secret: hex.EncodeToString(data[8:])}
	}
	if sec.Ports, err = freePorts(numPorts); err != nil {
		return sec, err
	}

	return sec, s.keepSecrets(sec)
}

func (s *Supervisor) keepSecrets(sec secrets) error {
	raw, err := json.Marshal(sec)
	if err == nil {
		err = writeFile(secretsPath(s.o.Data), raw, 0o600)
	}
	if err != nil {
		return fault.New(fault.Invalid, "write %s: %w", secretsPath(s.o.Data), err)
	}

	return nil
}

func readSecrets(data string) (secrets, error) {
	var sec secrets
	raw, err := os.ReadFile(secretsPath(data))
	if err != nil {
		return sec, fault.New(fault.Invalid, "%w", err)
	}
	if err := json.Unmarshal(raw, &sec); err != nil {
		return sec, fault.New(fault.Corrupt, "%s: %w", secretsPath(data), err)
	}

	return sec, nil
}
