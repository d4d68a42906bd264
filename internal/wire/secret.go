package wire

import (
	"fmt"

	"github.com/xdg-go/scram"
)

// Secret is what the gateway logs in with on the backend leg: a Password or Keys.
type Secret interface {
	conversation() (step, error)
}

// step answers one SCRAM message; the first challenge is empty, and so is the
// answer to the last.
type step func(challenge string) (string, error)

// Password is a Secret in clear text.
type Password string

// String keeps the password out of logs.
func (Password) String() string { return "(password)" }

func (p Password) conversation() (step, error) {
	client, err := scram.SHA256.NewClient("", string(p), "")
	if err != nil { // Postgres takes a password that SASLprep rejects as it is
		client, err = scram.SHA256.NewClientUnprepped("", string(p), "")
	}
	if err != nil {
		return nil, fmt.Errorf("starting SCRAM exchange: %w", err)
	}
	// Postgres lets its administrator choose any number of iterations.
	return client.WithMinIterations(1).NewConversation().Step, nil
}
