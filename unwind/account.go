package unwind

// account is the cost of a walk so far, and the walk's limit. Costs are counted in instructions that
// code analysis executes, see Query.Cost and State.Cost.
type account struct {
	cost    uint64
	limit   uint64  // of cost
	starved bool    // the limit was reached before the search for the present frame began
	spent   []Spent // at places that are not cheap
}

// reset begins the account of another walk with the same limit.
func (a *account) reset() { a.cost, a.spent = 0, a.spent[:0] }

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
