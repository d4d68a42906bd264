package testenv

import "testing"

func TestBuildMakesAProgramForEveryUser(t *testing.T) {
	path, err := build("./internal/testenv/testdata/hello", "hello")
	if err != nil {
		t.Fatal(err)
	}
	account, err := findAccount()
	if err != nil {
		t.Fatal(err)
	}
	output, err := account.command(path).CombinedOutput()
	if err != nil || string(output) != "hello\n" {
		t.Errorf("as the servers' user it printed %q: %v", output, err)
	}
}

func TestANamedBinaryMustBeAProgram(t *testing.T) {
	t.Setenv("PGLAB_BINARY", "bin/pglab")
	if path, err := findBinary(); err == nil {
		t.Errorf("a relative path gave %s", path)
	}
	t.Setenv("PGLAB_BINARY", "/bin/sh")
	if path, err := findBinary(); err != nil || path != "/bin/sh" {
		t.Errorf("/bin/sh gave %q: %v", path, err)
	}
}
