package hostile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// watch returns the largest resident set of a process, in bytes, once done is closed; 0
// where the system does not tell. It is VmHWM of proc(5), looked at each millisecond:
// what getrusage(2) says of a child counts the memory of its parent, which it has until
// exec.
func watch(pid int, done <-chan struct{}) (peak int64) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	for {
		peak = max(peak, HighWater(path))
		select {
		case <-done:
			return peak
		case <-time.After(time.Millisecond):
		}
	}
}

// HighWater is the largest resident set that a status file of proc(5) tells, in bytes; 0
// where there is none.
func HighWater(path string) int64 { return statusBytes(path, "VmHWM:") }

// resident is the resident set of a process, in bytes.
func resident(pid int) int64 { return statusBytes(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:") }

func statusBytes(path, field string) int64 {
	status, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == field {
			kB, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return kB << 10
		}
	}
	return 0
}
