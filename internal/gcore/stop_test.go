//go:build linux

package gcore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/internal/procfs"
	"golang.org/x/sys/unix"
)

// TestEnded: a thread that has ended keeps nobody from looking at the others. The first thread of a process stays as a zombie while
// others go on; of a process of which no thread goes on it is said that it is a zombie.
func TestEnded(t *testing.T) {
	switch os.Getenv("BACKSIGHT_TEST_ENDS") {
	case "first":
		endFirst()
	case "all":
		return
	}
	for which, want := range map[string]string{"first": "", "all": "is a zombie"} {
		child := exec.Command(os.Args[0], "-test.run", "^TestEnded$")
		child.Env = append(os.Environ(), "BACKSIGHT_TEST_ENDS="+which)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		pid := child.Process.Pid
		for until := time.Now().Add(20 * time.Second); (&stopped{pid: pid}).state(pid) != 'Z' && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		runtime.LockOSThread()
		s, err := stop(pid)
		if said := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(said, want) && err != nil {
			t.Errorf("%s: %v", which, err)
		}
		if n := len(s.threads); (n > 0) != (which == "first") {
			t.Errorf("%s: %d threads", which, n)
		}
		s.release()
		runtime.UnlockOSThread()
		if _, err := Of(pid, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20}); (err == nil) != (want == "") {
			t.Errorf("%s: a core: %v", which, err)
		}
		living := procfs.Living(fmt.Sprintf("/proc/%d", pid))
		for _, link := range []string{"exe", "root", "ns/mnt"} { // what is asked for the program and its files
			if _, err := os.Readlink(filepath.Join(living, link)); (err == nil) != (which == "first") {
				t.Errorf("%s: %s: %v", which, link, err)
			}
		}
		_ = child.Process.Kill()
		_ = child.Wait()
	}
}

// endFirst ends the first thread of this process, wherever it is found.
func endFirst() {
	for range 64 {
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == unix.Getpid() {
				_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
			}
			select {}
		}()
	}
	time.Sleep(time.Minute)
}
