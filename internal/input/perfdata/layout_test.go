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
