//go:build linux

package child

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// parentRole makes the test binary start a child, tell its process, and wait.
const parentRole = "BACKSIGHT_CHILD_PARENT"

// TestCancelKillsAll: a shell and what it started are gone with the context.
func TestCancelKillsAll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := Command(ctx, "sh", "-c", "sleep 60 & echo $!; wait")
	grandchild := start(t, cmd)
	if !alive(grandchild) {
		t.Fatalf("process %s does not run", grandchild)
	}
	cancel()
	cmd.Wait()
	gone(t, grandchild)
}

// TestDeadlineKills: a program that is late is killed, and waited for no longer.
func TestDeadlineKills(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := Command(ctx, "sh", "-c", "sleep 3600 & sleep 3600").Run(); err == nil {
		t.Error("the program came to its end")
	}
}

// TestDiesWithParent: nobody is left to cancel, for the parent was killed.
func TestDiesWithParent(t *testing.T) {
	if os.Getenv(parentRole) != "" {
		cmd := Command(context.Background(), "sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Println(cmd.Process.Pid)
		cmd.Wait()
		return
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestDiesWithParent$")
	parent.Env = append(os.Environ(), parentRole+"=1")
	child := start(t, parent)
	if !alive(child) {
		t.Fatalf("process %s does not run", child)
	}
	parent.Process.Kill()
	parent.Wait()
	gone(t, child)
}

// start runs cmd and returns the first line that it prints, a process.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// alive tells whether a process runs; one that nobody has waited for yet does not.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func gone(t *testing.T, pid string) {
	t.Helper()
	for range 500 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %s still runs", pid)
}
