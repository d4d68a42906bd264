package process

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOrdinaryUser runs the suite as a user who may make no groups: rows
// without limits work, and their usage comes from /proc.
func TestOrdinaryUser(t *testing.T) {
	account := testAccount(t)
	if account == nil {
		t.Skip("we are one: TestConformance is this test")
	}
	// The test binary lies where only we may read.
	dir := testDir(t)
	binary := filepath.Join(dir, "process.test")
	copyProgram(t, binary)
	home := filepath.Join(dir, "tmp")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, account.UID, account.GID); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^(TestConformance|TestLife)$", "-test.v")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(account.UID), Gid: uint32(account.GID)}}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(copied, from); err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
}
