package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
)

// version names the build: the commit, as far as the toolchain recorded it,
// and the start of the program's own checksum, which tells two builds of one
// commit apart.
func version() string {
	return revision() + "+" + checksum()
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value[:min(12, len(setting.Value))]
		}
	}
	return "development"
}

func checksum() string {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return "unknown"
	}
	defer program.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(sum.Sum(nil))[:8]
}
