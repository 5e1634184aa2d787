package e2e_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestProcessorsShadowStack: cores of real programs are given the shadow stack that the processor would have kept, as
// Linux lays it out: the return address of each call, the newest at the lowest address, and a token below which a signal
// was delivered. Frames are the same beside it, and stay the same where each return address on the stack is overwritten,
// none of them then by what the stack has. One other entry on the shadow stack takes the certainty of that frame.
func TestProcessorsShadowStack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		token func(at uint64) uint64
	}{
		{"x86_64-threads", func(at uint64) uint64 { return at + 8 | 1<<63 }},
		{"aarch64-signal", func(at uint64) uint64 { return at &^ 0xfff }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := "../../testdata/" + tt.name
			snap := captured.Core(t, dir+"/core.gz", dir+"/modules")
			for i := range snap.Threads {
				plain := walkOf(t, snap, i)
				kept := shadowed(snap, i, plain, tt.token, func([]byte) {})
				if got := walkOf(t, kept, i); !samePlaces(got, plain) || !matchesFrom(got, 1) {
					t.Errorf("thread %d, stack as it was: %v", i, got)
				}
				smashed := *kept
				smashed.Memory = overwritten(snap.Arch.AddrSize, kept, plain)
				if got := walkOf(t, &smashed, i); !samePlaces(got, plain) || !matchesFrom(got, 2) {
					t.Errorf("thread %d, overwritten: %v", i, got)
				}
				other := shadowed(snap, i, plain, tt.token, func(words []byte) { binary.LittleEndian.PutUint64(words[8:], plain[1].PC) })
				if got := walkOf(t, other, i); len(got) < 3 || got[2].Trust == unwind.Certain {
					t.Errorf("thread %d, another return address on the shadow stack: %v", i, got)
				}
			}
		})
	}
}

func walkOf(t *testing.T, snap *target.Snapshot, thread int) []unwind.Frame {
	t.Helper()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	frames, _ := u.Walker(snap).Walk(&snap.Threads[thread], nil)
	return frames
}

// samePlaces: two walks have the same frames; where the first does not know a CFA, that may be.
func samePlaces(got, want []unwind.Frame) bool {
	return slices.EqualFunc(got, want, func(a, b unwind.Frame) bool {
		return a.PC == b.PC && a.Exact == b.Exact && (!a.HasCFA || a.CFA == b.CFA)
	})
}

// matchesFrom: from a frame on, all that calls led to are by the shadow stack.
func matchesFrom(frames []unwind.Frame, first int) bool {
	for _, f := range frames[min(first, len(frames)):] {
		if !f.Exact && !f.Checks.Has(unwind.ShadowMatches) {
			return false
		}
	}
	return true
}

// shadowed is a snapshot with a shadow stack for the frames of one thread.
func shadowed(snap *target.Snapshot, thread int, frames []unwind.Frame, token func(uint64) uint64, change func([]byte)) *target.Snapshot {
	const at = 0x7000_0000_0000
	var words []byte
	for _, f := range frames[1:] {
		word := f.PC
		if f.Exact {
			word = token(at + uint64(len(words)))
		}
		words = binary.LittleEndian.AppendUint64(words, word)
	}
	change(words)
	s := *snap
	s.Threads = slices.Clone(snap.Threads)
	s.Threads[thread].Shadow = at
	s.Memory = withMemory(snap, at, words)
	return &s
}

// withMemory is a snapshot's memory with more of it.
func withMemory(snap *target.Snapshot, at uint64, data []byte) *target.Memory {
	var b target.Builder
	for _, seg := range snap.Memory.Segments() {
		b.Add(seg.Addr, seg.Data, seg.Rest, seg.Perm)
	}
	b.Add(at, data, 0, target.PermRead)
	return b.Memory(snap.Arch)
}

// overwritten is a snapshot's memory, in which no word of the stacks is the return address of a frame any more.
func overwritten(word int, snap *target.Snapshot, frames []unwind.Frame) *target.Memory {
	var b target.Builder
	for _, seg := range snap.Memory.Segments() {
		data := slices.Clone(seg.Data)
		for at := 0; seg.Perm&target.PermWrite != 0 && at+word <= len(data); at += word {
			v := binary.LittleEndian.Uint64(data[at:])
			if slices.ContainsFunc(frames[1:], func(f unwind.Frame) bool { return !f.Exact && f.PC == v }) {
				binary.LittleEndian.PutUint64(data[at:], 0x4141_4141_4141_4141)
			}
		}
		b.Add(seg.Addr, data, seg.Rest, seg.Perm)
	}
	return b.Memory(snap.Arch)
}
