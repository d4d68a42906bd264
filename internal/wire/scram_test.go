package wire

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	old "github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"
)

// verifierOf makes a verifier as Postgres writes it.
func verifierOf(t testing.TB, password, salt string, iterations int) string {
	t.Helper()
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: salt, Iters: iterations})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode([]byte(salt)), encode(stored.StoredKey), encode(stored.ServerKey))
}

func mustParse(t testing.TB, text string) Verifier {
	t.Helper()
	v, err := ParseVerifier(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVerifier(t *testing.T) {
	good := verifierOf(t, "secret", "0123456789abcdef", 4096)
	if _, err := ParseVerifier(good); err != nil {
		t.Errorf("%q: %v", good, err)
	}
	for name, text := range map[string]string{
		"empty":          "",
		"md5":            "md5a43862ce1f2d6cc92f4e6b8c1e4e5c11",
		"clear text":     "secret",
		"cut short":      good[:len(good)-3],
		"no iterations":  strings.Replace(good, "$4096:", "$:", 1),
		"zero rounds":    strings.Replace(good, "$4096:", "$0:", 1),
		"no salt":        "SCRAM-SHA-256$4096:$" + good[strings.LastIndex(good, "$")+1:],
		"other hash":     strings.Replace(good, "256", "512", 1),
		"keys not coded": good[:strings.LastIndex(good, "$")] + "$?:?",
	} {
		if _, err := ParseVerifier(text); err != errNoVerifier {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestMockVerifierIsStablePerUser(t *testing.T) {
	ann := MockVerifier([]byte("secret"), "ann")
	if diff := cmp.Diff(ann, MockVerifier([]byte("secret"), "ann"), cmp.AllowUnexported(Verifier{})); diff != "" {
		t.Errorf("changes between attempts: %s", diff)
	}
	if bob := MockVerifier([]byte("secret"), "bob"); bob.salt == ann.salt {
		t.Error("two users have the same salt")
	}
	if other := MockVerifier([]byte("other"), "ann"); other.salt == ann.salt {
		t.Error("two gateways have the same salt")
	}
	if len(ann.salt) != 16 || ann.iterations != 4096 {
		t.Errorf("differs from Postgres's own: %d bytes, %d iterations", len(ann.salt), ann.iterations)
	}
}

// oldClient logs in with pgproto3/v2, which shares no code with the server
// under test, and returns the SQLSTATE that it got, "" for success.
func oldClient(t *testing.T, conn net.Conn, mechanism string, answer step) string {
	frontend := old.NewFrontend(old.NewChunkReader(conn), conn)
	defer conn.Close()
	for {
		message, err := frontend.Receive()
		if err != nil {
			if err != io.ErrUnexpectedEOF {
				t.Errorf("client reading: %v", err)
			}
			return "closed"
		}
		var reply old.FrontendMessage
		switch m := message.(type) {
		case *old.AuthenticationSASL:
			first, _ := answer("")
			reply = &old.SASLInitialResponse{AuthMechanism: mechanism, Data: []byte(first)}
		case *old.AuthenticationSASLContinue:
			final, err := answer(string(m.Data))
			if err != nil {
				t.Errorf("client: %v", err)
			}
			reply = &old.SASLResponse{Data: []byte(final)}
		case *old.AuthenticationSASLFinal:
			if _, err := answer(string(m.Data)); err != nil {
				t.Errorf("client: %v", err)
			}
			return ""
		case *old.ErrorResponse:
			return m.Code
		}
		if err := frontend.Send(reply); err != nil {
			t.Errorf("client sending: %v", err)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	right := mustParse(t, verifierOf(t, "secret", "0123456789abcdef", 4096))
	passwordStep := func(p Password) step {
		answer, err := p.conversation()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	libraryStep := func(user, authorization string) step {
		client, err := scram.SHA256.NewClient(user, "secret", authorization)
		if err != nil {
			t.Fatal(err)
		}
		return client.NewConversation().Step
	}
	say := func(text string) step { return func(string) (string, error) { return text, nil } }
	capable, err := scram.SHA256.NewClient("", "secret", "")
	if err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name      string
		verifier  Verifier
		mechanism string
		answer    step
		code      string
	}{
		{"right password, empty user name as libpq sends it", right, scramSHA256, passwordStep("secret"), ""},
		{"right password, some other user name as JDBC sends it", right, scramSHA256, libraryStep("*", ""), ""},
		{"client able to bind to a channel that was not offered", right, scramSHA256,
			capable.NewConversationAdvertisingChannelBinding().Step, ""},
		{"wrong password", right, scramSHA256, passwordStep("Secret"), "28P01"},
		{"unknown user", MockVerifier([]byte("s"), "ann"), scramSHA256, passwordStep("secret"), "28P01"},
		{"unknown user, empty password", MockVerifier([]byte("s"), "ann"), scramSHA256, passwordStep(""), "28P01"},
		{"authorization identity", right, scramSHA256, libraryStep("", "bob"), "0A000"},
		{"mechanism not offered", right, "SCRAM-SHA-256-PLUS", passwordStep("secret"), "08P01"},
		{"channel binding not offered", right, scramSHA256, say("p=tls-server-end-point,,n=,r=abc"), "08P01"},
		{"not SCRAM", right, scramSHA256, say("hello"), "08P01"},
		{"nothing", right, scramSHA256, say(""), "08P01"},
		{"proof that is none", right, scramSHA256, say("n,,n=,r=abc"), "08P01"},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, server := pair(t)
			code := make(chan string, 1)
			go func() { code <- oldClient(t, client, test.mechanism, test.answer) }()
			keys, err := Authenticate(server, "ann", test.verifier)
			if e, ok := err.(*Error); ok {
				Refuse(server, e)
			}
			if got := <-code; got != test.code || sqlState(err) != test.code {
				t.Fatalf("the client got %q, the server %v, want %q", got, err, test.code)
			}
			if (keys != nil) != (test.code == "") {
				t.Errorf("keys %v", keys)
			}
			if e, ok := err.(*Error); ok && e.Code == "28P01" && e.Message != `password authentication failed for user "ann"` {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestAuthenticateRefusesOtherMessages(t *testing.T) {
	client, server := pair(t)
	client.Write([]byte("Q\x00\x00\x00\x05\x00"))
	if _, err := Authenticate(server, "ann", MockVerifier(nil, "ann")); sqlState(err) != "08P01" {
		t.Errorf("error %v", err)
	}
}

// The keys from one login are good for the next, on a server that holds the same verifier.
func TestKeysOfALoginLogInElsewhere(t *testing.T) {
	engine := mustParse(t, verifierOf(t, "secret", "0123456789abcdef", 4096))
	logIn := func(verifier Verifier, secret Secret) (*Keys, string) {
		answer, err := secret.conversation()
		if err != nil {
			t.Fatal(err)
		}
		client, server := pair(t)
		code := make(chan string, 1)
		go func() { code <- oldClient(t, client, scramSHA256, answer) }()
		keys, err := Authenticate(server, "ann", verifier)
		if e, ok := err.(*Error); ok {
			Refuse(server, e)
		}
		return keys, <-code
	}
	keys, code := logIn(engine, Password("secret"))
	if code != "" {
		t.Fatalf("login with the password: %s", code)
	}
	if again, code := logIn(engine, keys); code != "" || string(again.clientKey) != string(keys.clientKey) {
		t.Errorf("login with the keys: %q", code)
	}
	changed := mustParse(t, verifierOf(t, "secret", "another salt....", 4096))
	if _, code := logIn(changed, keys); code != "28P01" {
		t.Errorf("login with keys of another verifier: %q, want 28P01", code)
	}
	if text := fmt.Sprint(keys, Password("secret")); text != "(keys)(password)" {
		t.Errorf("printed: %s", text)
	}
}

func TestKeysRefuseAServerThatDoesNotKnowThem(t *testing.T) {
	v := MockVerifier([]byte("s"), "ann")
	keys := &Keys{clientKey: v.storedKey, storedKey: v.storedKey, serverKey: v.serverKey}
	answer, _ := keys.conversation()
	if _, err := answer(""); err != nil {
		t.Fatal(err)
	}
	if _, err := answer("r=not-our-nonce,s=AAAA,i=4096"); err == nil {
		t.Error("took a nonce that does not extend its own")
	}
	answer, _ = keys.conversation()
	first, _ := answer("")
	nonce := first[strings.Index(first, "r="):]
	if _, err := answer(nonce + "more,s=AAAA,i=4096"); err != nil {
		t.Fatal(err)
	}
	if _, err := answer("v=AAAA"); err == nil {
		t.Error("took a signature that is none")
	}
}
