package lab

import (
	"errors"
	"testing"
)

func TestParseCPU(t *testing.T) {
	good := map[string]int64{"": 0, "2": 2000, "0.5": 500, "500m": 500, "1.25": 1250, "10m": 10, "1000": 1_000_000}
	for text, want := range good {
		got, err := ParseCPU(text)
		if err != nil || got != want {
			t.Errorf("ParseCPU(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"two", "-1", "0", "5m", "1e3", "1 000", "500M", "2 cores", "1001", ".5"} {
		if got, err := ParseCPU(text); err == nil {
			t.Errorf("ParseCPU(%q) = %d; want an error", text, got)
		}
	}
}

func TestParseBytes(t *testing.T) {
	good := map[string]int64{
		"": 0, "512Mi": 512 << 20, "2Gi": 2 << 30, "512MB": 512 << 20, "1GB": 1 << 30,
		"1.5Gi": 3 << 29, "2000000": 2_000_000, "200M": 200_000_000, "64 MB": 64 << 20,
	}
	for text, want := range good {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"500m", "lots", "-1Gi", "1k", "12", "99999999999999999999Gi", "1GiB", "$(id)"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d; want an error", text, got)
		}
	}
}

func TestSpecNamesTheColumn(t *testing.T) {
	_, err := Cluster{CPU: "1", Memory: "much"}.Spec("lab1")
	if !errors.Is(err, ErrInvalidSpec) || !Permanent(err) {
		t.Fatalf("error %v is not ErrInvalidSpec", err)
	}
	if want := `memory: "much" is not a size such as '512Mi', '2Gi' or '512MB'`; err.Error() != want {
		t.Errorf("error reads %q, want %q", err, want)
	}
}
