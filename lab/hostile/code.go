package hostile

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Code that is made to cost its analysis much: each of its functions leads to others, each
// place of its stack is behind a call that may have led to the one before.

// machine is a processor as its ELF files and snapshots name it, little-endian.
type machine struct {
	name  string // of snapshots
	elf   uint64 // e_machine
	flags uint64 // e_flags
	word  int    // bytes of an address
	align uint64 // of return addresses
	mode  uint64 // bit 0 of code addresses
	regs  string // further registers of the snapshot
}

// The machines of the cases, with e_flags of o32 and of the EABI.
var (
	x86     = machine{name: "x86_64", elf: emX86_64, word: 8, align: 1}
	thumb   = machine{name: "arm", elf: 40, flags: 0x05000400, word: 4, align: 2, regs: `,"cpsr":"0x20"`}
	mips    = machine{name: "mips", elf: 8, flags: 0x50001007, word: 4, align: 4}
	mips16  = machine{name: "mips", elf: 8, flags: 0x54001007, word: 4, align: 2, mode: 1}
	aarch64 = machine{name: "aarch64", elf: 183, word: 8, align: 4}
	riscv   = machine{name: "riscv64", elf: 243, flags: 5, word: 8, align: 2}
)

// codeCases are programs of nothing but code, as many bytes as they are long.
func codeCases() []Case {
	return []Case{
		{"thumb", "random Thumb code", 8_000_000, thumb.program(random)},
		{"mips16", "random MIPS16 code", 8_000_000, mips16.program(random)},
		{"aarch64", "random A64 code", 8_000_000, aarch64.program(random)},
		{"riscv", "random RISC-V code", 8_000_000, riscv.program(random)},
		{"x86", "random x86-64 code", 8_000_000, x86.program(random)},
		{"calls", "MIPS calls, branches, frames, returns", 16_000_000, mips.program(mipsFlow)},
		{"branches", "A64 calls, branches, frames, returns", 16_000_000, aarch64.program(aarch64Flow)},
		{"short", "conditional jumps of two bytes", 16_000_000, x86.program(shortJumps)},
		{"one call", "calls of one address", 16_000_000, x86.program(oneCall)},
		{"function", "a function of blocks that push", 1_000_000, x86.program(pushing)},
		{"switches", "jumps through one table", 2_000_000, x86.program(switches)},
		{"recursion", "functions that call one another", 16_000_000, x86.program(recursion)},
		{"false calls", "bytes that read as calls", 16_000_000, x86.program(falseCalls)},
		{"crowd", "2,000 threads amid random Thumb code, on one stack", 8_000_000, thumb.crowd(random)},
		{"crowd of calls", "the same amid MIPS calls, branches, frames, returns", 16_000_000, mips.crowd(mipsFlow)},
	}
}

// program is a snapshot in the middle of code of n bytes, with a stack of addresses of it.
func (m machine) program(fill func(rng *rand.Rand, n int) []byte) func(int) map[string][]byte {
	return func(n int) map[string][]byte {
		rng := rand.New(rand.NewPCG(1, 2))
		code := fill(rng, n)
		size := uint64(len(code))
		pc := text + (size/2&^15 | m.mode)
		regs := fmt.Sprintf(`"regs":{"pc":"%#x","sp":"0x70000000"%s}`, pc, m.regs)
		return map[string][]byte{capture: m.amid(rng, size, regs), program: m.file(code)}
	}
}

// crowd is the same with many threads, each somewhere in the code.
func (m machine) crowd(fill func(rng *rand.Rand, n int) []byte) func(int) map[string][]byte {
	const threads, slots = 2000, 8000
	return func(n int) map[string][]byte {
		rng := rand.New(rand.NewPCG(1, 2))
		code := fill(rng, n)
		size := uint64(len(code))
		var all []string
		for i := range threads {
			pc, sp := text+(rng.Uint64N(size)&^3|m.mode), 0x70000000+m.word*int(rng.Uint64N(slots))
			all = append(all, fmt.Sprintf(`{"id":%d,"regs":{"pc":"%#x","sp":"%#x"%s}}`, i+1, pc, sp, m.regs))
		}
		return map[string][]byte{capture: m.amid(rng, size, `"threads":[`+strings.Join(all, ",")+`]`), program: m.file(code)}
	}
}

// amid is a snapshot with a stack of addresses of size bytes of code; running says what runs.
func (m machine) amid(rng *rand.Rand, size uint64, running string) []byte {
	var stack []byte
	for range 8192 {
		stack = words(stack, m.word, text+(rng.Uint64N(size)&^(m.align-1)|m.mode))
	}
	return fmt.Appendf(nil, `{"arch":"%s","endian":"little",%s,"memory":[{"base":"0x70000000","bytes":"%s"}],"images":[{"path":"program","bias":"0x0"}]}`,
		m.name, running, base64.StdEncoding.EncodeToString(stack))
}

// file is an executable of one segment, code at text.
func (m machine) file(code []byte) []byte {
	const begin = 0x1000
	class := byte(2)
	if m.word == 4 {
		class = 1
	}
	h := append([]byte("\x7fELF"), class, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	h = words(h, 2, etExec, m.elf)
	h = words(h, 4, 1)
	size := uint64(len(code))
	if m.word == 8 {
		h = words(h, 8, text, headerSize, 0)
		h = words(h, 4, m.flags)
		h = words(h, 2, headerSize, phdrSize, 1, shdrSize, 0, 0)
		h = append(h, programHeaders([]segment{{ptLoad, 5, begin, text, size, size}})...)
	} else {
		const header32, phdr32, shdr32 = 52, 32, 40
		h = words(h, 4, text, header32, 0, m.flags)
		h = words(h, 2, header32, phdr32, 1, shdr32, 0, 0)
		h = words(h, 4, ptLoad, begin, text, text, size, size, 5, 0x1000)
	}
	return append(append(h, make([]byte, begin-len(h))...), code...)
}

// random is code of random bytes.
func random(rng *rand.Rand, n int) []byte {
	code := make([]byte, 0, n+8)
	for len(code) < n {
		code = le.AppendUint64(code, rng.Uint64())
	}
	return code
}

// of makes code n bytes long by steps that append some instructions.
func of(n int, code []byte, next func(code []byte) []byte) []byte {
	for len(code) < n {
		code = next(code)
	}
	return code
}

// mipsFlow is jal, b, bnez, addiu sp, sw ra, jr ra and nop at random.
func mipsFlow(rng *rand.Rand, n int) []byte {
	return of(n, nil, func(code []byte) []byte {
		x := rng.Uint32()
		all := [...]uint32{0x0c00_0000 | (text>>2 + x%uint32(n/4)), 0x1000_0000 | x&0xffff, 0x1440_0000 | x&0xffff,
			0x27bd_0000 | x&0xfff8, 0xafbf_0000 | x&0xfc, 0x03e0_0008, 0}
		return le.AppendUint32(code, all[rng.IntN(len(all))])
	})
}

// aarch64Flow is bl, b, cbz, sub sp, add sp, stp x29,x30, br x16 and ret at random.
func aarch64Flow(rng *rand.Rand, n int) []byte {
	return of(n, nil, func(code []byte) []byte {
		x := rng.Uint32()
		to := (x%uint32(n/4) - uint32(len(code)/4)) & 0x3ff_ffff
		all := [...]uint32{0x9400_0000 | to, 0x1400_0000 | to, 0xb400_0000 | x&0x7_ffff<<5, 0xd100_03ff | x&0x1f<<14,
			0x9100_03ff | x&0x1f<<14, 0xa9bf_7bfd, 0xd61f_0200, 0xd65f_03c0}
		return le.AppendUint32(code, all[rng.IntN(len(all))])
	})
}

func shortJumps(rng *rand.Rand, n int) []byte {
	return of(n, nil, func(code []byte) []byte { return append(code, 0x70+byte(rng.IntN(16)), byte(rng.Uint32())) })
}

// relative appends an instruction of x86 that ends with the distance to a place in the code.
func relative(code []byte, to int, opcode ...byte) []byte {
	code = append(code, opcode...)
	return le.AppendUint32(code, uint32(to-len(code)-4))
}

func oneCall(_ *rand.Rand, n int) []byte {
	return of(n, nil, func(code []byte) []byte { return relative(code, 0, 0xe8) })
}

// pushing is a function of blocks: je to one of them; inc %rax; push %rax.
func pushing(rng *rand.Rand, n int) []byte {
	const size = 10
	code := of(n, nil, func(code []byte) []byte {
		return append(relative(code, rng.IntN(n/size+1)*size, 0x0f, 0x84), 0x48, 0xff, 0xc0, 0x50)
	})
	return append(code, 0xc3)
}

// switches are jumps through the table that the code itself is: mov %edi,%eax;
// jmp *table(,%rax,8), where table has the addresses of such jumps.
func switches(rng *rand.Rand, n int) []byte {
	const elements, size = 1024, 9
	var code []byte
	for range elements {
		code = words(code, 8, text+8*elements+uint64(rng.IntN(n/size+1))*size)
	}
	return of(8*elements+n, code, func(code []byte) []byte {
		return le.AppendUint32(append(code, 0x89, 0xf8, 0xff, 0x24, 0xc5), text)
	})
}

// recursion is of functions of 16 bytes: push %rbx; call; call; pop %rbx; ret.
func recursion(rng *rand.Rand, n int) []byte {
	const size = 16
	return of(n, nil, func(code []byte) []byte {
		code = relative(append(code, 0x53), rng.IntN(n/size+1)*size, 0xe8)
		code = relative(code, rng.IntN(n/size+1)*size, 0xe8)
		return append(code, 0x5b, 0xc3, 0x90, 0x90, 0x90)
	})
}

// falseCalls are moves of a constant that holds e8 and a distance.
func falseCalls(rng *rand.Rand, n int) []byte {
	return of(n, nil, func(code []byte) []byte {
		return append(relative(append(code, 0x48, 0xb8), rng.IntN(n), 0xe8), 0xe8, 0xe8, 0xe8)
	})
}
