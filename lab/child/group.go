//go:build linux

package child

import (
	"os/exec"
	"syscall"
)

// confine makes cmd the leader of a process group, which is killed as a whole, and has
// the kernel kill it when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG):
// the Go runtime keeps its threads, unless a goroutine dies that is locked to one.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
