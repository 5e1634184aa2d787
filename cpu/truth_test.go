package cpu_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
)

// TestCallBefore: before each return address of recorded call chains there is a
// call, and where it is direct, it goes to the function that was called.
func TestCallBefore(t *testing.T) {
	for _, c := range recorded.Cases(t, "*/*") {
		t.Run(c.Name, func(t *testing.T) { callsBefore(t, &c) })
	}
}

func callsBefore(t *testing.T, c *truth.Case) {
	path, ok := recorded.Program(t, c, "naked")
	if !ok {
		path, ok = recorded.Program(t, c, "stripped")
	}
	if !ok {
		t.Fatal("the case has no program")
	}
	img, err := elf.Open(path, image.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	for ra, entry := range returns(t, c) {
		if !img.Segments.Executable(ra) {
			continue // the signal trampoline
		}
		called, goes := callBefore(img, ra, entry)
		if !called {
			t.Errorf("no call before %#x: % x", ra, img.Segments.Before(ra, 16))
		}
		if called && !goes {
			t.Errorf("the call before %#x goes elsewhere than to %#x", ra, entry)
		}
	}
}

// callBefore tells whether a call stands before ra, and whether it may go to entry.
// The chains do not say in which mode a frame runs.
func callBefore(img *image.Image, ra, entry uint64) (called, goes bool) {
	for mode := range cpu.Mode(2) {
		site, ok := img.Arch.Decoder.CallBefore(img.Segments.Before(ra, 16), ra, mode)
		called = called || ok
		goes = goes || ok && (!site.Direct || site.Target == entry || entry == 0)
	}
	return called, goes
}

// returns maps each return address of a case's chains to the entry of the function
// that returns there.
func returns(t *testing.T, c *truth.Case) map[uint64]uint64 {
	answers, err := c.Answers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]uint64{}
	for _, a := range answers {
		for i := 1; i < len(a.Frames); i++ {
			callee, caller := a.Frames[i-1], a.Frames[i]
			if callee.Kind != "sigtramp" && caller.Kind != "sigtramp" && caller.Kind != "interrupted" {
				found[uint64(caller.PC)] = uint64(callee.Entry)
			}
		}
	}
	return found
}
