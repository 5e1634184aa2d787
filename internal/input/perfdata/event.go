package perfdata

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"io"

	"github.com/backsight/backsight/internal/bin"
)

// Kinds of events: the kernel's, and from firstOfPerf on those that perf writes itself.
const (
	eventMmap        = 1
	eventLost        = 2
	eventComm        = 3
	eventExit        = 4
	eventThrottle    = 5
	eventFork        = 7
	eventSample      = 9
	eventMmap2       = 10
	eventLostSamples = 13
	eventKsymbol     = 17
	firstOfPerf      = 64
	eventAttr        = 64
	eventTracing     = 66
	eventBuildID     = 67
	eventRound       = 68
	eventAux         = 71
	eventFeature     = 80
	eventCompressed  = 81
	eventCompressed2 = 83
)

// eventHeader is the size of an event's kind, bits and size.
const eventHeader = 8

// event is one event. Its body ends with padding to eight bytes.
type event struct {
	kind uint32
	misc uint16
	body []byte // behind the header; nil: there is none
	time uint64 // 0: none, in front of all
	// count tells events of one time apart.
	count uint64
}

// readEvent reads an event that is in memory.
func readEvent(in *bin.Reader) (e event) {
	e.kind, e.misc = in.U32(), in.U16()
	size := in.U16()
	if size < eventHeader || in.Err() != nil {
		return e
	}
	e.body = in.Bytes(uint64(size) - eventHeader)
	return e
}

// rounds are times of the rounds in which perf writes events (eventRound).
type rounds struct {
	round  uint64 // the latest of the rounds before the one that is read
	latest uint64
	until  uint64 // events that are not later may be told
}

// events are those of a recording, in the order of their times. Each processor has a buffer of its own, and perf writes one
// after the other: what the first round of all buffers has may lie behind what the second has, but not the third (eventRound).
type events struct {
	rec     *recording
	in      *bufio.Reader // of a pipe, which may have any number of bytes; nil: a file
	data    []byte        // what is left of a file
	left    uint64        // of the bytes that it says it has
	at      int64         // offset in the file
	waiting byTime
	size    int    // bytes that wait
	most    int    // that may
	count   uint64 // of events that waited
	rounds
	inner  []byte // unpacked, in buffer
	buffer []byte
	packed unpacker
	cut    bool
}

// maxWaiting bounds in bytes the events of all files that wait for others, or leastWaiting those of each: buffers of perf have half a
// megabyte a processor. Each takes perEvent besides its own.
const maxWaiting, leastWaiting, perEvent = 16 << 20, 1 << 20, 64

// pipeEvents are those of a recording through a pipe.
func pipeEvents(r *recording, in io.Reader) *events {
	e := &events{rec: r, in: bufio.NewReaderSize(in, 1<<18), at: pipeHeader}
	_, err := io.CopyN(io.Discard, e.in, pipeHeader)
	e.cut = err != nil
	return e
}

// fileEvents are those of a file. They are not copied: stacks are most of it, and little of each is looked at.
func fileEvents(r *recording, all []byte, data section) *events {
	return &events{rec: r, data: all[min(data.off, uint64(len(all))):], left: data.size, at: int64(data.off)}
}

// gather reads until the first event that waits is the next by time, and tells whether there is one.
func (e *events) gather(ctx context.Context) bool {
	for !e.cut && (len(e.waiting) == 0 || e.waiting[0].time > e.until && e.size <= e.most) {
		ev, ok := e.read(ctx)
		if !ok {
			if ctx.Err() != nil {
				return false
			}
			e.cut = true
			break
		}
		if ev.kind == eventRound {
			e.until, e.round = e.round, e.latest
			continue
		}
		e.count++
		e.latest, ev.count = max(e.latest, ev.time), e.count
		waits := ev
		heap.Push(&e.waiting, &waits)
		e.size += len(ev.body) + perEvent
	}
	return len(e.waiting) > 0
}

// first takes the first event that waits.
func (e *events) first() event {
	ev := *heap.Pop(&e.waiting).(*event)
	e.size -= len(ev.body) + perEvent
	return ev
}

// byTime is a heap of events; those of one time are in the order in which they were read.
type byTime []*event

func (h byTime) Len() int { return len(h) }
func (h byTime) Less(i, j int) bool {
	return h[i].time < h[j].time || h[i].time == h[j].time && h[i].count < h[j].count
}
func (h byTime) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *byTime) Pop() any {
	last := len(*h) - 1
	ev := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return ev
}

// read reads the next event of the file, unpacked.
func (e *events) read(ctx context.Context) (ev event, ok bool) {
	for ctx.Err() == nil {
		if ev, ok = e.unpacked(); !ok {
			if ev, ok = e.stored(); !ok {
				return ev, false
			}
		}
		switch ev.kind {
		case eventCompressed, eventCompressed2:
			e.unpack(&ev)
			continue
		case eventTracing, eventAux: // what follows is no event; early simpleperf has tracing data within its event
			in := bin.New(ev.body, e.rec.big)
			if ev.kind == eventAux {
				e.skip(in.U64())
			} else if n := uint64(in.U32()); n > uint64(in.Len()) {
				e.skip((n + 7) &^ 7)
			}
			continue
		}
		ev.time = e.rec.timeOf(&ev)
		return ev, true
	}
	return ev, false
}

// unpack appends what an event has packed to what is not yet read of those before.
func (e *events) unpack(ev *event) {
	if e.packed.err != nil {
		return
	}
	out, err := e.packed.unpack(packedBytes(ev, e.rec.big))
	e.buffer = append(append(e.buffer[:0], e.inner[:min(len(e.inner), maxEvent)]...), out...)
	e.inner = e.buffer
	e.end(err)
}

// end says why nothing more is unpacked, if so.
func (e *events) end(err error) {
	if e.packed.err = err; err != nil {
		e.rec.issue("the packed events in front of %#x: %v; further ones are not read", e.at, err)
	}
}

// maxEvent bounds the size of an event.
const maxEvent = 1<<16 - 1

// unpacked is the next event of those that were unpacked, if it is whole: the rest may stand in the next packed one. Its body is a
// copy: while it waits, the others that were unpacked with it do not.
func (e *events) unpacked() (ev event, ok bool) {
	if len(e.inner) < eventHeader {
		return ev, false
	}
	in := bin.New(e.inner, e.rec.big)
	if ev = readEvent(&in); ev.body == nil {
		return ev, false
	}
	if !e.packed.room.Draw(perUnpacked) {
		e.inner = nil
		e.end(e.packed.room.Err())
		return ev, false
	}
	e.inner, ev.body = e.inner[in.Offset():], bytes.Clone(ev.body)
	return ev, true
}

// stored reads an event as it is stored.
func (e *events) stored() (ev event, ok bool) {
	if e.in == nil && e.left < eventHeader {
		return ev, false
	}
	head, ok := e.header()
	if !ok {
		return ev, false
	}
	in := bin.New(head, e.rec.big)
	ev.kind, ev.misc = in.U32(), in.U16()
	size := int(in.U16())
	if size < eventHeader {
		e.rec.issue("the event at %#x has a size of %d bytes; what follows is not read", e.at-eventHeader, size)
		return ev, false
	}
	if ev.body, ok = e.take(size - eventHeader); !ok && e.in != nil { // of a file the header says how much there is
		e.rec.issue("the recording is cut short at %#x, within an event", e.at)
	}
	return ev, ok
}

// header takes the header of an event, which is valid until more is taken.
func (e *events) header() (b []byte, ok bool) {
	if e.in == nil {
		return e.take(eventHeader)
	}
	b, err := e.in.Peek(eventHeader)
	n, _ := e.in.Discard(len(b)) // what is in the buffer
	e.passed(n)
	return b, err == nil
}

// take takes n bytes, fewer where the recording ends.
func (e *events) take(n int) (b []byte, ok bool) {
	if e.in == nil {
		b = e.data[:min(n, len(e.data))]
		e.data, ok = e.data[len(b):], len(b) == n
	} else {
		b = make([]byte, n)
		k, err := io.ReadFull(e.in, b)
		b, ok = b[:k], err == nil
	}
	e.passed(len(b))
	return b, ok
}

func (e *events) passed(n int) {
	e.at += int64(n)
	e.left -= min(e.left, uint64(n))
}

// skip leaves bytes out.
func (e *events) skip(n uint64) {
	if e.in == nil {
		b, ok := e.take(int(min(n, uint64(len(e.data))+1)))
		e.cut = e.cut || !ok || uint64(len(b)) < n
		return
	}
	k, err := io.CopyN(io.Discard, e.in, int64(min(n, 1<<62)))
	e.passed(int(k))
	e.cut = e.cut || err != nil
}
