package diff

import (
	"os"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/lab/truth"
)

// TestRecordedPrograms compares where the recorded programs kept their tables, a
// sample of the functions.
func TestRecordedPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("TestLibrary compares with the same goroutines")
	}
	cases, err := truth.Cases("../../testdata/truth", "")
	if err != nil {
		t.Fatal(err)
	}
	var sum Tally
	var results []*Result
	for i := range cases {
		elf, found, cleanup, err := cases[i].Binary("stripped")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		r, err := Run(elf, Options{Archs: backsight.CPUs(), Every: 10, Keep: 1})
		cleanup()
		if err != nil {
			t.Fatal(err)
		}
		one := r.Total()
		sum.add(&one)
		results = append(results, r)
	}
	if sum.Places < 500 || sum.Agree*100 < sum.Places*97 {
		var b strings.Builder
		Table(&b, results)
		t.Errorf("%d places, %d agree\n%s", sum.Places, sum.Agree, b.String())
	}
}

// TestLibrary compares a sample of a library that every Debian has.
func TestLibrary(t *testing.T) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(libc); err != nil {
		t.Skip(err)
	}
	r, err := Run(libc, Options{Archs: backsight.CPUs(), Every: 200, Keep: 3})
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Total()
	if sum.Places < 500 || sum.Agree*100 < sum.Places*97 {
		t.Errorf("%+v", sum)
		for i := range r.Disagreements {
			var b strings.Builder
			r.Show(&b, &r.Disagreements[i])
			t.Log(b.String())
		}
	}
}
