// Package difftest is what the tests share that compare a decoder with a
// disassembler.
package difftest

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Files lists further binaries of one machine to compare: the variable BACKSIGHT_BINARIES
// names files, separated as in PATH, and is accepts a file or does not.
func Files(machine elf.Machine, is func(*elf.File) bool) (paths []string) {
	for _, path := range filepath.SplitList(os.Getenv("BACKSIGHT_BINARIES")) {
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		if f.Machine == machine && (is == nil || is(f)) {
			paths = append(paths, path)
		}
		f.Close()
	}
	return paths
}

// Tally counts the instructions of a file: the compared ones, the ones in which decoder and
// disassembler disagree, and, by reason, the ones that are not compared or may differ.
type Tally struct {
	CPU, File       string
	Compared, Wrong int
	accepted        map[string]int
}

// Accept counts a difference that stays.
func (y *Tally) Accept(reason string) {
	if y.accepted == nil {
		y.accepted = map[string]int{}
	}
	y.accepted[reason]++
}

// Wrongly reports a disagreement. Of many in a file only the first are printed.
func (y *Tally) Wrongly(t testing.TB, format string, args ...any) {
	t.Helper()
	if y.Wrong++; y.Wrong <= 20 {
		t.Errorf(format, args...)
	}
}

// Log writes the tally in lines that `lab conformance -decoders` reads.
func (y *Tally) Log(t testing.TB) {
	t.Logf("compared | %s | %s | %d | %d", y.CPU, y.File, y.Compared, y.Wrong)
	for _, reason := range slices.Sorted(maps.Keys(y.accepted)) {
		t.Logf("accepted | %s | %s | %d", y.CPU, reason, y.accepted[reason])
	}
}
