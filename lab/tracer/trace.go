package tracer

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/backsight/backsight/lab/truth"
)

// Trace is what one run gave.
type Trace struct {
	Captures []Capture
	Images   []Image
	Marks    []Mark
	// Steps are the instructions executed since main was called; Odd the places that
	// were to be captured but for a return address that did not lie in its frame.
	Steps, Odd int
}

// Capture is the state of the program before an instruction.
type Capture struct {
	Step int    `json:"step"`
	Kind string `json:"kind"`
	// Before is the address of the instruction that was executed last.
	Before truth.Hex            `json:"before"`
	Regs   map[string]truth.Hex `json:"regs"`
	Memory []Memory             `json:"memory"`
	// Chain are the activations, innermost first, down to main's.
	Chain []Activation `json:"chain"`
}

// Mark is a place that the program marked with a number, by a system call that no kernel knows
// (plugin.c, marking).
type Mark struct {
	Number int
	// Step counts instructions; Chain is as in a Capture.
	Step  int
	Chain []Activation
}

// Memory is a part of the program's memory.
type Memory struct {
	Base  truth.Hex `json:"base"`
	Bytes hexBytes  `json:"hex"`
}

// hexBytes are bytes that JSON holds as hexadecimal digits.
type hexBytes []byte

// UnmarshalText reads the digits.
func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.AppendDecode(nil, text)
	return err
}

// Activation is a function that was entered and not left. Ret is where it returns to,
// CFA is SP in its caller at the call, Start is where the call went. Of a signal, Ret is
// the interrupted instruction and Start the trampoline.
type Activation struct {
	Ret    truth.Hex `json:"ret"`
	CFA    truth.Hex `json:"cfa"`
	Start  truth.Hex `json:"start"`
	Signal bool      `json:"signal"`
}

// Image is a mapping of a file, Size bytes from Offset on. The emulator has its program's code readable
// only, so that code and what lies before may be one mapping.
type Image struct {
	Path   string    `json:"image"`
	Base   truth.Hex `json:"base"`
	Size   truth.Hex `json:"size"`
	Offset truth.Hex `json:"offset"`
}

// line is a line of the plugin's output: a capture, a correction, an image or, last, the
// end.
type line struct {
	Capture
	Image
	// Mistaken is the step from which captures in a signal have a wrong chain: only the
	// handler's return told which instruction was interrupted.
	Mistaken *int `json:"mistaken"`
	Mark     *int `json:"mark"`
	Steps    *int `json:"steps"`
	Odd      int  `json:"odd"`
}

func readFile(path string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}

// read reads the plugin's output. A trace without its end is an error: the emulator was
// killed, and its images are not known.
func read(r io.Reader) (*Trace, error) {
	t := new(Trace)
	for d := json.NewDecoder(r); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return nil, errors.New("the trace has no end")
		} else if err != nil {
			return nil, fmt.Errorf("the trace: %w", err)
		}
		switch {
		case l.Mistaken != nil:
			t.Captures = slices.DeleteFunc(t.Captures, func(c Capture) bool { return c.Kind == "signal" && c.Step >= *l.Mistaken })
			t.Marks = slices.DeleteFunc(t.Marks, func(m Mark) bool { return m.Step >= *l.Mistaken })
		case l.Steps != nil:
			t.Steps, t.Odd = *l.Steps, l.Odd
			return t, nil
		case l.Mark != nil:
			t.Marks = append(t.Marks, Mark{*l.Mark, l.Step, l.Chain})
		case l.Path != "":
			t.Images = append(t.Images, l.Image)
		default:
			t.Captures = append(t.Captures, l.Capture)
		}
	}
}
