package stackwalk

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// MaxCost bounds the instructions that code analysis executes for one walk. A frame of an
// ordinary program takes some thousand, once; in 8 MB of random bytes each of a thousand
// return addresses takes a hundred thousand.
const MaxCost = 3_000_000

// The walks through all threads of a capture may cost together what allowanceFloor says, and more
// for large programs: one instruction for bytesPerCost bytes of code. The thousand threads of a
// server run the same functions, which are paid once: the hundred tasks of a kernel take 190,000 instructions in all.
// Two thousand threads amid random bytes would take an hour without this bound.
const allowanceFloor, bytesPerCost = MaxCost, 8

// briefLimit is the limit of cost below which a walk asks for brief answers only. An answer that is
// not brief may take up to a third of MaxCost, and is not broken off.
const briefLimit = MaxCost / 2

// leastFrames is how many frames a thread may have at least, when threads share one stack.
const leastFrames = 32

// Limits bound one walk.
type Limits struct {
	Cost   uint64 // in instructions that code analysis executes
	Frames int    // 0: none but Options.MaxFrames
}

// Spent is the cost of finding the caller of a frame at one place.
type Spent struct {
	at   place
	cost uint64
}

// Allowance is what the walks through the threads of one snapshot may cost together. Threads are
// walked in batches: all walks of a batch have the same limits, and their costs are charged
// in the order of the threads, so that a backtrace does not depend on which walk ends first.
type Allowance struct {
	snap   *target.Snapshot
	cost   budget.Budget
	paid   map[place]bool          // bounded by cost: a place is added when something is drawn for it
	stacks map[target.Range]uint64 // how many threads run on a stack
}

// NewAllowance returns the allowance of a snapshot: a floor, and a share for each byte of code.
func NewAllowance(snap *target.Snapshot) *Allowance {
	var code uint64
	for _, m := range snap.Modules {
		if m.Image == nil {
			continue
		}
		for _, s := range m.Image.Segments {
			if s.Exec {
				code += uint64(len(s.Data))
			}
		}
	}
	a := &Allowance{snap: snap, cost: budget.New("instructions analysed", allowanceFloor, code/bytesPerCost)}
	if len(snap.Threads) > 1 && !snap.Sampled {
		a.stacks = make(map[target.Range]uint64) // at most one a thread
		for i := range snap.Threads {
			a.stacks[snap.StackOf(&snap.Threads[i])]++
		}
	}
	return a
}

// Limits are the limits of a walk through t, in a batch of n walks. Threads on one and the same
// stack, which exist in damaged captures only, have together about as many frames as the stack has
// words.
func (a *Allowance) Limits(t *target.Thread, n int) Limits {
	l := Limits{Cost: min(MaxCost, uint64(a.cost.Left())/uint64(n))}
	stack := a.snap.StackOf(t)
	if sharing := a.stacks[stack]; sharing > 1 {
		words := (stack.Hi - stack.Lo) / uint64(a.snap.Arch.RegSize)
		l.Frames = leastFrames + int(min(words/sharing, 1<<30))
	}
	return l
}

// Charge takes off what a walk has spent. A place is paid only once.
func (a *Allowance) Charge(spent []Spent) {
	if a.paid == nil {
		a.paid = make(map[place]bool)
	}
	for _, s := range spent {
		if !a.paid[s.at] && a.cost.Left() > 0 {
			a.paid[s.at] = true
			a.cost.Draw(int(min(s.cost, uint64(a.cost.Left()))))
		}
	}
}

// ChargeAll takes off what the walks of a batch have spent, in the order of their threads.
func (a *Allowance) ChargeAll(spent [][]Spent) {
	for _, s := range spent {
		a.Charge(s)
	}
}

// account is the cost of a walk so far, and the walk's limit. Costs are counted in instructions that
// code analysis executes, see Query.Cost and State.Cost.
type account struct {
	cost    uint64
	limit   uint64  // of cost
	starved bool    // the limit was reached before the search for the present frame began
	edges   int     // calls looked at for lost callers
	spent   []Spent // at places that are not cheap
}

// payments are the places that a walk has paid for: recursion comes back to them, and answers of code analysis are kept.
type payments struct {
	places [somePlaces]place
	n      int
	more   map[place]bool // bounded by what a walk may cost: each is paid for
}

// somePlaces is how many places most walks pay for at most.
const somePlaces = 64

// first tells whether a place was not paid for before, and notes the place.
func (p *payments) first(at place) bool {
	switch {
	case slices.Contains(p.places[:p.n], at) || p.more[at]:
		return false
	case p.n < somePlaces:
		p.places[p.n] = at
		p.n++
		return true
	case p.more == nil:
		p.more = make(map[place]bool)
	}
	p.more[at] = true
	return true
}

// reset begins the payments of another walk.
func (p *payments) reset() {
	p.n = 0
	clear(p.more)
}

// reset begins the account of another walk with the same limit.
func (a *account) reset() { a.cost, a.edges, a.spent = 0, 0, a.spent[:0] }

// exhausted tells whether the walk has cost as much as it may.
func (a *account) exhausted() bool { return a.cost >= a.limit }

// left is what the walk may still cost.
func (a *account) left() uint64 { return a.limit - min(a.cost, a.limit) }

// pay counts what finding the caller of the frame at a place has cost.
func (a *account) pay(at place, cost uint64) {
	if a.cost += cost; cost >= cheap {
		a.spent = append(a.spent, Spent{at, cost})
	}
}

// after is the account of a search within another search, which has cost so much already.
func (a *account) after(cost uint64) account {
	return account{cost: a.cost + cost, limit: a.limit, starved: a.starved}
}

// place is where a frame is: a PC and, as tag, ISA mode and exactness.
type place struct {
	pc  codeAddr
	tag uint32
}

// The bits of place.tag. Bit 0 is the ISA mode.
const (
	tagExact = 1 << 1
	tagUsed  = 1 << 7 // always set: 0 marks an empty slot of a hashTable

	imageShift = 8 // bits from here on, in the callers of an imageCache: the caller's image
)

func placeOf(pc uint64, mode cpu.Mode, exact bool) place {
	p := place{codeAddr(pc), uint32(mode)&1 | tagUsed}
	if exact {
		p.tag |= tagExact
	}
	return p
}

// codeAddr is an address as a key.
type codeAddr uint64

func (a codeAddr) hash() uint64 { return spread(uint64(a)) }

// spread is a hash of addresses: the golden ratio's bits times the address, upper half.
func spread(x uint64) uint64 { return x * 0x9e37_79b9_7f4a_7c15 >> 32 }

// cheap is a cost of code analysis that is not counted: all frames of a walk together cost MaxCost then.
const cheap = MaxCost / 1024
