package hostile

import (
	"bytes"
	"strings"
)

// appleCases are the captures and binaries of macOS.
func appleCases() []Case {
	return []Case{
		{"plcrash", "a PLCrashReporter report of empty threads", 5_000_000, plcrash},
		{"crash", "a crash report of threads of a frame", 1_000_000, crashText},
		{"ips", "a crash report in JSON of empty threads", 3_000_000, ips},
		{"trie", "a Mach-O exports trie that spells ever longer names", 500_000, trie},
		{"fixups", "Mach-O chains of fixups, all of one page", 1_000_000, fixups},
	}
}

func plcrash(n int) map[string][]byte {
	report := []byte("plcrash\x01\x0a\x04\x08\x01\x18\x04") // of an x86-64 program
	return map[string][]byte{capture: append(report, bytes.Repeat([]byte{0x1a, 0}, n)...)}
}

func crashText(n int) map[string][]byte {
	return map[string][]byte{capture: []byte("Incident Identifier: 1\nCode Type: ARM-64\n" + strings.Repeat("Thread 1:\n0 a 0x1\n", n))}
}

func ips(n int) map[string][]byte {
	return map[string][]byte{capture: []byte(`{"bug_type":"309"}` + "\n" + `{"cpuType":"ARM-64","threads":[{}` + strings.Repeat(",{}", n) + "]}")}
}

// Load commands of Mach-O that refer to a table (mach-o/loader.h).
const exportsTrie, chainedFixups = 0x8000_0033, 0x8000_0034

// machO is a Mach-O program of a page of code with a table in __LINKEDIT.
func machO(command uint64, table []byte) []byte {
	const size = 0x2000
	end := uint64(size + len(table))
	cmds := words(nil, 4, 0x19, 72)
	cmds = append(cmds, "__TEXT\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	cmds = words(words(cmds, 8, text, size, 0, size), 4, 5, 5, 0, 0)
	cmds = words(cmds, 4, 0x19, 72)
	cmds = append(cmds, "__LINKEDIT\x00\x00\x00\x00\x00\x00"...)
	cmds = words(words(cmds, 8, text+size, end-size, size, end-size), 4, 1, 1, 0, 0)
	cmds = words(cmds, 4, command, 16, size, uint64(len(table)))
	out := append(words(nil, 4, 0xfeed_facf, 0x0100_0007, 3, 2, 3, uint64(len(cmds)), 0x20_0000, 0), cmds...)
	out = append(out, make([]byte, 0x1000-len(out))...)
	return append(append(out, nops()...), table...)
}

// trie is a chain of nodes, each a name that is a byte longer than the one before.
func trie(n int) map[string][]byte {
	var t []byte
	for i := range n {
		next := uint64(i+1) * 13
		t = append(t, 5, 0, 0x80, 0xa0, 0x80, 0, 1, 'a', 0) // flags, offset 0x1000; an edge
		for k := range 4 {
			t = append(t, byte(next>>(7*k))&0x7f|0x80)
		}
		t[len(t)-1] &= 0x7f
	}
	return through(machO(exportsTrie, t), text+0x1000)
}

// fixups is a segment whose pages all have the chains of one list.
func fixups(n int) map[string][]byte {
	const pages = 0xffff
	t := words(nil, 4, 0, 28, 0, 0, 0, 1, 0, 1, 8)
	t = words(t, 4, 0, 0x1000|6<<16, 0, 0, 0)
	t = append(t, 0xff, 0xff)
	t = append(t, bytes.Repeat([]byte{1, 0x80}, pages)...)
	return through(machO(chainedFixups, append(t, make([]byte, n)...)), text+0x1000)
}
