package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/internal/lab"
)

func TestSplitLinesNumbersOnFromWhereItWas(t *testing.T) {
	got := splitLines([]byte("one\r\n\ntwo\nunfinished"), 7)
	want := []lab.LogLine{{Line: 8, Text: "one"}, {Line: 9, Text: ""}, {Line: 10, Text: "two"}, {Line: 11, Text: "unfinished"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
