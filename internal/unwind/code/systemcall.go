package code

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
)

// systemCalls is how many pointers to code, one behind the other, make the table of a kernel's system calls: Linux
// has some 450 of them (sys_call_table), and drivers' tables of functions are shorter.
const systemCalls = 256

// serves tells whether the table of system calls has the function. Example: sys_write of Linux is there, and jumps to
// ksys_write.
func (c *callsTo) serves(p *program, entry disasm.Addr) bool {
	for _, h := range callIndexOf(p).wordsWith(entry.Key()) {
		if !isTraced(p.Img, h.at) && inLongList(p.Img, h.at) {
			return true
		}
	}
	return false
}

// inLongList tells whether a word is of a list of pointers to code that is as long as that of system calls.
func inLongList(img *image.Image, at uint64) bool {
	size := uint64(img.Arch.AddrSize)
	n := 1
	for _, step := range [...]uint64{-size, size} {
		for next := at + step; n < systemCalls; next += step {
			v, ok := img.Word(next)
			if !ok || !img.Segments.Executable(v) {
				break
			}
			n++
		}
	}
	return n >= systemCalls
}
