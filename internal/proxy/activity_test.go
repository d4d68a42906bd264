package proxy

import (
	"encoding/binary"
	"strings"
	"testing"

	"pglab/internal/wire"
)

// stream encodes messages given by their types; Z is followed by its status,
// every other message has a short body.
func stream(types string) (bytes []byte) {
	for i := 0; i < len(types); i++ {
		body := "body"
		kind := types[i]
		if kind == 'Z' {
			i++
			body = string(types[i])
		}
		bytes = append(bytes, kind)
		bytes = binary.BigEndian.AppendUint32(bytes, uint32(4+len(body)))
		bytes = append(bytes, body...)
	}
	return bytes
}

// A script alternates what the client and the server send: "Q > TDCZI" is a
// query and its answer.
func TestActivityKnowsIdleSessions(t *testing.T) {
	for _, test := range []struct {
		name, script string
		idle         bool
	}{
		{"just logged in", "> RSSKZI", true},
		{"not logged in yet", "> RSSK", false},
		{"query under way", "> ZI | Q > TD", false},
		{"query answered", "> ZI | Q > TDCZI", true},
		{"query failed", "> ZI | Q > EZI", true},
		{"transaction open", "> ZI | Q > CZT", false},
		{"transaction failed", "> ZI | Q > EZE", false},
		{"transaction over", "> ZI | Q > CZT | Q > CZI", true},
		{"two queries in one write, one answered", "> ZI | QQ > CZI", false},
		{"two queries in one write, both answered", "> ZI | QQ > CZI | > CZI", true},
		{"extended, no Sync yet", "> ZI | PBDE >", false},
		{"extended, executing for a Flush", "> ZI | PBEH > 12", false},
		{"extended, answered", "> ZI | PBDES > 12TDCZI", true},
		{"pipeline of two batches, one answered", "> ZI | PBES | BE > 12CZI", false},
		{"pipeline of two batches, both answered", "> ZI | PBES | BES > 12CZI2CZI", true},
		{"function call", "> ZI | F > VZI", true},
		{"COPY IN, waiting for data", "> ZI | Q > G", false},
		{"COPY IN, done", "> ZI | Q > G | dddc > CZI", true},
		{"COPY IN, extended, with the Sync that the server ignores", "> ZI | PBES > 12G | ddcS > CZI", true},
		{"COPY IN, extended, Sync after the data", "> ZI | PBEH > 12G | ddc | S > CZI", true},
		{"COPY IN, given up by the client", "> ZI | PBES > 12G | dfS > EZI", true},
		{"COPY IN, failed before it began", "> ZI | PBES > 12EZI", true},
		{"notification while idle", "> ZI | > A", true},
		{"setting changed while idle", "> ZI | > S", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var a activity
			for turn := range strings.SplitSeq(test.script, "|") {
				client, server, _ := strings.Cut(turn, ">")
				for _, half := range []struct {
					types string
					take  func([]byte)
				}{{client, func(b []byte) { a.client(b) }}, {server, a.server}} {
					for _, b := range stream(strings.TrimSpace(half.types)) {
						half.take([]byte{b})
					}
				}
			}
			if a.busy() == test.idle {
				t.Errorf("busy: %v", a.busy())
			}
		})
	}
}

func TestActivityEndsASessionOnceItIsIdle(t *testing.T) {
	reason := &wire.Error{Message: "enough"}
	var a activity
	a.server(stream("RSKZI"))
	if !a.client(stream("Q")) {
		t.Fatal("a query was held back")
	}
	if a.end(reason, false) {
		t.Fatal("ended in a query")
	}
	a.server(stream("TDCZT"))
	if got, _ := a.over(); got != nil {
		t.Fatal("ended in a transaction")
	}
	if !a.client(stream("Q")) {
		t.Fatal("COMMIT was held back")
	}
	a.server(stream("CZI"))
	if got, boundary := a.over(); got != reason || !boundary {
		t.Errorf("after COMMIT: over for %v, boundary %v", got, boundary)
	}
	if a.client(stream("Q")) {
		t.Error("a query went to the server after the end")
	}
}

func TestActivityEndsABusySessionNow(t *testing.T) {
	reason := &wire.Error{Message: "enough"}
	var a activity
	a.server(stream("RSKZI"))
	a.client(stream("Q"))
	a.server(stream("TD")[:7]) // inside a row
	a.end(&wire.Error{Message: "drain"}, false)
	if !a.end(reason, true) {
		t.Fatal("not ended")
	}
	if got, boundary := a.over(); got.Message != "drain" || boundary {
		t.Errorf("over for %v, boundary %v", got, boundary)
	}
}
