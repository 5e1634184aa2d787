package e2e_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/backsight/backsight/target"
)

// stopped is a live process as far as a Pager shows it: the memory of a capture, read
// when it is asked for.
type stopped struct {
	memory *target.Memory
	reads  int
}

func (s *stopped) ReadPage(addr uint64, page []byte) (int, error) {
	s.reads++
	if n := s.memory.Read(addr, page); n < len(page) {
		return n, errors.New("not mapped")
	}
	return len(page), nil
}

// TestPagedMemory: a program whose memory is read on demand has the backtrace of the one
// that was captured, for a few pages of it.
func TestPagedMemory(t *testing.T) {
	captured := crashed(t)
	live, process := *captured, &stopped{memory: captured.Memory}
	var b target.Builder
	size := uint64(0)
	for _, s := range captured.Memory.Segments() {
		b.AddPaged(s.Addr, s.Size(), process, s.Perm)
		size += s.Size()
	}
	live.Memory = b.Memory(captured.Arch)
	want, got := backtrace(t, captured, nil), backtrace(t, &live, nil)
	if !slices.Equal(got.Frames, want.Frames) || got.Stop != want.Stop {
		t.Errorf("%v %v, want %v %v", got.Frames, got.Stop, want.Frames, want.Stop)
	}
	if pages := size / target.PageSize; process.reads > 10 || live.Memory.Err() != nil {
		t.Errorf("%d pages of %d were read, %v", process.reads, pages, live.Memory.Err())
	}
}
