package gdbremote

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/signals"
	"github.com/backsight/backsight/target"
)

// thread is a thread as the server names it: "1f", or "p12.1f" with its process.
type thread struct{ id, name string }

// maxThreads bounds the threads that a server tells of.
const maxThreads = 1 << 14

// number is the thread's number, and that of its process, 0 where the server tells none.
func (t thread) number() (tid, pid int) {
	process, id, ok := strings.Cut(strings.TrimPrefix(t.id, "p"), ".")
	if !ok {
		process, id = "", process
	}
	n, _ := strconv.ParseUint(id, 16, 31)
	p, _ := strconv.ParseUint(process, 16, 31)
	return int(n), int(p)
}

// threads are those of the server, by the list that says their names, else by the one that every server has; none where
// the server knows no threads.
func (c *Client) threads() (list []thread, err error) {
	_ = eachElement(c.object("threads"), func(name, inner string, attr func(string) string) {
		if id := attr("id"); name == "thread" && isThread(id) && len(list) < maxThreads {
			said := attr("name")
			if said == "" {
				said = strings.TrimSpace(inner)
			}
			list = append(list, thread{id, said})
		}
	})
	for request := "qfThreadInfo"; len(list) == 0 || request == "qsThreadInfo"; request = "qsThreadInfo" {
		reply, err := c.Ask(request)
		if err != nil {
			return nil, err
		}
		if len(reply) == 0 || reply[0] != 'm' || len(list) >= maxThreads {
			return list, nil
		}
		known := len(list)
		for id := range strings.SplitSeq(string(reply[1:]), ",") {
			if isThread(id) && len(list) < maxThreads {
				list = append(list, thread{id: id})
			}
		}
		if len(list) == known {
			return list, nil // the same again, for ever
		}
	}
	return list, nil
}

// isThread tells whether a text names a thread, so that it can stand in a request.
func isThread(id string) bool {
	digits := strings.TrimPrefix(id, "p")
	return digits != "" && len(id) <= 40 && strings.Trim(digits, "0123456789abcdefABCDEF.") == "" && strings.Count(id, ".") <= 1
}

// nameOf is what the server says of a thread beside its number, "" for nothing.
func (c *Client) nameOf(t thread) string {
	if t.name != "" {
		return t.name
	}
	reply, err := c.Ask("qThreadExtraInfo," + t.id)
	if err != nil || len(reply) == 0 || refusal(reply) {
		return ""
	}
	text := make([]byte, hex.DecodedLen(len(reply)))
	n, _ := hex.Decode(text, reply)
	return strings.TrimSpace(string(text[:n]))
}

// Stop is why the program stopped.
type Stop struct {
	// Signal by GDB's numbers (5: a step or a breakpoint).
	Signal int
	// Exited: the program is gone.
	Exited bool
	// Thread is which thread it was that stopped, "" where the server does not say.
	Thread string
}

// Trap is SIGTRAP.
const Trap = 5

// ParseStop reads a stop reply; ok is false where it is none.
func ParseStop(reply []byte) (s Stop, ok bool) {
	if len(reply) < 3 {
		return s, false
	}
	n, err := strconv.ParseUint(string(reply[1:3]), 16, 8)
	if s.Signal = int(n); err != nil {
		return s, false
	}
	switch reply[0] {
	case 'T':
		for pair := range strings.SplitSeq(string(reply[3:]), ";") {
			if id, is := strings.CutPrefix(pair, "thread:"); is && isThread(id) {
				s.Thread = id
			}
		}
	case 'S':
	case 'W', 'X':
		s.Exited = true
	default:
		return s, false
	}
	return s, true
}

// halted asks why the program stands.
func (c *Client) halted() (Stop, error) {
	reply, err := c.must("?")
	if err != nil {
		return Stop{}, err
	}
	s, ok := ParseStop(reply)
	if !ok {
		return s, &Refused{"?", string(reply[:min(len(reply), 80)])}
	}
	return s, nil
}

// fault is why a program stopped, nil where no fault did: by GDB's numbers of signals (include/gdb/signals.def).
func (s Stop) fault(mips bool) *target.Fault {
	names := map[int]string{4: "SIGILL", 6: "SIGABRT", 7: "SIGEMT", 8: "SIGFPE", 10: "SIGBUS", 11: "SIGSEGV", 12: "SIGSYS"}
	name := names[s.Signal]
	if name == "" {
		return nil
	}
	f := &target.Fault{Name: name}
	for n := range 32 {
		if signals.Name(n, mips) == name {
			f.Signal = n
		}
	}
	return f
}
