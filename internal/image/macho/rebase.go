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
	w := rebased{f: f, word: c.img.Word, yield: yield, left: budget.New("rebased words", 0, 2*c.img.Segments.LoadedBytes()/f.addrSize())}
	if f.fixups.size != 0 {
		fixups := f.chained()
		fixups.each(w.chain)
	} else {
		w.opcodes()
	}
	if !w.some || w.left.Err() != nil {
		return false
	}
	for _, e := range c.exported.of(f) {
		w.value(e.addr)
	}
	return w.left.Err() == nil
}

// rebased reports the words that move with an image.
type rebased struct {
	f     *file
	word  func(addr uint64) (uint64, bool) // what the file has at an address
	yield func(uint64) bool
	r     bin.Reader // the rebase program
	at    uint64
	left  budget.Budget // each word moves once
	some  bool
	done  bool
}

// chain reports the words of a chain of fixups.
func (w *rebased) chain(ch chain) bool {
	return w.draw() && w.f.follow(ch, func(_ uint64, l link) bool {
		if l.bind {
			return w.draw()
		}
		return w.value(l.target)
	})
}

// draw accounts for a step; it returns false where there are no more.
func (w *rebased) draw() bool {
	w.done = w.done || !w.left.Draw(1)
	return !w.done
}

// opcodes runs dyld's rebase program, and the program of threaded binds, whose chains move words
// as well.
func (w *rebased) opcodes() {
	w.r = bin.New(w.f.slice(w.f.rebase), false)
	w.run()
	threads := binder{f: w.f, r: bin.New(w.f.slice(w.f.binds[0]), false), left: int(w.left.Left()), moved: w.value}
	threads.run()
}

// value reports an address; it returns false where no more are wanted.
func (w *rebased) value(v uint64) bool {
	w.some = true
	w.done = !w.draw() || !w.yield(v)
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
	r, word := &w.r, w.f.addrSize()
	switch op {
	case rebaseTypeImm:
	case rebaseSegment:
		w.at = w.f.inSegment(imm, r.ULEB())
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
		if v, ok := w.word(w.at); ok {
			w.value(v)
		} else {
			w.draw()
		}
		w.at += w.f.addrSize() + skip
	}
}
