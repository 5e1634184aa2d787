//go:build linux

package gcore

import (
	"encoding/binary"
	"testing"
)

// TestAgain: a call that its stop interrupted is made again, from its instruction on; one that the kernel repeats itself, and one that
// failed for another reason, are left alone.
func TestAgain(t *testing.T) {
	const wide, narrow = 27 * 8, 17 * 4
	for _, c := range []struct {
		name           string
		block          int
		result, number int64
		again          bool
	}{
		{"epoll_wait", wide, -4, 232, true},
		{"epoll_wait of i386", narrow, -4, 256, true},
		{"another error", wide, -9, 232, false},
		{"nanosleep, which the kernel repeats", wide, -516, 35, false},
		{"read, which a signal interrupted", wide, -4, 0, false},
		{"no call", wide, -4, -1, false},
		{"another processor", 34 * 8, -4, 232, false},
	} {
		k := callsOf(c.block)
		if k == nil {
			if again(make([]byte, c.block)) != nil {
				t.Errorf("%s: registers are changed", c.name)
			}
			continue
		}
		regs := make([]byte, c.block)
		put := func(word int, v int64) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(v))
			copy(regs[word*k.size:], b[:k.size])
		}
		put(k.result, c.result)
		put(k.number, c.number)
		put(k.pc, 0x401002)
		got := again(regs)
		if (got != nil) != c.again {
			t.Errorf("%s: again %v", c.name, got != nil)
		}
		if got == nil {
			continue
		}
		if pc, result := got[k.pc*k.size], got[k.result*k.size]; pc != 0 || result != byte(c.number) {
			t.Errorf("%s: PC …%02x, result %d", c.name, pc, result)
		}
	}
}
