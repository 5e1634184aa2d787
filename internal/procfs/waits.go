package procfs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Wait is what a thread waits for in the kernel.
type Wait struct {
	State   byte   // as /proc/PID/stat has it: S, D
	Channel string // the kernel's function that it sleeps in; "" where that is not told
	Call    string // the system call; "" where the kernel's stack may not be read
}

// Waits are the threads of a process that wait, by ID. Those that run are left out.
func Waits(dir string) map[int]Wait {
	list := map[int]Wait{}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
	for _, task := range tasks {
		tid, _ := strconv.Atoi(filepath.Base(task))
		stat, _ := os.ReadFile(filepath.Join(task, "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ") // a name may have such an end, too; its state is wrong then
		if rest == "" || rest[0] != 'S' && rest[0] != 'D' {
			continue
		}
		w := Wait{State: rest[0]}
		if channel, _ := os.ReadFile(filepath.Join(task, "wchan")); string(channel) != "0" {
			w.Channel = string(channel)
		}
		stack, _ := os.ReadFile(filepath.Join(task, "stack"))
		w.Call = systemCall(string(stack))
		list[tid] = w
	}
	return list
}

// systemCall is the system call that a kernel's stack began with, "" for none:
//
//	[<0>] __x64_sys_clock_nanosleep+0xce/0x140
func systemCall(stack string) (name string) {
	for line := range strings.Lines(stack) {
		if _, symbol, ok := strings.Cut(line, "] "); ok {
			if _, call, ok := strings.Cut(symbol, "sys_"); ok {
				name, _, _ = strings.Cut(strings.TrimSpace(call), "+")
			}
		}
	}
	return name
}
