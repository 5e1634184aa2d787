//go:build linux

package main

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

// TestDeathOf: the kernel's arguments; a descriptor of a process that is another's, or none any more, makes the ID worthless.
func TestDeathOf(t *testing.T) {
	const pidfdOpen = 434 // of most processors
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(os.Getpid()), 0, 0)
	if errno != 0 {
		t.Skip(errno)
	}
	own, pidfd := strconv.Itoa(os.Getpid()), strconv.Itoa(int(fd))
	for _, c := range []struct {
		args  []string
		gone  bool
		wrong bool
	}{
		{[]string{own, own, "11", "1700000000"}, false, false},
		{[]string{own, own, "11", "1700000000", ""}, false, false},
		{[]string{own, own, "11", "1700000000", pidfd}, false, false},
		{[]string{"1", "1", "11", "1700000000", pidfd}, true, false},
		{[]string{own, own, "11", "1700000000", "99999"}, false, false},
		{[]string{own, own, "11"}, false, true},
		{[]string{own, own, "x", "1700000000", pidfd}, false, true},
	} {
		d, err := deathOf(c.args)
		if d.gone != c.gone || (err != nil) != c.wrong {
			t.Errorf("%q: gone %t, %v", c.args, d.gone, err)
		}
		if exe, _ := os.Readlink("/proc/self/exe"); !c.gone && !c.wrong && d.program != exe {
			t.Errorf("%q: program %q", c.args, d.program)
		}
	}
}
