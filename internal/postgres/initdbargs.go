package postgres

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const defaultLocale = "C.UTF-8"

// initdbOptions are what a user may choose for a data directory, and the
// first major that knows the choice. Whatever else initdb can do is either
// ours to say (where, as whom, how to log in) or would make a benchmark lie.
var initdbOptions = map[string]int{
	"allow-group-access": 11,
	"builtin-locale":     17,
	"data-checksums":     9, // on or off
	"encoding":           9,
	"icu-locale":         15,
	"icu-rules":          16,
	"lc-collate":         9,
	"lc-ctype":           9,
	"lc-messages":        9,
	"lc-monetary":        9,
	"lc-numeric":         9,
	"lc-time":            9,
	"locale":             9,
	"locale-provider":    15,
	"text-search-config": 9,
	"wal-segsize":        11, // in megabytes
}

// ErrInitdbOption says that an option cannot be given to initdb.
var ErrInitdbOption = errors.New("unusable initdb option")

// CheckInitdb tells in words what is wrong with a user's initdb options for
// a version. The error is ErrInitdbOption.
func CheckInitdb(version Version, options map[string]string) error {
	_, err := initdbArgs(version, "", options)
	return err
}

// initdbArgs are the arguments of initdb, in an order that does not vary.
func initdbArgs(version Version, datadir string, options map[string]string) ([]string, error) {
	chosen := map[string]string{"data-checksums": "on", "encoding": "UTF8", "locale": defaultLocale}
	if version.Major >= initdbOptions["locale-provider"] {
		chosen["locale-provider"] = "libc"
	}
	for given, value := range options {
		option := strings.ReplaceAll(given, "_", "-")
		since, known := initdbOptions[option]
		switch {
		case !known:
			return nil, fmt.Errorf("%w %q; those that can be set: %s", ErrInitdbOption, given,
				strings.Join(slices.Sorted(maps.Keys(initdbOptions)), ", "))
		case version.Major < since:
			return nil, fmt.Errorf("%w %q: initdb has it from Postgres %d on, this is %s", ErrInitdbOption, given, since, version)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("%w %q: its value has a zero byte", ErrInitdbOption, given)
		}
		chosen[option] = value
	}
	args := []string{"--pgdata=" + datadir, "--username=" + SuperUser, "--auth=trust"}
	for _, option := range slices.Sorted(maps.Keys(chosen)) {
		arg, err := initdbArg(version, option, chosen[option])
		if err != nil {
			return nil, err
		}
		if arg != "" {
			args = append(args, arg)
		}
	}
	return args, nil
}

// initdbArg is one argument; empty when the wish is what this major does
// anyway and has no word for.
func initdbArg(version Version, option, value string) (string, error) {
	switch option {
	case "data-checksums", "allow-group-access":
		wanted, err := parseSwitch(value)
		if err != nil {
			return "", fmt.Errorf("%w %q: %w", ErrInitdbOption, option, err)
		}
		const checksumsByDefault = 18
		switch {
		case wanted:
			return "--" + option, nil
		case option == "data-checksums" && version.Major >= checksumsByDefault:
			return "--no-data-checksums", nil
		}
		return "", nil
	}
	return "--" + option + "=" + value, nil
}

func parseSwitch(value string) (bool, error) {
	switch strings.ToLower(value) {
	case "on", "true", "yes", "1", "":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither 'on' nor 'off'", value)
}
