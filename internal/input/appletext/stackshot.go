package appletext

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// jsonStackshot is what a panic's report has: every thread of every process, and the text that
// the kernel wrote.
type jsonStackshot struct {
	Product   string `json:"product"`
	Build     string `json:"build"`
	String    string `json:"string"`
	Panic     string `json:"panicString"`
	Processes raw    `json:"-"` // of jsonProcess
	Binaries  raw    `json:"-"` // of jsonBinary
}

type jsonProcess struct {
	PID  int    `json:"pid"`
	Name string `json:"procname"`
}

// jsonShotThread is a thread: its frames are pairs of an image's number and an offset.
type jsonShotThread struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// jsonBinary is [UUID, base, kind].
type jsonBinary [3]any

func (b *jsonBinary) base() uint64 {
	// Of the kernel's addresses float64 has the upper 53 bits; the lower are zero, for bases are
	// those of pages.
	v, _ := b[1].(float64)
	if v < 0 || v >= 1<<64 {
		return 0
	}
	return uint64(v)
}

func (b *jsonBinary) uuid() []byte {
	s, _ := b[0].(string)
	return uuid(s)
}

// shot is a stackshot while it is read.
type shot struct {
	bases []uint64 // of the binaries, by number
	room  darwin.Room
}

// shotThread is a thread of a process.
type shotThread struct {
	pid    int
	thread target.Thread
}

// stackshot is the state of all processes: the panicked thread first, then by process and
// thread.
func (r *jsonReport) stackshot(name string, env *input.Env) (*darwin.Report, error) {
	arch, ok := darwin.Arch(env.Archs, "ARM-64") // what writes such reports
	if !ok {
		return nil, unknown(name, r.Product)
	}
	out := &darwin.Report{Arch: arch, OS: darwin.System(r.Build), Command: r.Product, Fault: &target.Fault{Name: "kernel panic"}}
	s := shot{room: darwin.NewRoom(len(r.Processes))}
	if t := panicked(r.String + r.Panic); len(t.Listed) > 0 {
		out.Fault.Thread = t.ID
		out.Threads = append(out.Threads, t)
	}
	out.Binaries = s.binaries(r.Binaries)
	threads := s.threads(r.Processes)
	slices.SortStableFunc(threads, func(a, b shotThread) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.thread.ID, b.thread.ID))
	})
	for i := range threads {
		out.Threads = append(out.Threads, threads[i].thread)
	}
	out.Issues = s.room.Issues(name)
	return out, nil
}

// threads are those of all processes.
func (s *shot) threads(processes raw) (list []shotThread) {
	more := func() bool { return s.room.Threads.Draw(1) }
	eachMember(processes, more, func(pid string, text raw) {
		var p jsonProcess
		if json.Unmarshal(text, &p) != nil {
			return
		}
		var all raw // of jsonShotThread
		parts(text, map[string]*raw{"threadById": &all})
		number, _ := strconv.Atoi(pid)
		process := darwin.Shortened(p.Name) + " [" + darwin.Shortened(pid) + "] "
		eachMember(all, more, func(_ string, text raw) {
			var t jsonShotThread
			if json.Unmarshal(text, &t) == nil {
				var user, kernel raw
				parts(text, map[string]*raw{"userFrames": &user, "kernelFrames": &kernel})
				list = append(list, shotThread{number, target.Thread{ID: t.ID, Name: strings.TrimSpace(process + t.Name),
					Listed: append(s.frames(kernel), s.frames(user)...)}})
			}
		})
	})
	return list
}

func (s *shot) frames(list raw) (out []target.Listed) {
	eachElement(list, func() bool { return s.room.Frames.Draw(1) }, func(f *[2]uint64, _ raw) {
		l := target.Listed{PC: f[1], Exact: len(out) == 0}
		if f[0] < uint64(len(s.bases)) {
			l.PC += s.bases[f[0]]
		}
		out = append(out, l)
	})
	return out
}

// farEnd is how far a binary reaches at most, of which only the base is known.
const farEnd = 1 << 28

// binaries have no size in a stackshot: each ends where the next begins.
func (s *shot) binaries(list raw) (out []darwin.Binary) {
	eachElement(list, func() bool { return s.room.Binaries.Draw(1) }, func(b *jsonBinary, _ raw) {
		s.bases = append(s.bases, b.base())
		if id := b.uuid(); id != nil && b.base() != 0 {
			name, _ := b[0].(string)
			out = append(out, darwin.Binary{Name: name, Base: b.base(), UUID: id})
		}
	})
	slices.SortFunc(out, func(a, b darwin.Binary) int { return cmp.Compare(a.Base, b.Base) })
	for i := range out {
		out[i].Size = farEnd
		if i+1 < len(out) {
			out[i].Size = min(out[i].Size, out[i+1].Base-out[i].Base)
		}
	}
	return out
}

// panicked is the thread whose backtrace the kernel wrote:
//
//	Panicked thread: 0xffffffe90ed3ced8, backtrace: 0xffffffecfb44f7e0, tid: 798
//			  lr: 0xfffffff02cfc6ba8  fp: 0xffffffecfb44f820
func panicked(text string) (t target.Thread) {
	_, text, ok := strings.Cut(text, "Panicked thread:")
	if !ok {
		return t
	}
	first, rest, _ := strings.Cut(text, "\n")
	_, tid, _ := strings.Cut(first, "tid: ")
	t.ID, _ = strconv.Atoi(strings.TrimSpace(tid))
	t.Name, t.Crashed = "panicked thread", true
	for line := range strings.Lines(rest) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "lr:" {
			break
		}
		if pc, ok := hexNumber(strings.TrimPrefix(f[1], "0x")); ok {
			t.Listed = append(t.Listed, target.Listed{PC: pc})
		}
	}
	return t
}
