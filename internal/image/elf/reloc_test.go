package elf

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

// relocated are assembler sources with a relocation of each type that Link knows, by the prefix
// of the binutils for the processor.
var relocated = []struct {
	tools, flags, source string
}{
	{"x86_64-linux-gnu", "--64", `
f:	call ext
	call ext@PLT
	mov $ext, %rdi
	mov ext, %eax
	.quad ext + 8, ext - .
	.long ext - .`},
	{"x86_64-linux-gnu", "--32", `
f:	call ext
	mov $ext + 4, %edi
	.long ext - .`},
	{"aarch64-linux-gnu", "", `
f:	bl ext
	b ext
	adrp x0, ext
	add x0, x0, :lo12:ext
	ldrb w1, [x0, :lo12:ext]
	ldrh w1, [x0, :lo12:ext]
	ldr w1, [x0, :lo12:ext]
	ldr x1, [x0, :lo12:ext]
	ldr q1, [x0, :lo12:ext]
	adr x2, near
	adrp x3, behind
	adrp x3, behind + 0x1000
	adr x4, behind
	adr x4, behind + 1
	bl behind
	cbz x2, near
	tbz x2, 3, near
	.xword ext + 8, ext - .
	.word ext, ext - .
	.hword low, near - .`},
	{"arm-linux-gnueabihf", "-march=armv7-a", `
	.syntax unified
	.arm
f:	bl ext
	b ext
	bleq ext
	bl behind
	movw r0, #:lower16:ext
	movt r0, #:upper16:ext
	.word ext + 4, ext - .
	.thumb
	bl thumb
	b.w thumb
	.globl thumb
	.thumb_func
thumb:	bx lr`},
	{"mips-linux-gnu", "-mips32r2 -mabi=32 -mno-shared -non_shared -mno-pdr", mipsSource},
	{"mipsel-linux-gnu", "-mips32r2 -mabi=32 -mno-shared -non_shared -mno-pdr", mipsSource},
	{"mips64-linux-gnuabi64", "-mips64r2 -mabi=64 -mno-shared -mno-pdr", `
	.set noreorder
f:	jal ext
	nop
	lui $2, %highest(ext + 0x9000)
	daddiu $2, $2, %higher(ext + 0x9000)
	lui $3, %hi(ext + 0x9000)
	lw $3, %lo(ext + 0x9000)($3)
	.dword ext + 8
	.word ext + 4`},
	{"riscv64-linux-gnu", "", `
	.option norelax
f:	call ext
	jal near
	call behind
	jal behind
	beq a0, a1, close
	bgeu a0, a1, close
	.dword ext + 8
	.word near - f
	.dword near - f
	.globl close
close:	ret`},
}

const mipsSource = `
	.set noreorder
f:	jal ext
	nop
	lui $2, %hi(ext + 0x9000)
	addiu $2, $2, %lo(ext + 0x9000)
	lui $3, %hi(ext)
	lw $3, %lo(ext)($3)
	lw $4, %lo(ext)($3)
	.word ext + 4`

// TestRelocations: what Link makes of a section of code is what GNU ld makes of it.
func TestRelocations(t *testing.T) {
	for _, tt := range relocated {
		t.Run(tt.tools+tt.flags, func(t *testing.T) {
			const base = 0x10000
			symbols := map[string]uint64{"ext": 0x17a50, "near": 0x10400, "low": 0x1234, "behind": 0xd124}
			dir := t.TempDir()
			source, object, linked := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a")
			if err := os.WriteFile(source, []byte("\t.text\n\t.globl f"+tt.source+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			tool(t, tt.tools+"-as", append(strings.Fields(tt.flags), "-o", object, source)...)
			args := []string{"-Ttext", fmt.Sprintf("%#x", uint64(base)), "-e", "f", "-o", linked, object}
			if strings.HasPrefix(tt.tools, "riscv") {
				args = append(args, "--no-relax")
			}
			if tt.flags == "--32" {
				args = append(args, "-m", "elf_i386")
			}
			for name, addr := range symbols {
				args = append(args, "--defsym", fmt.Sprintf("%s=%#x", name, addr))
			}
			tool(t, tt.tools+"-ld", args...)
			want, got := textOf(t, read(t, linked)), textOf(t, link(t, read(t, object), base, symbols))
			if len(want) == 0 || !bytes.Equal(got, want) {
				t.Errorf("% x, ld makes\n% x", got, want)
			}
		})
	}
}

// tool runs a program, and skips the test where there is none.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func link(t *testing.T, object []byte, base uint64, symbols map[string]uint64) []byte {
	t.Helper()
	linked, err := Link("a.o", object, Placement{Base: base, Resolve: func(name string) (uint64, bool) {
		addr, ok := symbols[name]
		return addr, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	return linked
}

// textOf is the code of a linked file.
func textOf(t *testing.T, data []byte) []byte {
	t.Helper()
	f, err := newFile(&image.File{Name: "a", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.section(".text")
	return s.Data
}
