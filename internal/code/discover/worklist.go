package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// worklist are the places that a sweep goes on from, the latest first. Places above max are
// not taken: in 16 MB of nothing but branches each would be one.
type worklist struct {
	places []place
	handed []handed // of the places that have some, in their order
	max    int
}

// place is a place to go on from.
type place struct {
	key   uint64
	entry bool // a function begins there
	hands bool // constants are handed on
}

// handed are constants in registers at the jump that leads to a place. MIPS16
// code, which cannot address by gp, copies gp to s0 or s1 at its beginning and reads the
// GOT through that register in every block.
type handed [2]constantIn

// constantIn is a register that holds a constant, if it does.
type constantIn struct {
	reg   cpu.Reg
	value int64
	is    bool
}

// somePlaces is what a work list holds of any image: honest programs of 1 MB, whose
// functions are few thousand, need some hundred places.
const somePlaces = 1 << 16

// placesFor bounds the places of a work list for the code of an image: one for each 64 bytes.
func placesFor(code disasm.Code) int { return somePlaces + textSize(code)/64 }

func (w *worklist) push(at disasm.Addr, entry bool, h handed) {
	if len(w.places) >= w.max {
		return
	}
	w.places = append(w.places, place{at.Key(), entry, h[0].is})
	if h[0].is {
		w.handed = append(w.handed, h)
	}
}

func (w *worklist) pop() (key uint64, entry bool, h handed) {
	p := w.places[len(w.places)-1]
	w.places = w.places[:len(w.places)-1]
	if p.hands {
		h = w.handed[len(w.handed)-1]
		w.handed = w.handed[:len(w.handed)-1]
	}
	return p.key, p.entry, h
}
