package edges

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
)

// systemCalls is how many pointers to code, one behind the other, make the table of a kernel's system calls: Linux
// has some 450 of them (sys_call_table), and drivers' tables of functions are shorter.
const systemCalls = 256

// maxSystemCalls bounds how far the beginning of such a table is looked for.
const maxSystemCalls = 4096

// serves is where the table of system calls has the function, the first place where there are several; −1 where none has. Example: sys_write of
// Linux is there, and jumps to ksys_write.
func (c *callsTo) serves(p *program, entry disasm.Addr) (number int) {
	number = -1
	for _, h := range callIndexOf(p).wordsWith(entry.Key()) {
		if n, ok := inLongList(p.Img, h.at); ok && !isTraced(p.Img, h.at) && (number < 0 || n < number) {
			number = n
		}
	}
	return number
}

// inLongList tells how many pointers to code stand before a word, where the list of all is as long as that of system calls.
func inLongList(img *image.Image, at uint64) (before int, ok bool) {
	size := uint64(img.Arch.AddrSize)
	before = pointersFrom(img, at, -size, maxSystemCalls)
	return before, before+1+pointersFrom(img, at, size, systemCalls) >= systemCalls
}

// pointersFrom counts the pointers to code behind a word, step by step, at most so many.
func pointersFrom(img *image.Image, at, step uint64, most int) (n int) {
	for next := at + step; n < most; next += step {
		v, ok := img.Word(next)
		if !ok || !img.Segments.Executable(v) {
			break
		}
		n++
	}
	return n
}
