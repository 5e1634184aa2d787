package appletext

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
)

// TestManyProcesses: what is kept of each process's report is its thread, not its headers.
func TestManyProcesses(t *testing.T) {
	const processes = 1000
	var one strings.Builder
	one.WriteString("Process: a [1]\nCode Type: X86-64\n")
	for i := range 200 {
		fmt.Fprintf(&one, "k%d:v\n", i)
	}
	one.WriteString("  Thread 0x1  2 samples (1-2)\n  2  f + 1 (g + 2) [0x3]\n")
	text := strings.Repeat(one.String(), processes)

	before := inUse()
	reports, err := readSamples(t.Context(), "r.crash", text, &input.Env{Archs: archs()})
	if err != nil || len(reports) != processes {
		t.Fatalf("%d reports, error %v", len(reports), err)
	}
	if kept := inUse() - before; kept > 4*int64(len(text)) {
		t.Errorf("%d bytes are kept of %d", kept, len(text))
	}
	runtime.KeepAlive(reports)
}

// inUse is how much memory is in use.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
