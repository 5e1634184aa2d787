package gdb

import (
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

// Available tells whether it is installed.
func Available() bool {
	_, err := exec.LookPath(Program)
	return err == nil
}

// Session gathers snapshots of one executable for GDB.
type Session struct {
	dir, elf string
	n        int
}

// NewSession makes a place for the cores; Close removes it.
func NewSession(elf string) (*Session, error) {
	dir, err := os.MkdirTemp("", "gdb")
	return &Session{dir: dir, elf: elf}, err
}

// Close removes what was written.
func (s *Session) Close() error { return os.RemoveAll(s.dir) }

// Add writes a snapshot as a core.
func (s *Session) Add(snap *target.Snapshot) error {
	s.n++
	return write(s.core(s.n-1), s.elf, snap)
}

func (s *Session) core(i int) string { return filepath.Join(s.dir, strconv.Itoa(i)+".core") }

// maxFrames is enough for every recorded chain.
const maxFrames = 1000

// chain is the Python that GDB runs to print the chain of the core it has open.
const chain = `python
f, n = gdb.newest_frame(), 0
while f is not None and n < %d:
    print("PC", hex(f.pc() & %#x))
    n += 1
    try: f = f.older()
    except gdb.error: f = None
end
`

// Backtraces returns the addresses of every chain, innermost first, in the order
// of the snapshots.
func (s *Session) Backtraces(ctx context.Context) ([][]uint64, error) {
	var b strings.Builder
	b.WriteString("set confirm off\nset pagination off\nset backtrace past-main on\n")
	fmt.Fprintf(&b, "file %s\n", s.elf)
	for i := range s.n {
		fmt.Fprintf(&b, "core-file %s\necho CORE %d\\n\n", s.core(i), i)
		fmt.Fprintf(&b, chain, maxFrames, ^uint64(0))
	}
	script := filepath.Join(s.dir, "script")
	if err := os.WriteFile(script, []byte(b.String()), 0o600); err != nil {
		return nil, err
	}
	out, err := s.run(ctx, script)
	if err != nil {
		return nil, err
	}
	return parse(out, s.n), nil
}

// patience is what GDB is given for a core, many times what it takes. On some stacks it
// unwinds without end within one frame, where chain cannot count.
const patience = 5 * time.Second

// run returns what GDB prints; where it printed something, its exit status is about one
// core of many.
func (s *Session) run(ctx context.Context, script string) (string, error) {
	limit := time.Minute + time.Duration(s.n)*patience
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := child.Command(ctx, Program, "-nx", "-batch", "-x", script)
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w within %v", Program, ctx.Err(), limit)
	case err != nil && len(out) == 0:
		return "", fmt.Errorf("%s: %w: %.200s", Program, err, talk.String())
	}
	return string(out), nil
}

// parse reads what the script printed.
func parse(out string, n int) [][]uint64 {
	chains := make([][]uint64, n)
	at := -1
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		switch v, err := strconv.ParseUint(f[1], 0, 64); {
		case err != nil:
		case f[0] == "CORE" && v < uint64(n):
			at = int(v)
		case f[0] == "PC" && at >= 0:
			chains[at] = append(chains[at], v)
		}
	}
	return chains
}
