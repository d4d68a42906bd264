package task

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endOrder is how pgbench is told to end, each after one more endPatience:
// on SIGINT, pgbench -i also cancels the statement that the server is at.
var endOrder = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}

const endPatience = time.Second

// waitFor returns when the program has ended, by itself or because it was
// asked for.
func waitFor(cmd *exec.Cmd, asked <-chan os.Signal) {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its error repeats the state
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-asked:
	}
	for _, signal := range endOrder {
		_ = cmd.Process.Signal(signal) // it may have ended by now
		select {
		case <-ended:
			return
		case <-time.After(endPatience):
		}
	}
	<-ended
}
