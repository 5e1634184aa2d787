package heights

import (
	"bytes"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
)

// BenchmarkTables makes the tables of a whole image as a lister of tables does: 4096
// functions, each with a frame, two paths and a call of its neighbour. It counts bytes
// of code; what is allocated is what the tables hold.
func BenchmarkTables(b *testing.B) {
	const functions = 4096
	function := []byte{
		0x53,                   // push %rbx
		0x48, 0x83, 0xec, 0x20, // sub $32,%rsp
		0x85, 0xff, // test %edi,%edi
		0x74, 0x08, // je 1f
		0x48, 0x89, 0xfb, // mov %rdi,%rbx
		0xe8, 0x0f, 0, 0, 0, // call the next function
		0x48, 0x83, 0xc4, 0x20, // 1: add $32,%rsp
		0x5b,                                     // pop %rbx
		0xc3,                                     // ret
		0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x66, 0x90, // nop
	}
	code, c := bytes.Repeat(function, functions), &symbols{}
	for i := range functions {
		c.entries = append(c.entries, 0x1000+uint64(i*len(function)))
	}
	ts := program(arch(b, "x86_64"), code, c)
	ts.entries.Certain()
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	for b.Loop() {
		fork := ts.Fork(func(entry uint64) bool { return true })
		for _, e := range c.entries {
			if fork.Of(disasm.Addr{PC: e}) == nil {
				b.Fatalf("%x has no table", e)
			}
		}
	}
}
