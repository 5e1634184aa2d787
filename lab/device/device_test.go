package device_test

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/device"
)

// TestReader: the reader on the device finds the chains that Backsight finds with the same
// rules, in every byte order and width, through signal frames and exceptions.
func TestReader(t *testing.T) {
	if !device.Available() {
		t.Skip("no C compiler")
	}
	for _, name := range []string{"cortexm3/bare-gcc-Os", "rv32imac/*"} {
		c := recorded.Cases(t, name)[0]
		o, err := device.Run(t.Context(), "../../device", t.TempDir(), &c)
		if err != nil {
			t.Fatal(err)
		}
		if o.Chains == 0 || o.Whole != o.Walker || o.Wrong > 0 {
			t.Errorf("%s: of %d chains the reader has %d whole and %d wrong, Backsight %d whole", name, o.Chains, o.Whole, o.Wrong, o.Walker)
		}
	}
}
