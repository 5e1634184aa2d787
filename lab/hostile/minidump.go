package hostile

import "slices"

// Types of a minidump's streams.
const (
	mdThreads = 3
	mdModules = 4
	mdMemory  = 5
	mdSystem  = 7
	mdNames   = 24
)

// minidump is a dump for x86-64 of a thread without memory, with streams; a body refers to itself by its offset.
func minidump(bodies map[uint32]func(at uint32) []byte) []byte {
	types := []uint32{mdSystem, mdThreads, mdModules, mdMemory, mdNames}
	const header, entry, context = 32, 12, 1232
	at := uint32(header + entry*len(types))
	out := words([]byte("MDMP"), 4, 0xa793, uint64(len(types)), header, 0, 0)
	out = words(out, 8, 0)
	var data []byte
	for _, t := range types {
		body := bodies[t]
		if body == nil {
			body = func(uint32) []byte { return words(nil, 4, 0) }
		}
		b := body(at + uint32(len(data)))
		out = words(out, 4, uint64(t), uint64(len(b)), uint64(at)+uint64(len(data)))
		data = append(data, b...)
	}
	return append(append(out, data...), make([]byte, context)...)
}

// x86System says that a dump is of Linux on x86-64.
func x86System(uint32) []byte {
	return append(words(nil, 4, 9, 0, 0, 0, 0, 0x8201), make([]byte, 32)...)
}

// mdThread is a thread whose registers lie at an offset.
func mdThread(id, context uint64) []byte {
	return words(words(words(nil, 4, id, 0, 0, 0), 8, 0, 0), 4, 0, 0, 1232, context)
}

// dumpThreads is a dump of n threads with the same registers.
func dumpThreads(n int) map[string][]byte {
	return map[string][]byte{capture: minidump(map[uint32]func(uint32) []byte{
		mdSystem: x86System,
		mdThreads: func(at uint32) []byte {
			return append(words(nil, 4, uint64(n)), slices.Repeat(mdThread(1, uint64(at)), n)...)
		},
	})}
}

// dumpRanges is a dump of n overlapping ranges of memory; dumpNames of n threads that share a long name.
func dumpRanges(n int) map[string][]byte {
	return map[string][]byte{capture: minidump(map[uint32]func(uint32) []byte{
		mdSystem:  x86System,
		mdThreads: func(at uint32) []byte { return append(words(nil, 4, 1), mdThread(1, uint64(at))...) },
		mdMemory: func(uint32) []byte {
			b := words(nil, 4, uint64(n))
			for i := range n {
				b = words(words(b, 8, uint64(i)), 4, 1<<20, 0)
			}
			return b
		},
	})}
}

func dumpNames(n int) map[string][]byte {
	return map[string][]byte{capture: minidump(map[uint32]func(uint32) []byte{
		mdSystem:  x86System,
		mdThreads: func(at uint32) []byte { return append(words(nil, 4, 1), mdThread(1, uint64(at))...) },
		mdNames: func(at uint32) []byte {
			b := words(nil, 4, uint64(n))
			for i := range n {
				b = words(words(b, 4, uint64(i)), 8, uint64(at))
			}
			return b
		},
	})}
}
