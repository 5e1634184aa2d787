package perfdata

import (
	"math"
	"math/bits"
	"slices"

	"github.com/backsight/backsight/internal/bin"
)

// Bits of perf_event_attr.sample_type.
const (
	hasIP         = 1 << 0
	hasTID        = 1 << 1
	hasTime       = 1 << 2
	hasAddr       = 1 << 3
	hasRead       = 1 << 4
	hasCallchain  = 1 << 5
	hasID         = 1 << 6
	hasCPU        = 1 << 7
	hasPeriod     = 1 << 8
	hasStreamID   = 1 << 9
	hasRaw        = 1 << 10
	hasBranches   = 1 << 11
	hasRegsUser   = 1 << 12
	hasStackUser  = 1 << 13
	hasIdentifier = 1 << 16
)

// Bits of perf_event_attr.read_format, of branch_sample_type, and the flags by which a frequency stands in place of the period, and all
// events tell their time.
const (
	readEnabled   = 1 << 0
	readRunning   = 1 << 1
	readID        = 1 << 2
	readGroup     = 1 << 3
	readLost      = 1 << 4
	branchIndex   = 1 << 17
	branchCounter = 1 << 19
	byFrequency   = 1 << 10
	sampleIDAll   = 1 << 18
	useClockID    = 1 << 25
)

// clockMonotonic is CLOCK_MONOTONIC, the clock of perf record -k mono.
const clockMonotonic = 1

// layout is what an attribute says of the events recorded for it.
type layout struct {
	fields, read, branches, regs uint64
	period                       uint64 // of samples that state none
	idAll                        bool
	monotonic                    bool // times are of CLOCK_MONOTONIC
	event                        string
}

// eventNames are those that perf has for the kernel's own events (perf_hw_id, perf_sw_ids), by the event's type and number.
var eventNames = [...][]string{
	{"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
		"stalled-cycles-backend", "ref-cycles"},
	{"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy", "bpf-output", "cgroup-switches"},
}

// eventName is the name of an event of the kernel's own, "" for any other.
func eventName(kind uint32, number uint64) string {
	if kind >= uint32(len(eventNames)) || number >= uint64(len(eventNames[kind])) {
		return ""
	}
	return eventNames[kind][number]
}

// readLayout reads perf_event_attr, of which old kernels write a shorter one.
func readLayout(attr []byte, big bool) layout {
	at := func(off uint64) uint64 {
		in := bin.NewAt(attr, off, big)
		return in.U64()
	}
	l := layout{fields: at(24), read: at(32), idAll: at(40)&sampleIDAll != 0, branches: at(72), regs: at(80), period: 1}
	if at(40)&byFrequency == 0 {
		l.period = max(1, at(16)) // perf record -c
	}
	kind := bin.New(attr, big)
	l.event = eventName(kind.U32(), at(8)&math.MaxUint32) // above: the unit, where there are several
	clock := bin.NewAt(attr, 92, big)
	l.monotonic = at(40)&useClockID != 0 && clock.U32() == clockMonotonic
	return l
}

// maxAttributes bounds the attributes of a recording, maxIDs their IDs: one an event and processor. What the same bytes state for
// several attributes counts each time.
const maxAttributes, maxIDs = 1 << 10, 1 << 20

// attributes are those of a recording.
type attributes struct {
	list []layout
	ids  map[uint64]int // the attribute of an ID
	read int            // IDs
}

// add adds an attribute and its IDs.
func (a *attributes) add(l layout, ids []byte, big bool) {
	if a.ids == nil {
		a.ids = map[uint64]int{}
	}
	for in := bin.New(ids, big); in.Len() >= 8 && a.read < maxIDs; a.read++ {
		a.ids[in.U64()] = len(a.list)
	}
	a.list = append(a.list, l)
}

// monotonic tells whether the times of all events are of CLOCK_MONOTONIC.
func (a *attributes) monotonic() bool {
	return !slices.ContainsFunc(a.list, func(l layout) bool { return !l.monotonic })
}

// of is the layout of an event that the kernel wrote.
func (a *attributes) of(e *event, big bool) *layout {
	if len(a.list) == 0 {
		return nil
	}
	l := &a.list[0]
	if len(a.list) == 1 || l.fields&(hasIdentifier|hasID) == 0 {
		return l
	}
	in := bin.NewAt(e.body, l.idAt(e), big)
	if i, ok := a.ids[in.U64()]; ok {
		return &a.list[i]
	}
	return l
}

// idAt is where an event tells its attribute's ID: samples in front, where attributes differ, else at one place in all; other events as
// far from the end.
func (l *layout) idAt(e *event) uint64 {
	words := func(fields uint64) uint64 { return 8 * uint64(bits.OnesCount64(l.fields&fields)) }
	end := uint64(len(e.body))
	switch {
	case e.kind == eventSample && l.fields&hasIdentifier != 0:
		return 0
	case e.kind == eventSample:
		return words(hasIP | hasTID | hasTime | hasAddr)
	case l.fields&hasIdentifier != 0:
		return end - min(end, words(hasIdentifier))
	}
	return end - min(end, words(hasID|hasStreamID|hasCPU))
}

// sample is what a sample says.
type sample struct {
	ip, time, period uint64
	pid, tid         uint32
	cpu              int    // -1 unknown
	chain            []byte // words
	abi              uint64 // of regs: 0 none, 1 of 32 bits, 2 of 64
	regs             []byte // words, for each bit of layout.regs
	stack            []byte // from SP on
}

// readSample reads a sample, as far as that can be read. Fields behind the stack are not looked at.
func (l *layout) readSample(body []byte, big bool) (s sample, ok bool) {
	in := bin.New(body, big)
	word := func(field uint64) (v uint64) {
		if l.fields&field != 0 {
			v = in.U64()
		}
		return v
	}
	word(hasIdentifier)
	s.ip = word(hasIP)
	if l.fields&hasTID != 0 {
		s.pid, s.tid = in.U32(), in.U32()
	}
	s.time = word(hasTime)
	word(hasAddr)
	word(hasID)
	word(hasStreamID)
	if s.cpu = -1; l.fields&hasCPU != 0 {
		s.cpu = int(in.U32())
		in.Skip(4)
	}
	if s.period = l.period; l.fields&hasPeriod != 0 {
		s.period = in.U64()
	}
	l.skipRead(&in)
	if n := word(hasCallchain); n > 0 {
		s.chain = in.Bytes(8 * min(n, uint64(in.Len())))
	}
	if l.fields&hasRaw != 0 {
		in.Skip(uint64(in.U32()))
	}
	l.skipBranches(&in)
	if s.abi = word(hasRegsUser); s.abi != 0 {
		s.regs = in.Bytes(8 * uint64(bits.OnesCount64(l.regs)))
	}
	if n := word(hasStackUser); n > 0 {
		copied := in.Bytes(n)
		s.stack = copied[:min(in.U64(), uint64(len(copied)))]
	}
	return s, in.Err() == nil
}

// skipRead skips the counters that a sample may have.
func (l *layout) skipRead(in *bin.Reader) {
	if l.fields&hasRead == 0 {
		return
	}
	times := uint64(bits.OnesCount64(l.read & (readEnabled | readRunning)))
	each := 1 + uint64(bits.OnesCount64(l.read&(readID|readLost)))
	n := uint64(1)
	if l.read&readGroup != 0 {
		n = min(in.U64(), uint64(in.Len()))
	}
	in.Skip(8 * (times + n*each))
}

// skipBranches skips the branches that a sample may have.
func (l *layout) skipBranches(in *bin.Reader) {
	if l.fields&hasBranches == 0 {
		return
	}
	n := min(in.U64(), uint64(in.Len()))
	if l.branches&branchIndex != 0 {
		in.Skip(8)
	}
	in.Skip(24 * n)
	if l.branches&branchCounter != 0 {
		in.Skip(8 * n)
	}
}

// timeOf is the time of an event, 0 where it tells none. Events that are no samples have it behind all else.
func (r *recording) timeOf(e *event) uint64 {
	l := r.attrs.of(e, r.big)
	switch {
	case l == nil || l.fields&hasTime == 0 || e.kind >= firstOfPerf:
		return 0
	case e.kind == eventSample:
		in := bin.NewAt(e.body, 8*uint64(bits.OnesCount64(l.fields&(hasIdentifier|hasIP|hasTID))), r.big)
		return in.U64()
	case !l.idAll:
		return 0
	}
	behind := 8 * (1 + bits.OnesCount64(l.fields&(hasID|hasStreamID|hasCPU|hasIdentifier)))
	if len(e.body) < behind {
		return 0
	}
	in := bin.NewAt(e.body, uint64(len(e.body)-behind), r.big)
	return in.U64()
}

// name is the name of the event that a layout is of: the one that the recording gives it; "" unknown.
func (a *attributes) name(l *layout, names []string) string {
	for i := range a.list {
		if l == &a.list[i] && i < len(names) {
			return names[i]
		}
	}
	return l.event
}
