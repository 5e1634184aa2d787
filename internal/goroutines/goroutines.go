// Package goroutines reads what Go's runtime keeps in a program's memory: every goroutine, where it stands, what it waits for, who
// started it. Nothing of that is exported, symbols may be stripped, and places in structures change from version to version. So places are
// found by what lies there:
//
//	runtime.allgs   a slice in the program's data; its first element is the g of the main goroutine
//	g.sched.g       a g has its own address there, in the tenth word since Go 1.5
//	g.goid          of the main goroutine 1, right behind its status
//	g.startpc       of the main goroutine the address of runtime.main, which pclntab names
//	m.procid        the ID of a thread that the capture has
//	wait reasons    an array of strings in the program's data, the second "GC assist marking"
//
// Specifications: runtime/runtime2.go, types g, gobuf and m, waitReasonStrings; runtime/proc.go, allgs, gopark, isSystemGoroutine;
// runtime/traceback.go, goroutineheader; those of Go 1.19 to 1.26.
package goroutines

import (
	"encoding/binary"

	"github.com/backsight/backsight/target"
)

// Memory reads a program's memory: Read copies bytes from addr on, and returns how many there were.
type Memory interface {
	Read(addr uint64, dst []byte) int
}

// Reader reads words of a program.
type Reader struct {
	Memory
	Word int // bytes of an address
	Big  bool
}

func (r Reader) order() binary.ByteOrder {
	if r.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// at is the i-th word of a block.
func (r Reader) at(block []byte, i int) uint64 {
	b := block[i*r.Word:]
	if r.Word == 4 {
		return uint64(r.order().Uint32(b))
	}
	return r.order().Uint64(b)
}

// WordAt is the word at an address, 0 where there is none.
func (r Reader) WordAt(addr uint64) uint64 {
	var b [8]byte
	if r.Read(addr, b[:r.Word]) < r.Word {
		return 0
	}
	return r.at(b[:], 0)
}

// Places of a g's fields that all versions have, in words: stack.lo and hi, the innermost panic, m, sched.sp, pc and g.
const stackLo, stackHi, panicOf, mOf, schedSP, schedPC, schedG = 0, 1, 4, 6, 7, 8, 9

// SizeG is how many bytes of a g are looked at: startpc, the last field, is at 304 bytes at most, of 32 bits at 192.
func (r Reader) SizeG() int {
	if r.Word == 4 {
		return 256
	}
	return 384
}

// G reads a g; false for what is none.
func (r Reader) G(addr uint64, dst []byte) bool {
	return addr != 0 && r.Read(addr, dst) == len(dst) && r.isG(addr, dst)
}

// isG tells whether a block is a g; one that has ended may have no stack.
func (r Reader) isG(addr uint64, g []byte) bool {
	return r.at(g, schedG) == addr && r.at(g, stackLo) < r.at(g, stackHi)
}

// List is runtime.allgs, which is at Variable: Count addresses at Array.
type List struct {
	Variable, Array uint64
	Count           int
}

// maxGoroutines bounds a list: a g and its stack take 2.4 kB at least, so that many take 10 GB.
const maxGoroutines = 1 << 22

// chunk is how much of the data is read at once.
const chunk = 64 << 10

// words calls yield for each address of a word in some ranges and what is from there on, up to three words and until it returns false.
func (r Reader) words(ranges []target.Range, yield func(addr uint64, block []byte) bool) {
	buf := make([]byte, chunk+2*r.Word)
	for _, data := range ranges {
		for lo := data.Lo; lo < data.Hi; lo += chunk {
			n := r.Read(lo, buf[:min(uint64(len(buf)), data.Hi-lo)])
			if n == 0 {
				break // the rest is not there
			}
			for off := 0; off+3*r.Word <= n; off += r.Word {
				if !yield(lo+uint64(off), buf[off:off+3*r.Word]) {
					return
				}
			}
		}
	}
}

// Find looks for runtime.allgs in a program's data, and calls is for what has its shape until it returns true.
func (r Reader) Find(data []target.Range, is func(List) bool) (l List, ok bool) {
	g := make([]byte, r.SizeG())
	r.words(data, func(addr uint64, block []byte) bool {
		if l = r.list(addr, block); l.Count == 0 {
			return true
		}
		ok = r.G(r.WordAt(l.Array), g) && r.layout(g) != 0 && is(l)
		return !ok
	})
	return l, ok
}

// list is what is in a variable, if that is a list; one of none else.
func (r Reader) list(addr uint64, block []byte) List {
	array, count, room := r.at(block, 0), r.at(block, 1), r.at(block, 2)
	if count == 0 || count > room || room > maxGoroutines || array == 0 || array%uint64(r.Word) != 0 {
		return List{}
	}
	return List{addr, array, int(count)}
}

// List is what is in a variable by now.
func (r Reader) List(addr uint64) List {
	block := make([]byte, 3*r.Word)
	if r.Read(addr, block) < len(block) {
		return List{}
	}
	return r.list(addr, block)
}

// layout is where the main goroutine's g has its goid, in bytes: a number 1 of 64 bits behind a status and a lock of 32 bits each.
// 0: it is no such g.
func (r Reader) layout(g []byte) int {
	const known, scan = 12, 0x1000
	for at := 12 * r.Word; at+8 <= 24*r.Word; at += r.Word {
		status, lock := r.order().Uint32(g[at-8:])&^scan, r.order().Uint32(g[at-4:])
		if r.order().Uint64(g[at:]) == 1 && status > 0 && status < known && lock <= 1 {
			return at
		}
	}
	return 0
}

// Each calls yield for the address of each g of a list, and what is there, until it returns false. It returns how many are not in memory.
func (r Reader) Each(l List, yield func(addr uint64, g []byte) bool) (missing int) {
	buf, g := make([]byte, chunk), make([]byte, r.SizeG())
	for done := 0; done < l.Count; {
		n := r.Read(l.Array+uint64(done*r.Word), buf[:min(chunk, (l.Count-done)*r.Word)]) / r.Word
		for i := range n {
			addr := r.at(buf, i)
			if r.Read(addr, g) < len(g) {
				missing++
			} else if r.isG(addr, g) && !yield(addr, g) {
				return missing
			}
		}
		if done += n; n == 0 {
			return missing + l.Count - done
		}
	}
	return missing
}

// Stack is what of a goroutine's stack is in use while it does not run, and all of it.
func (r Reader) Stack(g []byte) (used, all target.Range) {
	all = target.Range{Lo: r.at(g, stackLo), Hi: r.at(g, stackHi)}
	sp := r.at(g, schedSP)
	return target.Range{Lo: min(max(sp, all.Lo), all.Hi), Hi: all.Hi}, all
}

// M is the address of the m that runs a goroutine, 0 for none.
func (r Reader) M(g []byte) uint64 { return r.at(g, mOf) }
