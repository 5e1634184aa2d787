package kernellog

import "testing"

// TestHasRegisters: rows of registers as kernels print them, and lines that have colons and no values.
func TestHasRegisters(t *testing.T) {
	for text, want := range map[string]bool{
		"RAX: 0000000000000010 RBX: ffff888100a51d80":                   true,
		"epc : ffffffff80004e6a ra : ffffffff80004e6a":                  true,
		"$ 4   : 00000004 00000000 00000000 817e7ca0":                   true,
		"pc : leaf+0x18/0x24 lr : mid+0x20/0x2c":                        true,
		"Nov 27 12:00:05 box systemd[1]: Started Session 5 of user toy": false,
		"pc : deadbee lr : 1234567":                                     false,
		"pc: 12345678":                                                  false,
	} {
		if got := hasRegisters(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
