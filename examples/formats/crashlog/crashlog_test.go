package crashlog

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

func readLog(t *testing.T, log string) (*target.Snapshot, error) {
	t.Helper()
	board, _ := backsight.CPUs().ByName("arm", "cortexm", false)
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{t.TempDir()}})
	defer files.Close()
	env := input.Env{Files: files, Formats: []input.Format{Format(board)}}
	s, err := backsight.OpenReader(context.Background(), "log", strings.NewReader(log), env)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	snap, err := s.Next(context.Background())
	if _, end := s.Next(context.Background()); err == nil && end != io.EOF {
		t.Errorf("a second snapshot: %v", end)
	}
	return snap, err
}

// TestLog: registers and stack are what the log says; other lines are the console's.
func TestLog(t *testing.T) {
	snap, err := readLog(t, magic+"netboard\nreg pc 00000034\nreg sp 20001f90\nbooting…\nreg r77 1\nstack 20001f90 0102030405\n")
	if err != nil {
		t.Fatal(err)
	}
	pc, ok := snap.Threads[0].Regs.Lookup(snap.Arch.PC)
	if word, captured := snap.Memory.Word(0x20001f90); !ok || pc != 0x34 || !captured || word != 0x04030201 {
		t.Errorf("pc %#x, %t; stack %#x, %t", pc, ok, word, captured)
	}
}

// TestDamaged: an error names the line.
func TestDamaged(t *testing.T) {
	for log, want := range map[string]string{
		"reg pc 0x34\n":                      "not a known capture format",
		magic + "\nreg pc everything\n":      "log: line 2: ",
		magic + "\nstack 20001f90 0102030\n": "log: line 2: ",
		magic + strings.Repeat("*", 1<<17):   "log: cannot be read: ",
	} {
		if _, err := readLog(t, log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", log, err, want)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add("image fw.hex\nreg pc 00000034\nstack 20001f90 0102030405\n")
	f.Fuzz(func(t *testing.T, log string) {
		if snap, err := readLog(t, magic+log); err == nil && len(snap.Threads) != 1 {
			t.Errorf("%d threads", len(snap.Threads))
		}
	})
}
