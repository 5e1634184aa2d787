package callsite

import (
	"iter"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// nearBits are the bits of addresses that are in memory together: Linux maps this much of a file for
// a look at one byte.
const nearBits = 1 << 16

// farBit bounds OneBitAway: a larger text than 16 MB is rare. Functions that far apart may well have
// frames of one size: setjmp tests on MIPS, with calls at 0x400e40 and 0x440e40.
const farBit = 1 << 24

// OneBitAway are the image addresses in text that lie behind a call and, where m is mapped, differ from
// at in one bit; and that call.
func OneBitAway(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) iter.Seq2[uint64, cpu.CallSite] {
	return func(yield func(uint64, cpu.CallSite) bool) {
		for bit := max(m.Image.Arch.InsnAlign, 1); bit < farBit; bit <<= 1 {
			far := m.ToImage(m.ToTarget(at)^bit) & m.Image.Arch.AddrMask()
			if call, ok := callAt(m, text, far, bit, mode); ok && !yield(far, call) {
				return
			}
		}
	}
}

// OneBitAwayMoved are the further image addresses that OneBitAway has where m is mapped elsewhere, if m moves at
// all: one bit adds its value to an address or takes that away, as the address and so the bias have it. The bits
// within a page are the same everywhere.
func OneBitAwayMoved(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) iter.Seq2[uint64, cpu.CallSite] {
	return func(yield func(uint64, cpu.CallSite) bool) {
		for bit := uint64(pageSize); bit < farBit && moves(m); bit <<= 1 {
			far := (2*at - m.ToImage(m.ToTarget(at)^bit)) & m.Image.Arch.AddrMask()
			if call, ok := callAt(m, text, far, bit, mode); ok && !yield(far, call) {
				return
			}
		}
	}
}

// Neighbour is a return address that is one bit from another.
type Neighbour struct {
	Module *target.Module
	PC     uint64 // a target address
	Call   cpu.CallSite
}

// OneBitAwayAnywhere are the return addresses that differ from pc, a target address, in one bit: those in m that
// OneBitAway has, and those in other modules. m may be nil.
func OneBitAwayAnywhere(snap *target.Snapshot, m *target.Module, pc uint64, mode cpu.Mode) iter.Seq[Neighbour] {
	return func(yield func(Neighbour) bool) {
		for bit := max(snap.Arch.InsnAlign, 1); bit != 0 && bit <= snap.Arch.AddrMask(); bit <<= 1 {
			far := pc ^ bit
			other, ok := snap.ModuleAt(far - 1)
			if !ok || other.Image == nil || other.Image.Arch.Decoder == nil || other == m && bit >= farBit {
				continue
			}
			at := other.ToImage(far) & other.Image.Arch.AddrMask()
			text, ok := other.Image.Segments.At(at - 1)
			if !ok || !text.Exec {
				continue
			}
			if call, ok := callAt(other, text, at, bit, mode); ok && !yield(Neighbour{other, far, call}) {
				return
			}
		}
	}
}

// pageSize is the least unit in which images are moved.
const pageSize = 1 << 12

// DependsOnBias tells whether OneBitAway has far for at because m lies where it does.
func DependsOnBias(m *target.Module, at, far uint64) bool {
	return moves(m) && max(at, far)-min(at, far) >= pageSize
}

// moves tells whether an image may lie elsewhere. Linux for x86 is linked to one address, and moves all the same.
func moves(m *target.Module) bool { return m.Image.Relocatable || m.Bias != 0 }

// callAt is the call that returns to an address, which differs in a bit from one that was looked at.
func callAt(m *target.Module, text *image.Segment, at, bit uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	code, ok := before(text, at)
	if !ok {
		return cpu.CallSite{}, false
	}
	if bit >= nearBits {
		code = m.Image.Files.Peek(code)
	}
	return callIn(m, code, at, mode)
}
