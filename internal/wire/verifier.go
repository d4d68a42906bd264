package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// Verifier is what Postgres keeps of a SCRAM-SHA-256 password: enough to
// check a login, not enough to make one.
type Verifier struct {
	iterations int
	salt       string // decoded
	storedKey  []byte
	serverKey  []byte
}

const scramSHA256 = "SCRAM-SHA-256"

// errNoVerifier says no more: the text it was made from is a secret.
var errNoVerifier = errors.New("not a SCRAM-SHA-256 verifier")

// ParseVerifier reads SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey, as in
// pg_authid.rolpassword. Its error tells nothing of the text.
func ParseVerifier(text string) (Verifier, error) {
	mechanism, rest, _ := strings.Cut(text, "$")
	parameters, keys, _ := strings.Cut(rest, "$")
	iterations, salt, _ := strings.Cut(parameters, ":")
	storedKey, serverKey, _ := strings.Cut(keys, ":")

	var v Verifier
	var err [4]error
	var decodedSalt []byte
	v.iterations, err[0] = strconv.Atoi(iterations)
	decodedSalt, err[1] = base64.StdEncoding.DecodeString(salt)
	v.storedKey, err[2] = base64.StdEncoding.DecodeString(storedKey)
	v.serverKey, err[3] = base64.StdEncoding.DecodeString(serverKey)
	v.salt = string(decodedSalt)
	if mechanism != scramSHA256 || errors.Join(err[:]...) != nil || v.iterations < 1 || v.salt == "" ||
		len(v.storedKey) != sha256.Size || len(v.serverKey) != sha256.Size {
		return Verifier{}, errNoVerifier
	}
	return v, nil
}

// Postgres's defaults: what a verifier looks like from outside.
const (
	mockIterations = 4096
	mockSaltSize   = 16
)

// MockVerifier is for a user who is not there or may not log in: a login
// against it looks like any other and always fails. It depends on secret and
// user alone, so that the salt does not change between attempts or restarts.
func MockVerifier(secret []byte, user string) Verifier {
	derive := func(use string) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(use + "\x00" + user))
		return mac.Sum(nil)
	}
	return Verifier{
		iterations: mockIterations,
		salt:       string(derive("salt")[:mockSaltSize]),
		storedKey:  derive("stored key"), // the hash of a key that nobody has
		serverKey:  derive("server key"),
	}
}
