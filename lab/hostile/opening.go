package hostile

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// memory is the name of what bt is given as memory beside a binary.
const memory = "memory"

// arguments are those that the command opens files with.
func arguments(files map[string][]byte) []string {
	if files[memory] != nil {
		return []string{"bt", "-e", program, "--ram", memory}
	}
	return []string{"bt", capture}
}

// openingCases are captures whose counts, places and lists cost much while they are opened.
func openingCases() []Case {
	return []Case{
		{"top", "memory that touches the last address", 64, topOfMemory},
		{"pointers", "memory of pointers into itself", 1_000_000, pointers},
		{"bitmap", "a kdump that has each second page, as its bitmap says", 4_000_000, bitmap},
		{"descriptors", "a kdump of one packed page, over and over", 100_000, descriptors},
		{"registers", "a core of threads with a register block each", 100_000, registers},
		{"frames", "a crash report in JSON of one thread with many frames", 500_000, frames},
		{"quote", "CSV with a quote that nobody closed", 10_000_000, repeated("n,log\n1,\"", "x\n")},
		{"dump threads", "a minidump of threads that share their registers", 400_000, dumpThreads},
		{"dump ranges", "a minidump of overlapping memory", 1_000_000, dumpRanges},
		{"dump names", "a minidump of threads that share a long name", 1_000_000, dumpNames},
		{"letters", "a log of lines of a letter", 10_000_000, repeated("", "x\n")},
	}
}

// text64 is memory in TI-TXT, which says where it lies.
func text64(at uint64, data []byte) []byte {
	out := fmt.Appendf(nil, "@%x\n", at)
	for len(data) > 0 {
		n := min(16, len(data))
		out = fmt.Appendf(out, "% x\n", data[:n])
		data = data[n:]
	}
	return append(out, "q\n"...)
}

func topOfMemory(n int) map[string][]byte {
	return map[string][]byte{program: image(nops(), nil), memory: text64(-uint64(n), make([]byte, n))}
}

// pointers are n words, each the address of another.
func pointers(n int) map[string][]byte {
	const at = 0x2000_0000
	var data []byte
	for i := range uint64(n) {
		data = words(data, 8, at+8*(i*7919%uint64(n)))
	}
	return map[string][]byte{program: image(nops(), nil), memory: text64(at, data)}
}

// kdump is a dump whose two bitmaps are alike; the blocks of 64 KB are packed by zlib.
func kdump(bits []byte, descriptors int) []byte {
	const block = 64 << 10
	out := make([]byte, 2*block)
	copy(out, "KDUMP   ")
	le.PutUint32(out[8:], 6)
	copy(out[12+4*65:], "x86_64")
	blocks := (len(bits) + block - 1) / block
	le.PutUint32(out[428:], block)
	le.PutUint32(out[432:], 1)
	le.PutUint32(out[436:], uint32(2*blocks))
	for range 2 {
		out = append(append(out, bits...), make([]byte, blocks*block-len(bits))...)
	}
	var page bytes.Buffer
	z := zlib.NewWriter(&page)
	_, _ = z.Write(bytes.Repeat([]byte("page"), block/4)) // into memory
	_ = z.Close()
	at := uint64(len(out) + 24*descriptors)
	for range descriptors {
		out = words(words(words(out, 8, at), 4, uint64(page.Len()), 1), 8, 0)
	}
	return append(out, page.Bytes()...)
}

func bitmap(n int) map[string][]byte {
	return map[string][]byte{capture: kdump(bytes.Repeat([]byte{0x55}, n/8+1), 0)}
}

func descriptors(n int) map[string][]byte {
	return map[string][]byte{capture: kdump(bytes.Repeat([]byte{0xff}, n/8+1), n)}
}

func registers(n int) map[string][]byte {
	status := make([]byte, 336) // struct elf_prstatus of x86-64
	le.PutUint64(status[112+16*8:], text)
	le.PutUint64(status[112+19*8:], 0x7000)
	all := bytes.Repeat(note(1, status), n)
	at := uint64(headerSize + 2*phdrSize)
	h := header(etCore, 2, 0, 0)
	segments := programHeaders([]segment{{typ: ptNote, off: at, size: uint64(len(all))}, {ptLoad, 6, at + uint64(len(all)), 0x7000, 4096, 4096}})
	return map[string][]byte{capture: bytes.Join([][]byte{h, segments, all, make([]byte, 4096)}, nil)}
}

func frames(n int) map[string][]byte {
	const frame = `{"imageOffset":16,"imageIndex":0}`
	return map[string][]byte{capture: []byte(`{"bug_type":"309"}` + "\n" + `{"cpuType":"ARM-64","threads":[{"frames":[` +
		strings.Repeat(frame+",", max(0, n-1)) + frame + `]}]}`)}
}
