package macho

import "github.com/backsight/backsight/internal/bin"

// The opcodes of dyld's bind and rebase programs (mach-o/loader.h): the upper four bits; the
// lower are an immediate.
const (
	opcodeMask    = 0xf0
	immediateMask = 0x0f

	bindDone           = 0x00
	bindOrdinalImm     = 0x10
	bindOrdinalULEB    = 0x20
	bindSpecialImm     = 0x30
	bindSymbol         = 0x40
	bindTypeImm        = 0x50
	bindAddend         = 0x60
	bindSegment        = 0x70
	bindAddAddr        = 0x80
	bindDo             = 0x90
	bindDoAddAddr      = 0xa0
	bindDoAddAddrImm   = 0xb0
	bindDoTimesSkipped = 0xc0
	// Programs of the first arm64e systems list symbols, and then where chains begin that
	// refer to these by number.
	bindThreaded      = 0xd0
	threadedTableSize = 0
	threadedApply     = 1
)

// binder runs a bind program.
type binder struct {
	f    *file
	r    bin.Reader
	lazy bool // programs of one word each, with "done" between them
	left int  // words that may still be bound
	// bound is told what each word is bound to; moved, where it is set, which addresses of the
	// image the chains have.
	bound func(at uint64, name string)
	moved func(target uint64) bool

	name     string // in the source's spelling, one string for all words that are bound to it
	at       uint64
	threaded bool
	table    []string // of a threaded program
}

func (b *binder) run() {
	for b.r.Len() > 0 && b.r.Err() == nil && b.left > 0 {
		if op := b.r.U8(); !b.step(op&opcodeMask, uint64(op&immediateMask)) {
			return
		}
	}
}

// step executes an opcode. It reports false at the end of the program.
func (b *binder) step(op byte, imm uint64) bool {
	r, word := &b.r, b.f.addrSize()
	switch op {
	case bindDone:
		return b.lazy
	case bindOrdinalImm, bindSpecialImm, bindTypeImm:
	case bindOrdinalULEB, bindAddend: // SLEB128 has the same length
		r.ULEB()
	case bindSymbol:
		b.name = ""
		if name := r.CBytes(); len(name) <= maxName {
			b.name = plainName(name)
		}
	case bindSegment:
		b.at = b.f.inSegment(imm, r.ULEB())
	case bindAddAddr:
		b.at += r.ULEB()
	case bindDo:
		b.bind(0)
	case bindDoAddAddr:
		b.bind(r.ULEB())
	case bindDoAddAddrImm:
		b.bind(imm * word)
	case bindDoTimesSkipped:
		times, skip := r.ULEB(), r.ULEB()
		for ; times > 0 && b.left > 0; times-- {
			b.bind(skip)
		}
	case bindThreaded:
		return b.thread(imm)
	default:
		return false
	}
	return true
}

// bind notes the word at the current address, and goes on skip bytes behind it. A threaded program
// lists a symbol by it.
func (b *binder) bind(skip uint64) {
	b.left--
	if b.threaded {
		b.table = append(b.table, b.name)
		return
	}
	if b.name != "" && b.bound != nil {
		b.bound(b.at, b.name)
	}
	b.at += skip + b.f.addrSize()
}

// thread executes the opcode of threaded programs: it begins the list of symbols, or follows the
// chain at the current address, whose words are those of the first format of chained fixups.
func (b *binder) thread(imm uint64) bool {
	switch imm {
	case threadedTableSize:
		b.r.ULEB()
		b.threaded, b.table = true, nil
	case threadedApply:
		b.f.follow(chain{format: ptrARM64E, at: b.at, end: ^uint64(0)}, func(at uint64, l link) bool {
			b.left--
			switch {
			case !l.bind:
				return b.left > 0 && (b.moved == nil || b.moved(l.target))
			case b.bound != nil && uint64(l.ordinal) < uint64(len(b.table)):
				b.bound(at, b.table[l.ordinal])
			}
			return b.left > 0
		})
	default:
		return false
	}
	return true
}
