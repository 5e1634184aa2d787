package score

import "github.com/backsight/backsight/lab/truth"

// Worse are the outcomes with tables that are not whole where the same capture without tables is.
func Worse(outcomes []Outcome) (worse []*Outcome) {
	type capture struct {
		c          *truth.Case
		prog, kind string
		step       int
	}
	of := func(o *Outcome) capture { return capture{o.Case, o.Answer.Prog, o.Answer.Kind, o.Answer.Step} }
	naked := map[capture]bool{}
	for i := range outcomes {
		if o := &outcomes[i]; o.Tier == "naked" && o.Verdict.Whole {
			naked[of(o)] = true
		}
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.Tier != "naked" && !o.Verdict.Whole && naked[of(o)] {
			worse = append(worse, o)
		}
	}
	return worse
}
