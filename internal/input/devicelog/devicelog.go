// Package devicelog reads the line that device/backsight.c prints on a console:
//
//	backsight: 0x00000014 0x00000024 0x00000042  7158392a38950abbb97706bbeff228116463aacf
//
// The addresses are image addresses, the first one where the program stood, the others where
// calls return to; behind them stands which build the program is of, up to 20 bytes of
// image.Identity. The walker verifies each frame by the code.
package devicelog

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

const (
	mark = "backsight: 0x"
	// maxFrames bounds the addresses that are taken out of a line.
	maxFrames = 1024
	// maxIdentity is how much of an identity a table has.
	maxIdentity = 20
)

// Reader is the reader of such lines.
func Reader() console.Reader {
	return console.Reader{Name: "device", Signs: console.Phrases(mark), Read: func(_ context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
		l, ok := parse(log.Line(at))
		if !ok {
			return nil, at + 1
		}
		r := l.report(env)
		r.Ended = true
		return r, at + 1
	}}
}

// line is what a line says.
type line struct {
	pcs      []uint64
	identity []byte
}

func parse(text string) (l line, ok bool) {
	i := strings.Index(text, mark)
	if i < 0 {
		return l, false
	}
	for _, f := range strings.Fields(text[i+len(mark)-len("0x"):]) {
		digits, number := strings.CutPrefix(f, "0x")
		if !number {
			l.identity, _ = hex.DecodeString(f[:min(len(f), 2*maxIdentity)])
			break
		}
		pc, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || len(l.pcs) == maxFrames {
			break
		}
		l.pcs = append(l.pcs, pc)
	}
	return l, len(l.pcs) > 0
}

// report makes a report of a line.
func (l *line) report(env *input.Env) *console.Report {
	const title = "backtrace by the device"
	p := firmware.Open(env, nil)
	r := &console.Report{Title: title, Arch: p.Arch, Modules: p.Modules, Issues: p.Issues}
	if issue, other := p.OtherBuild(l.identity); other {
		return &console.Report{Title: title, Issues: []target.Issue{issue}}
	}
	if r.Arch == nil {
		r.Issues = append(r.Issues, target.Issue{Kind: target.IssueNotFound,
			Text: fmt.Sprintf("%s: the program of build %x is not known: name its file with -e", title, l.identity)})
		return r
	}
	r.Thread = l.thread(r.Arch)
	return r
}

// thread is the one that the line tells of. Its addresses may have the mode bit, as return addresses are stored.
func (l *line) thread(arch *cpu.Arch) target.Thread {
	t := target.Thread{Crashed: true, Memory: new(target.Builder).Memory(arch)}
	for i, pc := range l.pcs {
		pc, _ = arch.SplitCode(pc)
		t.Listed = append(t.Listed, target.Listed{PC: pc, Exact: i == 0})
	}
	t.Regs = firmware.Start(arch, t.Listed[0].PC)
	return t
}
