package kernellog

import (
	"context"
	"strings"
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

// TestAway: of lines that a caller printed far apart, those behind are no part of the report in front, whether that has its last line or not.
func TestAway(t *testing.T) {
	const begin, goesOn = "[    1.000000][   T7] CPU: 0 PID: 7 Comm: sh Not tainted 6.1.0-6-amd64 #1\n[    1.000000][   T7] Call Trace:\n[    1.000000][   T7]  a+0x4/0x10\n",
		"[    2.000000][   T7]  b+0x4/0x10\n"
	const end, registers = "[    1.000000][   T7] ---[ end trace 0000000000000000 ]---\n", "[    2.000000][   T7] RIP: 0010:c+0x4/0x10\n[    2.000000][   T7] RSP: 0018:ffff8801afb4f3a0 EFLAGS: 00010246\n"
	for _, c := range []struct {
		what, first, second string
		lines               int // of others, between
		want                string
	}{
		{"a chain goes on", begin, goesOn, 200, "a b"},
		{"too far away", begin, goesOn, 300, "a"},
		{"registers behind the end, of the same report", begin + end, registers, 200, "a"},
		{"registers of another", begin + end, registers, 300, "a | c"},
	} {
		var chains []string
		for _, th := range snapshots(t, c.first+strings.Repeat("[    1.000000][   T9] eth0: link up\n", c.lines)+c.second)[0].Threads {
			var names []string
			for i := range th.Listed {
				names = append(names, th.Listed[i].Symbol)
			}
			chains = append(chains, strings.Join(names, " "))
		}
		if got := strings.Join(chains, " | "); got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}
