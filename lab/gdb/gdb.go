package gdb

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/target"
)

// Program is the GDB that knows every architecture.
const Program = "gdb-multiarch"

// Available tells whether Program is installed.
func Available() bool {
	_, err := exec.LookPath(Program)
	return err == nil
}

// Session gathers snapshots of one executable for GDB.
type Session struct {
	// Symbols is a debug file for the executable, "" for none.
	Symbols  string
	dir, elf string
	n        int
}

// NewSession makes a place for the cores; Close removes it.
func NewSession(elf string) (*Session, error) {
	dir, err := os.MkdirTemp("", "gdb")
	return &Session{dir: dir, elf: elf}, err
}

// Close removes the cores.
func (s *Session) Close() error { return os.RemoveAll(s.dir) }

// Add writes a snapshot as a core.
func (s *Session) Add(snap *target.Snapshot) error {
	s.n++
	return write(s.core(s.n-1), s.elf, snap)
}

func (s *Session) core(i int) string { return filepath.Join(s.dir, strconv.Itoa(i)+".core") }

// maxFrames is enough for every recorded chain.
const maxFrames = 1000

// chain is the Python that GDB runs to print the chain of the open core. Lines are flushed at
// once, so that they tell how far GDB is. GDB makes a frame of a Cortex-M exception, whose PC is the
// EXC_RETURN value; no code runs there, and the frame is left out.
const chain = `python
print("CORE", %d, flush=True)
f, n = gdb.newest_frame(), 0
while f is not None and n < %d:
    if f.type() != gdb.SIGTRAMP_FRAME or f.pc() & 0xffffff80 != 0xffffff80:
        print("PC", hex(f.pc() & %#x), flush=True)
    n += 1
    try: f = f.older()
    except gdb.error: f = None
end
`

// Backtraces returns the addresses of every chain, innermost first, in the order
// of the snapshots.
func (s *Session) Backtraces(ctx context.Context) ([][]uint64, error) {
	chains := make([][]uint64, s.n)
	for next := 0; next < s.n; {
		script, err := s.script(next)
		if err != nil {
			return nil, err
		}
		if next, err = run(ctx, script, next, chains); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return chains, nil
}

// script writes GDB's commands for the cores from a number on.
func (s *Session) script(from int) (path string, err error) {
	var b strings.Builder
	b.WriteString("set confirm off\nset pagination off\nset backtrace past-main on\n")
	fmt.Fprintf(&b, "file %s\n", s.elf)
	if s.Symbols != "" {
		fmt.Fprintf(&b, "symbol-file %s\n", s.Symbols)
	}
	for i := from; i < s.n; i++ {
		fmt.Fprintf(&b, "core-file %s\n", s.core(i))
		fmt.Fprintf(&b, chain, i, maxFrames, ^uint64(0))
	}
	path = filepath.Join(s.dir, "script")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// patience is how long GDB may say nothing: it takes some 10 ms for a core. On some
// stacks it unwinds without end within one frame, where chain cannot count.
const patience = 10 * time.Second

// run fills in the chains that a script prints, and returns the number of the core to go
// on with: where GDB is silent, that behind the one it is at. Its exit status, if it
// printed something, is about one core of many.
func run(ctx context.Context, script string, from int, chains [][]uint64) (next int, err error) {
	watched, stop := context.WithCancel(ctx)
	defer stop()
	cmd := child.Command(watched, Program, "-nx", "-batch", "-x", script)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", Program, err)
	}
	silence := time.AfterFunc(patience, stop)
	defer silence.Stop()
	at := from - 1
	for lines := bufio.NewScanner(out); lines.Scan(); silence.Reset(patience) {
		at = note(chains, lines.Text(), at)
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%s: %w", Program, ctx.Err())
	case watched.Err() != nil:
		return max(at, from) + 1, nil
	case err != nil && at < from:
		return 0, fmt.Errorf("%s: %w: %.200s", Program, err, talk.String())
	}
	return len(chains), nil
}

// note takes a line of the script's output; at is the number of the core at hand.
func note(chains [][]uint64, line string, at int) int {
	f := strings.Fields(line)
	if len(f) != 2 {
		return at
	}
	switch v, err := strconv.ParseUint(f[1], 0, 64); {
	case err != nil:
	case f[0] == "CORE" && v < uint64(len(chains)):
		return int(v)
	case f[0] == "PC" && at >= 0:
		chains[at] = append(chains[at], v)
	}
	return at
}
