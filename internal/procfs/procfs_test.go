package procfs

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestParseMapping: what the lines of /proc/PID/maps say, with names that have blanks, and without.
func TestParseMapping(t *testing.T) {
	for line, want := range map[string]Mapping{
		"7f5ccf516000-7f5ccf66b000 r-xp 00026000 fe:00 326269                     /usr/lib/libc.so.6\n": {0x7f5ccf516000, 0x7f5ccf66b000, 0x26000, "r-xp", "/usr/lib/libc.so.6", 326269},
		"00400000-00452000 r--p 00000000 08:02 173521      /opt/my  app (deleted)":                      {0x400000, 0x452000, 0, "r--p", "/opt/my  app (deleted)", 173521},
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n":                                            {0x7f0000000000, 0x7f0000001000, 0, "rwxp", "", 0},
		"7f08b87c4000-7f08b87c6000 r-xp 00000000 00:00 0                          [vdso]":               {0x7f08b87c4000, 0x7f08b87c6000, 0, "r-xp", "[vdso]", 0},
	} {
		if got, ok := ParseMapping(line); !ok || got != want {
			t.Errorf("%q: %+v %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "x", "1000-1000 r-xp 0 0:0 0 /a", "1000-2000 r-xp", "1000 r-xp 0 0:0 0 /a", "1000-2000 r-xp zz 0:0 0 /a", "1000-2000 r-xp 0 0:0 z /a"} {
		if m, ok := ParseMapping(line); ok {
			t.Errorf("%q: %+v", line, m)
		}
	}
}

// TestNames: threads have the names of their comm files, by the IDs of this machine and by those of their container, which a kernel
// before 4.1 does not tell.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	for tid, files := range map[string][2]string{"4711": {"netd\n", "Name:\tnetd\nNSpid:\t4711\t1\n"}, "4715": {"a b\n", "NSpid:\t4715\t7\t2\n"}, "4716": {"old\n", "Name:\told\n"}} {
		task := filepath.Join(dir, "task", tid)
		if err := os.MkdirAll(task, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"comm", "status"} {
			if err := os.WriteFile(filepath.Join(task, name), []byte(files[i]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := ThreadNames(dir); !maps.Equal(got, map[int]string{4711: "netd", 4715: "a b", 4716: "old"}) {
		t.Errorf("%v", got)
	}
	if got := InnerNames(dir); !maps.Equal(got, map[int]string{1: "netd", 2: "a b", 4716: "old"}) {
		t.Errorf("in the container: %v", got)
	}
}

// TestSystemCall: the outermost function of a kernel's stack that serves a system call says which.
func TestSystemCall(t *testing.T) {
	for stack, want := range map[string]string{
		"[<0>] hrtimer_nanosleep+0x74/0xf0\n[<0>] __x64_sys_clock_nanosleep+0xce/0x140\n[<0>] do_syscall_64+0x71/0x280\n": "clock_nanosleep",
		"[<0>] __arm64_sys_futex+0x1/0x2\n": "futex", "[<c0>] sys_poll+0x1/0x2\n": "poll", "[<0>] kthread+0x1/0x2\n": "", "": "", "sys_\n": "",
	} {
		if got := systemCall(stack); got != want {
			t.Errorf("%q: %q, want %q", stack, got, want)
		}
	}
}
