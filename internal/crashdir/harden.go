//go:build linux

package crashdir

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Harden makes this process a handler of crashes: it stands back behind others, ends in time, and its own crash is dumped to nobody.
func Harden(nice int, limit time.Duration) {
	// What fails here leaves the process as it was. The kernel itself refuses the dump of a handler (RLIMIT_CORE 1, fs/coredump.c), but not
	// of one that a script started.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	seconds := uint64(limit/time.Second) + 2
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds})
	tasks, _ := filepath.Glob("/proc/self/task/*") // threads that come later have the niceness of those that start them
	for _, t := range tasks {
		if tid, err := strconv.Atoi(filepath.Base(t)); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0o600)
}

// Spare is how many bytes of memory the machine has for new programs (proc(5), /proc/meminfo, since Linux 3.14); 0 where that is not told.
func Spare() uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) { // MemAvailable:   24980 kB
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
			kb, _ := strconv.ParseUint(f[1], 10, 44)
			return kb << 10
		}
	}
	return 0
}

// Heard tells whether anybody reads standard error: the kernel gives its handlers none, and Go's runtime opens the null device.
func Heard() bool {
	var st unix.Stat_t
	return unix.Fstat(2, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || uint64(st.Rdev) != unix.Mkdev(1, 3)
}

// Log writes a line to the kernel's log or, where there is none (CONFIG_PRINTK), to the system's.
func Log(line string) { logTo("/dev/kmsg", "/dev/log", line) }

// logTo writes a line to the first of a kernel's log and a system's socket that takes it. <3> is KERN_ERR (Linux,
// Documentation/ABI/testing/dev-kmsg), <11> an error of a user's program (RFC 3164, 4.1.1).
func logTo(kmsg, syslog, line string) {
	line = "backsight: " + line[:min(len(line), 800)]
	if f, err := os.OpenFile(kmsg, os.O_WRONLY, 0); err == nil {
		_, err = f.WriteString("<3>" + line + "\n")
		_ = f.Close()
		if err == nil {
			return
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return // nobody is left to tell
	}
	_ = unix.Sendto(fd, []byte("<11>"+line), 0, &unix.SockaddrUnix{Name: syslog})
	_ = unix.Close(fd)
}
