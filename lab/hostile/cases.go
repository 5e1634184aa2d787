package hostile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Case is an input of some megabytes that cost an unwinder gigabytes or minutes once.
type Case struct {
	Name string
	What string
	// files makes the input of size n; the first is the capture. n is what makes the
	// case as heavy as it is at Scale 1.
	n     int
	files func(n int) map[string][]byte
}

// Files makes the input at size n; the capture is named "capture".
func (c *Case) Files(n int) map[string][]byte { return c.files(n) }

// capture is the name of what bt is given; program that of what it names.
const capture, program = "capture", "program"

// Cases are the inputs of the laboratory: each parser, each loop that input can drive.
func Cases() []Case {
	return append([]Case{
		{"threads", "a snapshot of empty threads", 3_000_000, list("threads", `{}`)},
		{"memory", "a snapshot of runs of a byte", 500_000, list("memory", `{"base":1,"bytes":"AA=="}`)},
		{"images", "a snapshot of binaries that are nowhere", 300_000, list("images", `{"path":"none"}`)},
		{"mappings", "a core of mappings", 1_000_000, mappings},
		{"notes", "note segments over the same notes", 2_000, notes},
		{"segments", "executable segments over the same code", 2_000, segments},
		{"inlines", "calls inlined in one another", 1_500_000, debug([]byte{3, 0, 0, 0, 0}, nil)},
		{"siblings", "calls inlined beside one another", 1_500_000, debug([]byte{3, 0, 0, 0, 0, 0}, nil)},
		{"blocks", "nested lexical blocks", 30_000_000, debug([]byte{4}, nil)},
		{"rows", "rows of a line table at one address", 30_000_000, debug(nil, []byte{1})},
		{"sequences", "line tables of one row", 1_500_000, debug(nil, oneRow)},
		{"symbols", "symbols nested in one another", 2_000_000, symbols},
		{"relocations", "imports, in three tables that are one", 1_500_000, relocations},
		{"unwinding", "frame description entries", 1_500_000, unwinding},
		{"lines", "a log of empty lines", 30_000_000, lines},
		{"oopses", "a kernel's log of short reports", 100_000, repeated("", oops)},
		{"faults", "a microcontroller's log of short reports", 100_000, repeated("", fault)},
		{"words", "lines that may each begin a report of a microcontroller", 500_000, repeated("", "#1 0x20001234\n")},
		{"dump", "registers, and rows of memory without an end", 500_000, repeated(fault, "20001000: 08000101 20001000 fffffffd 00000000\n")},
		{"line", "a line of registers", 2_000_000, repeated("", "PC : 08000101 ")},
		{"alike", "a line of registers, whose pieces are alike", 1_750_000, repeated("", "PC  : 08000101  ")},
		{"records", "JSON without messages", 3_000_000, repeated(`{"msg":"x"}`+"\n", `"msg":[`)},
		{"columns", "CSV of empty messages", 6_000_000, repeated("n,log\n", "1,\n")},
		{"pieces", "pieces of a log without lines", 1_500_000, repeated("", "Panic#1 Part1\n")},
		{"broken", "a log of broken lines", 300_000, repeated("Call trace:\n", "[    0.000000] [<c0100000>] (leaf) from [<c0100010>]\n(mid+0x10/0x20)\n")},
		{"quoted", "marks of quoted mail", 6_000_000, repeated("", "> > \n")},
	}, slices.Concat(codeCases(), appleCases(), openingCases(), walkCases(), recordingCases())...)
}

// The shortest reports that are read: of a kernel, of a fault handler.
const (
	oops  = "Internal error: Oops: 5 [#1] SMP ARM\nCPU: 0 PID: 1 Comm: sh\nPC is at 0xc0100000\npc : [<c0100000>]    lr : [<c0100010>]    psr: 60000013\n---[ end trace 0 ]---\n"
	fault = "R0 = 00000000 R1 = 00000000 R2 = 00000000 R3 = 00000000 R12 = 00000000\nLR = 08000101 PC = 08000200 xPSR = 61000000\n\n"
)

// repeated is a log: a text n times behind another.
func repeated(begin, text string) func(int) map[string][]byte {
	return func(n int) map[string][]byte {
		return map[string][]byte{capture: []byte(begin + strings.Repeat(text, n))}
	}
}

// list is a snapshot with an array of n equal elements.
func list(member, element string) func(int) map[string][]byte {
	return func(n int) map[string][]byte {
		all := strings.Repeat(element+",", max(0, n-1)) + element
		return map[string][]byte{capture: []byte(`{"arch":"x86_64","regs":{"pc":"0x1000","sp":"0x2000"},"` + member + `":[` + all + `]}`)}
	}
}

// through is a snapshot of three frames' worth of stack in a binary.
func through(img []byte, at ...uint64) map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	for _, pc := range at {
		var stack []byte
		for range 64 {
			stack = words(stack, 8, text+rng.Uint64N(4096))
		}
		fmt.Fprintf(&lines, `{"arch":"x86_64","regs":{"pc":"%#x","sp":"0x7000"},"memory":[{"base":"0x7000","bytes":"%s"}],"images":[{"path":"program","bias":"0x0"}]}`+"\n",
			pc, base64.StdEncoding.EncodeToString(stack))
	}
	return map[string][]byte{capture: lines.Bytes(), program: img}
}

// nops is a page of code.
func nops() []byte { return bytes.Repeat([]byte{0x90}, 4096) }

func mappings(n int) map[string][]byte {
	status := make([]byte, 336) // struct elf_prstatus of x86-64
	le.PutUint64(status[112+16*8:], text)
	regs := note(1, status)
	at := uint64(headerSize + phdrSize*(n+1))
	all := []segment{{typ: ptNote, off: at, size: uint64(len(regs))}}
	for i := range uint64(n) {
		all = append(all, segment{ptLoad, 6, 0, 0x10000 * (i + 1), 16, 16})
	}
	section0 := make([]byte, shdrSize) // PN_XNUM: sh_info has the number
	le.PutUint32(section0[44:], uint32(n+1))
	h := header(etCore, n+1, at+uint64(len(regs)), 1)
	return map[string][]byte{capture: bytes.Join([][]byte{h, programHeaders(all), regs, section0}, nil)}
}

func notes(n int) map[string][]byte {
	const size = 4 << 20
	var more []segment
	for range n {
		more = append(more, segment{ptNote, 4, codeAt(n) + 4096, 0x900000, size, size})
	}
	return through(image(append(nops(), make([]byte, size)...), nil, more...), text)
}

func segments(n int) map[string][]byte {
	code := make([]byte, 450_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range code {
		code[i] = byte(rng.Uint32())
	}
	var more []segment
	for i := range uint64(n) {
		more = append(more, segment{ptLoad, 5, codeAt(n), 0x1000000 * (i + 1), uint64(len(code)), uint64(len(code))})
	}
	return through(image(code, nil, more...), text+100)
}

// callsThrough is a page of calls through the word behind each.
func callsThrough() []byte { return bytes.Repeat([]byte{0xff, 0x15, 0, 0, 0, 0, 0x90, 0x90}, 512) }

// relocations is a binary whose dynamic section names one table as that of all kinds of
// relocations.
func relocations(n int) map[string][]byte {
	const dynamicAt, tableAt = text + 4096, text + 8192
	size := uint64(24 * n)
	dynamic := words(nil, 8, 5, text, 6, text, 10, 64, // DT_STRTAB, DT_SYMTAB, DT_STRSZ
		7, tableAt, 8, size, 17, tableAt, 18, size, 23, tableAt, 2, size, 20, 7, 0, 0) // DT_RELA, DT_REL, DT_JMPREL, their sizes, DT_PLTREL
	code := append(callsThrough(), dynamic...)
	code = append(code, make([]byte, 4096-len(dynamic))...)
	for i := range uint64(n) {
		code = words(code, 8, text+i, 1<<32|6, 0) // R_X86_64_GLOB_DAT of symbol 1
	}
	return through(image(code, nil, segment{ptDynamic, 6, codeAt(1) + 4096, dynamicAt, uint64(len(dynamic)), uint64(len(dynamic))}), text+8, text+96)
}

// unwinding is a binary with an .eh_frame of the shortest entries.
func unwinding(n int) map[string][]byte {
	frames := words(nil, 4, 16, 0)
	frames = append(frames, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0, 0, 0) // a CIE: absolute addresses
	for i := range uint64(n) {
		frames = words(frames, 4, 24, uint64(len(frames)+4))
		frames = words(frames, 8, text+i, 1)
		frames = append(frames, 0, 0, 0, 0)
	}
	return through(image(callsThrough(), []section{{name: ".eh_frame", typ: shtProgbits, data: frames}}), text+8, text+96)
}

func lines(n int) map[string][]byte {
	return map[string][]byte{capture: append([]byte("[    0.000000] Linux version 6.1.0\n"), bytes.Repeat([]byte{'\n'}, n)...)}
}

func symbols(n int) map[string][]byte {
	code := bytes.Repeat([]byte{0x90}, 2*n+16)
	table := make([]byte, 24)
	for i := range uint64(n) {
		table = words(table, 4, 1)
		table = append(table, 0x12, 0, 1, 0) // a global function of section 1
		table = words(table, 8, text+i, 2*(uint64(n)-i))
	}
	return through(image(code, []section{
		{name: ".symtab", typ: shtSymtab, link: 3, entrySize: 24, data: table},
		{name: ".strtab", typ: shtStrtab, data: []byte("\x00f\x00")},
	}), text+8, text+uint64(n))
}
