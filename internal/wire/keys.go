package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Keys are what a SCRAM login leaves behind: with them the gateway logs in to
// a server that holds the same verifier, as the same role, without ever
// having seen the password. They live as long as the login of the session.
//
// The arithmetic is written out here, on the standard library's HMAC and
// SHA-256, because the SCRAM library has no door for it: its client starts
// from a password, its server keeps the recovered key to itself. Checking the
// client's proof stays the library's business.
type Keys struct {
	clientKey []byte
	storedKey []byte
	serverKey []byte
}

// String keeps the keys out of logs.
func (*Keys) String() string { return "(keys)" }

// recoverKeys takes the ClientKey out of a proof that was verified:
// ClientProof = ClientKey XOR HMAC(StoredKey, AuthMessage).
func recoverKeys(v Verifier, clientFirst, serverFirst, clientFinal string) (*Keys, error) {
	bare := clientFirst
	for range 2 { // behind the flag and the identity of the GS2 header
		_, bare, _ = strings.Cut(bare, ",")
	}
	end := strings.LastIndex(clientFinal, ",p=")
	if end < 0 {
		return nil, errors.New("recovering keys from SCRAM proof: no proof")
	}
	proof, err := base64.StdEncoding.DecodeString(clientFinal[end+len(",p="):])
	if err != nil {
		return nil, fmt.Errorf("recovering keys from SCRAM proof: %w", err)
	}
	signature := sign(v.storedKey, bare+","+serverFirst+","+clientFinal[:end])
	if len(proof) != len(signature) {
		return nil, errors.New("recovering keys from SCRAM proof: wrong size")
	}
	keys := &Keys{clientKey: make([]byte, sha256.Size), storedKey: v.storedKey, serverKey: v.serverKey}
	subtle.XORBytes(keys.clientKey, proof, signature)
	return keys, nil
}

// conversation makes the three messages of a client that has keys instead of
// a password. It never binds to a TLS channel: the channel that the user's
// proof could speak of ends at the gateway.
func (k *Keys) conversation() (step, error) {
	const header = "n,,"
	first := "n=,r=" + rand.Text()
	var authMessage string
	turn := 0
	return func(challenge string) (string, error) {
		turn++
		switch turn {
		case 1:
			return header + first, nil
		case 2:
			nonce, _, _ := strings.Cut(challenge, ",")
			if !strings.HasPrefix("n=,"+nonce, first) {
				return "", errors.New("server nonce does not extend ours")
			}
			final := "c=" + base64.StdEncoding.EncodeToString([]byte(header)) + "," + nonce
			authMessage = first + "," + challenge + "," + final
			proof := sign(k.storedKey, authMessage)
			subtle.XORBytes(proof, proof, k.clientKey)
			return final + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
		default:
			want := "v=" + base64.StdEncoding.EncodeToString(sign(k.serverKey, authMessage))
			if subtle.ConstantTimeCompare([]byte(challenge), []byte(want)) != 1 {
				return "", errors.New("server signature does not verify")
			}
			return "", nil
		}
	}, nil
}

func sign(key []byte, message string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(message))
	return mac.Sum(nil)
}
