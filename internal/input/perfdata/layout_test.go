package perfdata

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/input"
)

// TestPeriod: a sample that states no period is of the period that was asked for (perf record -c), and of 1 where that was a frequency.
func TestPeriod(t *testing.T) {
	for flags, want := range map[uint64]uint64{sampleIDAll: 4000, sampleIDAll | byFrequency: 1} {
		f := newFile(binary.LittleEndian)
		f.attr = f.words(0, 0, 4000, hasIP|hasTID, 0, flags)
		f.event(eventSample, userMode, 0, f.words(0x1100), f.halves(7, 7))
		s, err := open(t.Context(), input.NewCapture("perf.data", f.bytes()), environment())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if snap, err := s.Next(t.Context()); err != nil || snap.Threads[0].Moment.Period != want {
			t.Errorf("flags %#x: %v, %+v", flags, err, snap)
		}
	}
}

// TestLayouts: of two kinds of samples with different fields, an event that is none tells at its end which kind's fields it has behind it.
func TestLayouts(t *testing.T) {
	f := newFile(binary.LittleEndian)
	const first, second = 101, 102
	var a attributes
	a.add(readLayout(f.words(0, 0, 0, hasIdentifier|hasIP|hasTID|hasTime, 0, sampleIDAll), false), f.words(first), false)
	a.add(readLayout(f.words(0, 0, 0, hasIdentifier|hasIP|hasTID|hasTime|hasCPU, 0, sampleIDAll), false), f.words(second), false)
	r := recording{attrs: a}
	for _, e := range []event{
		{kind: eventSample, body: f.words(second, 0x1100, 7, 55)},
		{kind: eventComm, body: f.words(7, 0, 7, 55, first)},
		{kind: eventComm, body: f.words(7, 0, 7, 55, 3, second)},
	} {
		if got := r.timeOf(&e); got != 55 {
			t.Errorf("kind %d: time %d", e.kind, got)
		}
	}
}

// TestEventNames: an event of the kernel's own has perf's name where the recording gives none.
func TestEventNames(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f := newFile(order)
		for _, tt := range []struct {
			kind   uint32
			number uint64
			want   string
		}{{0, 0, "cycles"}, {0, 8<<32 | 1, "instructions"}, {1, 0, "cpu-clock"}, {1, 99, ""}, {2, 0, ""}} {
			attr := append(f.halves(tt.kind, 112), f.words(tt.number, 0, testFields)...)
			if l := readLayout(attr, order.String() == "BigEndian"); l.event != tt.want {
				t.Errorf("%v, type %d, number %#x: %q", order, tt.kind, tt.number, l.event)
			}
		}
	}
}

// TestTracingData: perf has the tracing data behind its event, early simpleperf within. No event begins there.
func TestTracingData(t *testing.T) {
	for name, within := range map[string]bool{"perf": false, "simpleperf": true} {
		f := newFile(binary.LittleEndian)
		data := make([]byte, 2012)
		if within {
			f.event(eventTracing, 0, 0, f.halves(uint32(len(data))), data)
		} else {
			f.event(eventTracing, 0, 0, f.halves(uint32(len(data)), 0))
			f.events = append(f.events, append(data, 0, 0, 0, 0))
		}
		f.program()
		if got := summary(t, f.bytes()); got != programSays {
			t.Errorf("%s:\n%swant\n%s", name, got, programSays)
		}
	}
}
