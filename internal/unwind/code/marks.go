package code

import "github.com/backsight/backsight/cpu"

// marks is a set of places in an image's code: a bit for each address at which an
// instruction can begin, and mode. It takes an eighth of the code's size at most.
type marks struct {
	arch *cpu.Arch
	runs []markRun
}

type markRun struct {
	lo, size uint64
	bits     []uint64
}

func newMarks(an *analysis) *marks {
	m := &marks{arch: an.arch}
	an.text(func(addr uint64, code []byte) {
		n := uint64(len(code))/an.arch.InsnAlign + 1
		if an.arch.ISABit {
			n *= 2
		}
		m.runs = append(m.runs, markRun{addr, uint64(len(code)), make([]uint64, n/64+1)})
	})
	return m
}

// bit finds the word and the mask of a place; nil outside the code.
func (m *marks) bit(addr uint64, mode cpu.Mode) (*uint64, uint64) {
	for i := range m.runs {
		r := &m.runs[i]
		if addr-r.lo >= r.size {
			continue
		}
		k := (addr - r.lo) / m.arch.InsnAlign
		if m.arch.ISABit {
			k = k<<1 | uint64(mode)
		}
		return &r.bits[k/64], 1 << (k % 64)
	}
	return nil, 0
}

// has tells whether a place is in the set; places outside the code are, so that
// nobody goes there.
func (m *marks) has(addr uint64, mode cpu.Mode) bool {
	w, mask := m.bit(addr, mode)
	return w == nil || *w&mask != 0
}

// add puts a place into the set and tells whether it is new.
func (m *marks) add(addr uint64, mode cpu.Mode) bool {
	w, mask := m.bit(addr, mode)
	if w == nil || *w&mask != 0 {
		return false
	}
	*w |= mask
	return true
}
