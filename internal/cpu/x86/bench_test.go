package x86

import (
	"debug/elf"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// benchText is real code: the section .text of the C library.
func benchText(b testing.TB) []byte {
	f, err := elf.Open("/usr/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		b.Skip("no C library: ", err)
	}
	defer f.Close()
	text, err := f.Section(".text").Data()
	if err != nil {
		b.Skip(err)
	}
	return text
}

func BenchmarkCalls(b *testing.B) {
	text := benchText(b)
	d := decoder{long: true}
	refs := make([]cpu.CallRef, 0, len(text)/8)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		refs = d.Calls(text, 0, 0, refs[:0])
	}
}

func BenchmarkCallBefore(b *testing.B) {
	text := benchText(b)
	d := decoder{long: true}
	at := 16
	for b.Loop() {
		d.CallBefore(text[at-16:at], uint64(at), 0)
		if at++; at == len(text) {
			at = 16
		}
	}
}
