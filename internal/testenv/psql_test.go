package testenv

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPsqlReturnsWhatItPrintedAndItsStatus(t *testing.T) {
	url := Postgres(t, 16).URL("postgres")
	got := Psql(t.Context(), t, Call{
		Args:  []string{"-qAt", "-v", "ON_ERROR_STOP=1", "-f", "-", url},
		Stdin: "SHOW application_name;\n\\warn careful\nSELECT 1/0;\nSELECT 2;\n",
		Env:   []string{"PGAPPNAME=me"},
	})
	want := Output{Stdout: "me\n", Stderr: "careful\npsql:<stdin>:3: ERROR:  division by zero\n", Code: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("psql (-want +got):\n%s", diff)
	}
}

func TestPsqlIsInterruptedWhenTheContextEnds(t *testing.T) {
	server := Postgres(t, 16)
	conn := server.Connect(t, "postgres")
	if _, err := conn.Exec(t.Context(), "CREATE SEQUENCE watched"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Output)
	go func() {
		ended <- Psql(ctx, t, Call{
			Args:  []string{"-qAt", server.URL("postgres")},
			Stdin: "SELECT nextval('watched') \\watch 0.05\n",
		})
	}()
	eventually(t, "psql has watched twice", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), "SELECT last_value FROM watched").Scan(&n)
		return err == nil && n > 1
	})
	cancel()
	if got := <-ended; !strings.HasPrefix(got.Stdout, "1\n") {
		t.Errorf("psql printed %+v", got)
	}
}
