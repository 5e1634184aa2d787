package macho

import (
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

const (
	rebaseDone         = 0x00
	rebaseTypeImm      = 0x10
	rebaseSegment      = 0x20
	rebaseAddAddr      = 0x30
	rebaseAddAddrImm   = 0x40
	rebaseTimesImm     = 0x50
	rebaseTimes        = 0x60
	rebaseAddAddrAfter = 0x70
	rebaseTimesSkipped = 0x80
)

// Rebased calls yield for the value of every word that dyld moves together with the image, and
// for what the file exports, until it returns false. It tells whether these are all that hold
// addresses of the image: not in programs that are loaded where they were linked, nor where
// what dyld goes by was removed.
func (c *container) Rebased(yield func(value uint64) bool) bool {
	f := c.main
	if !c.img.Relocatable {
		return false
	}
	w := rebased{c: c, yield: yield, left: budget.New("rebased words", 0, 2*c.img.LoadedBytes()/f.addrSize())}
	if f.fixups.size != 0 {
		fixups := f.chained()
		fixups.each(w.value)
	} else {
		w.r = bin.New(f.slice(f.rebase), false)
		w.run()
	}
	if !w.some || w.left.Err() != nil {
		return false
	}
	for _, e := range c.exported() {
		w.value(e.addr)
	}
	return w.left.Err() == nil
}

// rebased runs dyld's rebase program.
type rebased struct {
	c     *container
	yield func(uint64) bool
	r     bin.Reader
	at    uint64
	left  budget.Budget // each word moves once
	some  bool
	done  bool
}

// value reports an address; it returns false where no more are wanted.
func (w *rebased) value(v uint64) bool {
	w.some = true
	w.done = w.done || !w.left.Draw(1) || !w.yield(v)
	return !w.done
}

func (w *rebased) run() {
	for w.r.Len() > 0 && w.r.Err() == nil && !w.done {
		op := w.r.U8()
		if !w.step(op&opcodeMask, uint64(op&immediateMask)) {
			return
		}
	}
}

func (w *rebased) step(op byte, imm uint64) bool {
	r, word := &w.r, w.c.main.addrSize()
	switch op {
	case rebaseTypeImm:
	case rebaseSegment:
		w.at = w.c.main.inSegment(imm, r.ULEB())
	case rebaseAddAddr:
		w.at += r.ULEB()
	case rebaseAddAddrImm:
		w.at += imm * word
	case rebaseTimesImm:
		w.words(imm, 0)
	case rebaseTimes:
		w.words(r.ULEB(), 0)
	case rebaseAddAddrAfter:
		w.words(1, r.ULEB())
	case rebaseTimesSkipped:
		times := r.ULEB()
		w.words(times, r.ULEB())
	default: // rebaseDone, or what nobody knows
		return false
	}
	return true
}

// words reports n words, with skip bytes behind each.
func (w *rebased) words(n, skip uint64) {
	for ; n > 0 && !w.done; n-- {
		if v, ok := w.c.img.Word(w.at); ok {
			w.value(v)
		} else {
			w.done = !w.left.Draw(1)
		}
		w.at += w.c.main.addrSize() + skip
	}
}
