package lab

import (
	"errors"
	"fmt"
)

// Sentinels that callers test with errors.Is. The text around them is what
// a user reads in the message column.
var (
	ErrNotFound    = errors.New("not found")           // the object does not exist
	ErrConflict    = errors.New("name taken")          // by an object that is not ours
	ErrUnavailable = errors.New("unavailable for now") // trying again may help
	ErrInvalidSpec = errors.New("invalid request")     // trying again cannot help
	ErrUnsupported = errors.New("not supported here")  // this host or runtime cannot do it
)

// reason carries a sentinel for errors.Is and shows only the words.
type reason struct {
	kind  error
	words error
}

func (r reason) Error() string   { return r.words.Error() }
func (r reason) Unwrap() []error { return []error{r.kind, r.words} }

// InvalidSpec makes an error of the given words that is ErrInvalidSpec.
func InvalidSpec(format string, args ...any) error {
	return reason{ErrInvalidSpec, fmt.Errorf(format, args...)}
}

// Unsupported makes an error of the given words that is ErrUnsupported.
func Unsupported(format string, args ...any) error {
	return reason{ErrUnsupported, fmt.Errorf(format, args...)}
}

// Unavailable makes an error of the given words that is ErrUnavailable.
func Unavailable(format string, args ...any) error {
	return reason{ErrUnavailable, fmt.Errorf(format, args...)}
}

// NotFound makes an error of the given words that is ErrNotFound.
func NotFound(format string, args ...any) error {
	return reason{ErrNotFound, fmt.Errorf(format, args...)}
}

// Permanent reports whether trying the same again cannot help.
func Permanent(err error) bool {
	return errors.Is(err, ErrInvalidSpec) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrConflict)
}
