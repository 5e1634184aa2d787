package hostile

import "bytes"

// walkCases are stacks that a walk could go along for ever, or once more for each of its frames.
func walkCases() []Case {
	return []Case{
		{"signals", "a core of signals' frames that lie over one another", 1_000_000, signals(false)},
		{"circle", "a core of signals' frames that lead round", 1_000_000, signals(true)},
		{"level", "A64 code that its table says returns to a register, which it keeps", 1, level},
	}
}

// signals is a core stopped in a trampoline, whose frame interrupted another trampoline, and so on: n frames of struct
// rt_sigframe (arch/x86/include/asm/sigframe.h), of which RSP and RIP alone are of interest; round: the last leads to the first.
func signals(round bool) func(int) map[string][]byte {
	const stack, context, rip, rsp = 0x7000_0000, 40, 128, 120
	trampoline := []byte{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05, 0, 0, 0, 0, 0, 0, 0} // mov $15,%rax; syscall
	return func(n int) map[string][]byte {
		data := make([]byte, context+rsp)
		for i := range uint64(n) {
			next := (i + 1) * (rip - rsp + 8)
			if round && i+1 == uint64(n) {
				next = 0
			}
			data = words(data, 8, stack+next, text+16*((i+1)%2))
		}
		code := bytes.Repeat(trampoline, 2)
		status := make([]byte, 336) // struct elf_prstatus of x86-64
		le.PutUint64(status[112+16*8:], text)
		le.PutUint64(status[112+19*8:], stack)
		regs := note(1, status)
		at := uint64(headerSize + 3*phdrSize)
		codeAt, dataAt := at+uint64(len(regs)), at+uint64(len(regs)+len(code))
		segments := programHeaders([]segment{{typ: ptNote, off: at, size: uint64(len(regs))},
			{ptLoad, 5, codeAt, text, uint64(len(code)), uint64(len(code))}, {ptLoad, 6, dataAt, stack, uint64(len(data)), uint64(len(data))}})
		return map[string][]byte{capture: bytes.Join([][]byte{header(etCore, 3, 0, 0), segments, regs, code, data}, nil)}
	}
}

// level is a program of one call of itself, and a table with CFA=sp RA=x19.
func level(int) map[string][]byte {
	code := words(nil, 4, 0x9400_0000, 0xd65f_03c0) // bl .; ret
	frames := words(nil, 4, 20, 0)
	frames = append(frames, 1, 'z', 'R', 0, 1, 0x78, 30, 1, 0, 0x0c, 31, 0, 0x09, 30, 19, 0) // DW_CFA_def_cfa sp+0; DW_CFA_register x30 in x19
	frames = words(frames, 4, 24, uint64(len(frames)+4))
	frames = append(words(frames, 8, text, uint64(len(code))), 0, 0, 0, 0)
	img := image(code, []section{{name: ".eh_frame", typ: shtProgbits, data: frames}})
	le.PutUint16(img[18:], uint16(aarch64.elf))
	const regs = `{"arch":"aarch64","regs":{"pc":"0x401000","sp":"0x7000","lr":"0x401004","x19":"0x401004"},` +
		`"memory":[{"base":"0x7000","bytes":"AAAAAAAAAAAAAAAAAAAAAA=="}],"images":[{"path":"program","bias":"0x0"}]}`
	return map[string][]byte{capture: []byte(regs), program: img}
}
