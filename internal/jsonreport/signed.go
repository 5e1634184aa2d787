package jsonreport

import (
	"github.com/backsight/backsight/internal/code/features"
)

// Like is how alike two functions are, from 0 to 1: 1 where they are the same by build and place, by an import's or the
// function's name, or by fingerprint.
func (f *Signed) Like(o *Signed) float64 {
	switch {
	case f.Import != "" || o.Import != "":
		return one(f.Import == o.Import)
	case f.Build != "" && f.Build == o.Build && !f.Inside && !o.Inside:
		return one(f.Start == o.Start)
	case f.Function != "" && o.Function != "":
		return one(f.Function == o.Function)
	case f.Print != "" && f.Print == o.Print:
		return 1
	}
	return features.Like(f.Named, o.Named, f.Members, o.Members)
}

// Tells tells whether the function names so much that no other one is likely to name the same.
func (f *Signed) Tells() bool { return features.Tells(f.Named) }

func one(same bool) float64 {
	if same {
		return 1
	}
	return 0
}
