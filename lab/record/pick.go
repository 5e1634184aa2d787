package record

// picker spreads the captures of a program over functions and kinds of places in
// one pass: each function has a few captures of each kind, and a place is taken
// once.
type picker struct {
	keep  int
	taken int
	seen  map[uint64]bool
	count map[stratum]int
	kinds map[string]int
	last  int
}

type stratum struct {
	kind     string
	function uint64
}

// perStratum is how many captures of one kind one function has.
const perStratum = 2

// share is how much of all captures one kind may have.
var share = map[string]int{kindEntry: 15, kindPrologue: 25, kindBody: 25, kindEpilogue: 25, kindLeaf: 10, kindNoCFI: 10, kindSignal: 20}

// gap is how many instructions lie between two captures of a body, which says the
// same at each of them.
const gap = 5

// wants decides and remembers.
func (p *picker) wants(kind string, function, pc uint64, step int) bool {
	if p.seen == nil {
		p.seen, p.count, p.kinds = map[uint64]bool{}, map[stratum]int{}, map[string]int{}
	}
	s := stratum{kind, function}
	switch {
	case p.seen[pc] && kind != kindSignal, p.count[s] >= p.most(kind), p.kinds[kind]*100 >= share[kind]*p.keep,
		kind == kindBody && step-p.last < gap:
		return false
	}
	p.seen[pc] = true
	p.count[s]++
	p.kinds[kind]++
	p.taken++
	p.last = step
	return true
}

// most: prologues and epilogues differ from one instruction to the next.
func (p *picker) most(kind string) int {
	if kind == kindPrologue || kind == kindEpilogue || kind == kindSignal {
		return 2 * perStratum
	}
	return perStratum
}

func (p *picker) full() bool { return p.taken >= p.keep }
