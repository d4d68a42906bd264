package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestParseStartup(t *testing.T) {
	for _, test := range []struct {
		name    string
		version Version
		body    string
		want    []Parameter
		code    string
	}{
		{"user only", Version30, "user|ann||", []Parameter{{"user", "ann"}}, ""},
		{"order, duplicates and empty values are kept", Version32, "b||user|ann|a|1|b|2||",
			[]Parameter{{"b", ""}, {"user", "ann"}, {"a", "1"}, {"b", "2"}}, ""},
		{"minor version of the future", 3<<16 | 9999, "user|ann||", []Parameter{{"user", "ann"}}, ""},
		{"major version of the future", 4 << 16, "user|ann||", nil, "0A000"},
		{"major version of the past", 2 << 16, "user|ann||", nil, "0A000"},
		{"second SSLRequest", codeSSL, "", nil, "0A000"},
		{"empty", Version30, "", nil, "08P01"},
		{"no terminator", Version30, "user|ann|", nil, "08P01"},
		{"name without a value", Version30, "user|ann|x|", nil, "08P01"},
		{"value without an end", Version30, "user|ann|x|y", nil, "08P01"},
		{"bytes behind the terminator", Version30, "user|ann||x|", nil, "08P01"},
		{"no user", Version30, "database|lab||", nil, "28000"},
		{"empty user", Version30, "user||database|lab||", nil, "28000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := []byte(strings.ReplaceAll(test.body, "|", "\x00"))
			got, err := parseStartup(test.version, body)
			if code := sqlState(err); code != test.code {
				t.Fatalf("SQLSTATE %q (%v), want %q", code, err, test.code)
			}
			if test.code != "" {
				return
			}
			if diff := cmp.Diff(Startup{test.version, test.want}, got); diff != "" {
				t.Error(diff)
			}
			packet := got.appendTo(nil)
			if !bytes.Equal(packet[8:], body) || int(binary.BigEndian.Uint32(packet)) != len(packet) {
				t.Errorf("does not encode to what it was: %q", packet)
			}
		})
	}
}

func TestStartupForAnotherServer(t *testing.T) {
	client := Startup{Version32, []Parameter{
		{"options", `-c search_path=x\ y`}, {"user", "ann"}, {"database", "demo"}, {"_pq_.secret", "1"},
		{"replication", "database"}, {"user", "ann2"}, {"application_name", "psql"},
	}}
	want := Startup{Version30, []Parameter{
		{"user", "bench"}, {"database", "demo_db"}, {"search_path", "pg_catalog"},
		{"options", `-c search_path=x\ y`}, {"replication", "database"}, {"application_name", "psql"},
	}}
	if diff := cmp.Diff(want, client.For("bench", "demo_db", Parameter{"search_path", "pg_catalog"})); diff != "" {
		t.Error(diff)
	}
	if got := client.User(); got != "ann2" {
		t.Errorf("user %q, want the last one given", got)
	}
	if got := (Startup{Parameters: []Parameter{{"user", "ann"}}}).Database(); got != "ann" {
		t.Errorf("database %q, want the user's name", got)
	}
}

func TestNegotiate(t *testing.T) {
	for _, test := range []struct {
		name    string
		version Version
		option  string
		want    *pgproto3.NegotiateProtocolVersion
	}{
		{"3.0", Version30, "x", nil},
		{"3.2", Version32, "x", nil},
		{"3.9", 3<<16 | 9, "x", &pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 196610, UnrecognizedOptions: []string{}}},
		{"option of the protocol", Version30, "_pq_.foo", &pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 196608, UnrecognizedOptions: []string{"_pq_.foo"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Negotiate(&out, Startup{test.version, []Parameter{{"user", "ann"}, {test.option, "1"}}}); err != nil {
				t.Fatal(err)
			}
			if test.want == nil {
				if out.Len() > 0 {
					t.Errorf("sent %q", out.Bytes())
				}
				return
			}
			var got pgproto3.NegotiateProtocolVersion
			if err := got.Decode(out.Bytes()[5:]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sqlState is the SQLSTATE of an *Error, "" for none, "not for the client" for another error.
func sqlState(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return "not for the client"
}
