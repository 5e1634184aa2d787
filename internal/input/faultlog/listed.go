package faultlog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// maxListed bounds the frames of one list.
const maxListed = 256

// backtraceFollows stands before the frames that probe-run lists by name.
const backtraceFollows = "stack backtrace:"

// lister reads the call chains that reports list themselves. Each was found by the device,
// most by a search through the stack.
type lister struct {
	chains  []named
	section bool // a line that numbers frames by name belongs to a list
	lone    bool // a line with an address alone belongs to a list
	wide    bool // an address has 16 digits
	pairs   pairs
	places  places
	tasks   taskTable
}

// nuttxList tells whether a line is one of NuttX' lists (sched_dumpstack.c), by version:
//
//	[BackTrace| 4|0]:  0x420082ae 0x4209c198
//	backtrace|10:  0x2c325bde 0x2c319b98
//	sched_dumpstack: backtrace| 2: 0x80022852 0x800177e0
//	sched_dumpstack: [10] [<0x2c325bde>] hello_main+0x10/0x100
func nuttxList(line string) bool {
	return strings.Contains(line, "acktrace|") || strings.Contains(line, "BackTrace|") || strings.Contains(line, "sched_dumpstack: [")
}

// begins tells whether a list may begin at a line.
func (l *lister) begins(line string) bool {
	return strings.Contains(line, "addr2line") || strings.HasPrefix(line, "Backtrace:") || strings.Contains(line, backtraceFollows) ||
		nuttxList(line) || strings.HasPrefix(strings.TrimLeft(line, " "), "Frame 0: ")
}

// addressesFollow are lines in front of addresses that have a line each: Zephyr on x86, OP-TEE, OpenTitan.
var addressesFollow = phrases.List{Phrases: func() []string { return []string{"call trace:", "Call stack:", "===== Call Stack ====="} }}

// some tells whether a frame was listed.
func (l *lister) some() bool { return len(l.chains) > 0 && len(l.chains[0].listed) > 0 }

// last is the last frame of the last list, and how many that has.
func (l *lister) last() (f target.Listed, n int) {
	if len(l.chains) > 0 {
		listed := l.chains[len(l.chains)-1].listed
		if n = len(listed); n > 0 {
			f = listed[n-1]
		}
	}
	return f, n
}

// take takes the frames of a line, if it lists any.
func (l *lister) take(line string) bool {
	lone := l.lone
	l.lone = false
	if l.tasks.take(line) {
		return true
	}
	switch {
	case addressesFollow.First(line) >= 0:
		l.lone = true
		return true
	case lone && l.alone(line):
		l.lone = true
		return true
	case strings.Contains(line, "Thread: ") && strings.Contains(line, " backtrace"):
		name, _ := threadName(line)
		l.chains = append(l.chains, named{name: name})
		return true
	case strings.Contains(line, backtraceFollows):
		l.section = true
		return true
	case strings.Contains(line, "addr2line"):
		return l.addr2line(line)
	case l.pairs.take(line):
		return true
	case strings.HasPrefix(line, "Backtrace:"):
		return l.numbers(line[len("Backtrace:"):], true)
	case nuttxList(line):
		return l.nuttx(line)
	}
	f, ok := l.frame(line)
	if ok {
		l.add(f)
	}
	return ok
}

// add appends a frame to the last chain.
func (l *lister) add(f target.Listed) {
	if len(l.chains) == 0 {
		l.chains = append(l.chains, named{})
	}
	if last := &l.chains[len(l.chains)-1]; len(last.listed) < maxListed {
		last.listed = append(last.listed, f)
	}
}

// addr2line reads the command that CmBacktrace and RvBacktrace print for their users. The
// latter lists its frames in lines of their own before.
func (l *lister) addr2line(line string) bool {
	if n := len(l.chains); n > 0 && len(l.chains[n-1].listed) > 0 {
		return true
	}
	for i, word := range strings.Fields(line) {
		// 1.4 and later give addresses of 8 digits, RvBacktrace 16.
		v, ok := phrases.Hex(word)
		if i == 0 || !ok || len(word) < 8 {
			continue
		}
		l.add(target.Listed{PC: v, Searched: true})
	}
	return true
}

// numbers reads addresses in one line. exact: the first is where the thread stands.
func (l *lister) numbers(text string, exact bool) bool {
	some := false
	for word := range strings.FieldsSeq(text) {
		v, ok := phrases.Hex(word)
		if !ok || len(word) < 8 {
			continue
		}
		l.add(target.Listed{PC: v, Exact: exact && !some})
		some = true
	}
	return some
}

// frame reads a frame that has a line of its own.
//
//	[3]Stack interval :[0x8000ac00 - 0x8000ad00]  ra 0x80000222 pc 0x8000021e    RvBacktrace
//	      0: sp: 80003c20   ra: 80000206                                         Zephyr, RISC-V
//	backtrace  0: fp: 0x0000000070051f10 lr: 0x0000000070022210                  Zephyr, arm64
//	Frame 1: main @ 0x08000184 inline                                            probe-rs
//	   2: app::__cortex_m_rt_main                                                probe-run, behind backtraceFollows
//	   1: 0x000008de @ lib::inline::__udf                                        the same, by version; " - " before that
//	0: EL3: 0x4024504                                                            TF-A
//	    [<ffff82d040205a10>] S sched_move_domain+0x120/0x900                     Xen
//	PC 0x00005FB5C4D0 (0x00005FB55000+0x000074D0) [ 0] ArmCpuDxe.dll            edk2
func (l *lister) frame(line string) (f target.Listed, ok bool) {
	if _, rest, is := strings.Cut(line, "]Stack interval :["); is {
		l.wide = l.wide || strings.IndexByte(rest, ' ') >= len("0x")+16
		_, rest, _ = strings.Cut(rest, " ra ")
		f.PC, ok = firstHex(rest)
		f.Searched = true
		return f, ok
	}
	for _, sp := range [...]string{": sp: ", ": fp: "} {
		if number, rest, is := strings.Cut(line, sp); is && endsInNumber(number) {
			_, ra, isRA := strings.Cut(rest, "ra: ")
			if !isRA {
				_, ra, _ = strings.Cut(rest, "lr: ")
				l.wide = true
			}
			f.PC, ok = firstHex(ra)
			return f, ok
		}
	}
	if f, ok = l.places.frame(line); ok {
		return f, true
	}
	number, rest, is := strings.Cut(strings.TrimLeft(line, " "), ": ")
	if !is || !endsInNumber(number) {
		return f, false
	}
	if f, ok := placed(rest); ok {
		return f, l.section || strings.HasPrefix(rest, "EL")
	}
	if name, at, is := strings.Cut(rest, " @ "); is && strings.HasPrefix(number, "Frame ") {
		f.PC, ok = firstHex(at)
		f.Symbol = name
		return f, ok && !strings.HasPrefix(name, "UNWIND: ") // probe-rs could not go on
	}
	f.Symbol = strings.TrimSpace(rest)
	return f, l.section && f.Symbol != "" && phrases.IsDigit(number[0])
}

// endsInNumber tells whether the last word of s is a frame's number.
func endsInNumber(s string) bool {
	_, err := strconv.ParseUint(s[strings.LastIndexByte(s, ' ')+1:], 10, 16)
	return err == nil
}

// firstHex reads the number at the start of s.
func firstHex(s string) (uint64, bool) {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	return phrases.Hex(word)
}

// crashed is the index of the chain of the thread that crashed: the one that has the PC, else the first.
func (w *words) crashed(l *lister) int {
	pc := slices.IndexFunc(w.vals, func(v regtext.Value) bool { return isPC(v.Name) })
	for i := range l.chains {
		if pc >= 0 && slices.ContainsFunc(l.chains[i].listed, func(f target.Listed) bool { return f.PC == w.vals[pc].Value }) {
			return i
		}
	}
	return 0
}

// finish gives the report its lists.
func (w *words) finish(l *lister) {
	w.places = l.places
	defer w.addTasks(&l.tasks)
	if w.takeWindows(&l.pairs) || len(l.chains) == 0 {
		return
	}
	first := w.crashed(l)
	w.listed, w.wide = l.chains[first].listed, l.wide
	if w.thread == "" {
		w.thread = l.chains[first].name
	}
	for i, c := range l.chains {
		if len(c.listed) > 0 && i != first {
			w.others = append(w.others, l.tasks.of(c))
		}
	}
}
