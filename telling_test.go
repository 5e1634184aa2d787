package backsight

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
)

// Readers of reports are given the lines of a log that tell something (internal/input/console). TestTelling gives them all lines, too:
// what they find must be the same, in all logs that the tests of readers have, in pieces of these, mixed with each other and with text
// that is no report.
func TestTelling(t *testing.T) {
	logs := logsOfTests(t)
	if len(logs) < 100 {
		t.Fatalf("%d logs in the tests of readers", len(logs))
	}
	for _, log := range append(logs,
		"[    1.000000][   T91] a line\na line\nanother\ntask:sh              state:S stack:0     pid:7    ppid:1      flags:0x00000000\nCall Trace:\n[    1.000000][   T91] a line\nb\n[    1.000000] c\n schedule+0x27/0xf0\n",
		// of two lines, the first with a segment in front of a place that decode_stacktrace.sh has given a line of the source
		"05:00:01.121 -> a line\n05:00:01.121 -> RIP: 0010:toy_put (fs/toy.c:31 (discriminator 1))\n05:00:01.121 -> Code: 55 48 89 e5 8b 45\n") {
		compare(t, log)
	}
	r := rand.New(rand.NewPCG(1, 2))
	tries := 400
	if os.Getenv("BACKSIGHT_LONG") != "" {
		tries, r = 20_000, rand.New(rand.NewPCG(rand.Uint64(), 2))
	}
	for range tries {
		compare(t, mixed(r, logs))
	}
}

func FuzzTelling(f *testing.F) {
	logs := logsOfTests(f)
	for i := range uint64(100) {
		f.Add(mixed(rand.New(rand.NewPCG(i, 0)), logs))
	}
	f.Fuzz(func(t *testing.T, log string) {
		if len(log) < 1<<16 {
			compare(t, log)
		}
	})
}

// compare compares what readers find in a log with what they find where all lines are given to them.
func compare(t *testing.T, log string) {
	t.Helper()
	files := NewFiles(input.FileOptions{})
	defer files.Close()
	env := &input.Env{Archs: CPUs(), Formats: Formats(), Files: files}
	every := consoles()
	for i := range every {
		every[i].Signs, every[i].Next = nil, nil
	}
	got, want := found(t, console.Format(consoles()...), log, env), found(t, console.Format(every...), log, env)
	if len(got) != len(want) {
		t.Fatalf("%d and %d in\n%q\n%v\n%v", len(got), len(want), log, got, want)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("log %q\ngot  %+v\nwant %+v", log, got[i], want[i])
		}
	}
}

// TestGiven counts the bytes of text without reports that are given to readers.
func TestGiven(t *testing.T) {
	const lines = 1000
	for _, c := range []struct {
		name, line string // with a number
		given      int    // of lines
	}{
		{"a kernel's", "[ 1234.%06d] usb 1-3: new high-speed USB device number 45 using xhci_hcd, state 0x12345678", 0},
		{"with callers", "[ 1234.%06d][   T91] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable", 0},
		{"syslog", "Nov 22 05:00:01 host sshd[812]: Accepted publickey for root from 10.0.3.7 port %d ssh2", 0},
		{"Android's", "11-23 10:00:00.123  2372  2401 I ActivityManager: Displayed org.example.app/.Main: +%dms", 0},
		{"a device's", "\x1b[0;32mI (%d) wifi: mode : sta (24:0a:c4:12:34:56)\x1b[0m", 0},
		{"a program's", "2026-11-29 10:44:59,%03d INFO  [main] org.example.App - id=4711 level=3 state: activated", 0},
		{"JSON", `{"time":"2026-11-29T10:35:24Z","level":"info","id":%d,"trace":"892e0123456789abcdef"}`, 0},
		{"a compiler's", "gcc -O2 -Wall -DNDEBUG -I./include -c src/toy%d.c -o obj/toy.o", 0},
		{"an address", "toy %d: mapped at 0x7f0012345678, 4096 bytes", 0},
		{"a title", "toy%d.c: In function 'toy':", lines},
		{"a register", "toy %d stopped, pc: 0x08000184", lines},
	} {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, c.line+"\n", i)
		}
		files, given := NewFiles(input.FileOptions{}), 0
		defer files.Close()
		counter := console.Reader{
			Signs: func(*input.Env) (none console.Signs) { return none },
			Scan:  func(log *console.Log, _ *input.Env) { given = log.Given() },
			Read: func(_ context.Context, _ *console.Log, at int, _ *input.Env) (*console.Report, int) {
				return nil, at + 1
			},
		}
		found(t, console.Format(append(consoles(), counter)...), text.String(), &input.Env{Archs: CPUs(), Files: files})
		if want := text.Len() * c.given / lines; given != want {
			t.Errorf("%s: %d of %d bytes are given to readers, not %d", c.name, given, text.Len(), want)
		}
	}
}

// TestPortions: a log that is larger than what is looked at at a time has the reports that it has as a whole. Each log of the tests stands
// in it, behind and in front of others.
func TestPortions(t *testing.T) {
	logs := logsOfTests(t)
	files := NewFiles(input.FileOptions{})
	defer files.Close()
	env := &input.Env{Archs: CPUs(), Formats: Formats(), Files: files}
	format, ctx := console.Format(consoles()...), t.Context()
	seeds := uint64(12)
	if os.Getenv("BACKSIGHT_LONG") != "" {
		seeds = 500
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		var text strings.Builder
		text.WriteString(oops) // of what machine the log is, its beginning tells
		for text.Len() < 3<<20 {
			text.WriteString(logs[r.IntN(len(logs))] + strings.Repeat("\n[  123.456789] eth0: link up", r.IntN(4)*r.IntN(200)) + "\n")
		}
		whole := format.Reports(ctx, []byte(text.String()), env)
		all, err := whole.Open(ctx, len(whole.Extents))
		if err != nil {
			t.Fatal(err)
		}
		portions, err := format.Open(ctx, input.NewCapture("log", []byte(text.String())), env)
		if err != nil {
			t.Fatal(err)
		}
		want, got := titles(t, all), titles(t, portions)
		for title, n := range want {
			if got[title] != n {
				t.Errorf("seed %d: %d reports %q, not %d", seed, got[title], title, n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d titles, not %d", len(got), len(want))
		}
	}
}

const oops = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
	"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n"

// titles counts the threads of a stream by their names.
func titles(t *testing.T, s input.Stream) map[string]int {
	t.Helper()
	defer s.Close()
	n := map[string]int{}
	for {
		snap, err := s.Next(t.Context())
		if err != nil {
			return n
		}
		for i := range snap.Threads {
			n[snap.Threads[i].Name]++
		}
	}
}

// found are the snapshots of a log, the error in the end, and where in the text the reports are.
func found(t *testing.T, format input.Format, log string, env *input.Env) (list []any) {
	ctx := t.Context()
	list = append(list, format.Reports(ctx, []byte(log), env).Extents)
	s, err := format.Open(ctx, input.NewCapture("log", []byte(log)), env)
	if err != nil {
		return append(list, err.Error())
	}
	defer s.Close()
	for {
		snap, err := s.Next(ctx)
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, snap)
	}
}

// logsOfTests are the texts of several lines in the tests of readers of logs.
func logsOfTests(t testing.TB) (logs []string) {
	t.Helper()
	names, err := filepath.Glob("internal/input/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "listing_test.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, "\n") && len(text) > 60 {
					logs = append(logs, text)
				}
			}
			return true
		})
	}
	return logs
}

// mixed is a text of pieces of logs, lines of noise, and prefixes.
func mixed(r *rand.Rand, logs []string) string {
	var lines []string
	for range 1 + r.IntN(4) {
		piece := strings.Split(logs[r.IntN(len(logs))], "\n")
		piece = slices.Clone(piece[r.IntN(len(piece)):])
		piece = piece[:r.IntN(len(piece)+1)]
		prefix := prefixes[r.IntN(len(prefixes))]
		for i := range piece {
			if prefix != "" && r.IntN(8) > 0 {
				piece[i] = fmt.Sprintf(prefix, r.IntN(3)) + piece[i]
			}
			if n := len(piece[i]); n > 0 && r.IntN(30) == 0 {
				piece[i] = piece[i][:r.IntN(n)]
			}
		}
		for range r.IntN(4) * r.IntN(40) {
			piece = slices.Insert(piece, r.IntN(len(piece)+1), noise[r.IntN(len(noise))])
		}
		for range r.IntN(3) * r.IntN(50) {
			lines = append(lines, noise[r.IntN(len(noise))])
		}
		lines = append(lines, piece...)
	}
	return strings.Join(lines, [...]string{"\n", "\n", "\r\n", "\n\n", " \n"}[r.IntN(5)])
}

var prefixes = [...]string{"", "", "[    1.00000%d] ", "[    1.000000][   T9%d] ", "<4>[    1.00000%d] ", "Nov 22 05:00:0%d host kernel: ", "Nov 22 05:00:0%d host toyd[7]: ",
	"2026-11-22T05:00:0%d+00:00 ", "11-23 10:00:00.12%d     0     0 W         : ", "\x1b[0;3%dm", "> > %d ", "05:00:01.12%d -> "}

// noise are lines that are no report, and such as come near to one.
var noise = [...]string{
	"", "", " ", "a", "usb 1-3: new high-speed USB device number 45 using xhci_hcd, state 0x12345678", "[  123.456789] usb 1-3: new device", "[  123.456789][   T91] eth0: link up",
	"[  123.456789] ", "[  123.456789] eth0: link up", "eth0: link up", "BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable", "Nov 22 05:00:01 host sshd[812]: Accepted password for root",
	"cc -O2 -c toy.c -o toy.o", "toy.c: In function 'toy':", "toy.c:12:3: warning: unused variable 'x' [-Wunused-variable]", "ip 10.0.0.1 sp 3", "at 0x1234", "pc", "is it from",
	"what ?", "value=", "sp:", "12345678", "00000000 12345678", "7ec0: 12345678 12345678", "- 1: 0x12", "==12== title", "Thread 1 (LWP 2):", "#1", "PR #12 merged", "a + b", "x +12 (y)",
	"W(    0) text:  ()", "text=20", "Call\\_Trace&lt;", "\x1b[0;32mI (123) wifi: connected\x1b[0m", "caf\u00e9\u00a0r0: 12345678", "C  [", "mAwAAAIBBQAAAAAA", "[ 45%] Building C object",
	strings.Repeat("x", 5000), strings.Repeat(" ", 70) + "x", "[    1.000000] a [    1.000001] b", "$ make", "I/DEBUG   (  119): backtrace:", "kernel: text", "task 0x12 3 0x12345678",
}
