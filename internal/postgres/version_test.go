package postgres

import (
	"slices"
	"testing"
)

func TestParseVersionRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "",
		"major alone":         "17",
		"three parts":         "9.6.24",
		"trailing words":      "17.10 (Debian)",
		"unknown stage":       "18gamma1",
		"beta without number": "18beta",
		"zero major":          "0.1",
	} {
		t.Run(name, func(t *testing.T) {
			if version, err := ParseVersion(text); err == nil {
				t.Errorf("ParseVersion(%q) = %v, want an error", text, version)
			}
		})
	}
}

func TestVersionsOrderByAge(t *testing.T) {
	ordered := []string{"14.9", "14.23", "18devel", "18alpha1", "18beta1", "18beta2", "18rc1", "18.0", "18.4", "19rc1"}
	var versions []Version
	for _, text := range ordered {
		version, err := ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version)
	}
	if !slices.IsSortedFunc(versions, Version.Compare) {
		t.Errorf("%v is not in order", versions)
	}
	if versions[0].Compare(versions[1]) >= 0 {
		t.Error("14.9 is not before 14.23")
	}
}
