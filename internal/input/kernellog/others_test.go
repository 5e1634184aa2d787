package kernellog

import (
	"context"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
)

// TestOthers: lines that look like a kernel's, of programs, are left to other readers.
func TestOthers(t *testing.T) {
	another := console.Reader{Name: "another", Read: func(_ context.Context, log *console.Log, at int, _ *input.Env) (*console.Report, int) {
		if log.Line(at) != " toy::run [0x1321C3FE+574] (C:\\toy.cc:552)" {
			return nil, at + 1
		}
		return &console.Report{Title: "another's", Arch: archs()[0]}, at + 1
	}, Signs: func(*input.Env) console.Signs { return console.Signs{Ends: func([]byte) bool { return true }} }}
	for _, text := range []string{
		"Backtrace:\n toy::run [0x1321C3FE+574] (C:\\toy.cc:552)\nTask trace:\nBacktrace:\n",
		"Backtrace:\n toy::run [0x1321C3FE+574] (C:\\toy.cc:552)\n==2304==*** WARNING: Failed to initialize DbgHelp!\n",
		"Fatal trap 9: general protection fault while in kernel mode\n toy::run [0x1321C3FE+574] (C:\\toy.cc:552)\n",
	} {
		env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
		if _, err := console.Format(Reader(), another).Open(context.Background(), input.NewCapture("log", []byte(text)), env); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
