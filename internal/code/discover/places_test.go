package discover

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/captured"
)

// codeOf is a program of a processor, without any bytes.
func codeOf(t *testing.T, cpu, abi string, big bool) disasm.Code {
	arch, ok := captured.Archs().ByName(cpu, abi, big)
	if !ok {
		t.Fatal("no " + cpu)
	}
	return disasm.Of(image.New(image.Header{Arch: arch}, nil))
}

// TestListed: questions have the same answers before and after all places are listed. Most parts have no place.
func TestListed(t *testing.T) {
	const size, n = 16, 1000
	find := func(i int) keys {
		if i%100 != 7 {
			return nil
		}
		return keys{uint64(i * size), uint64(i*size + 3)}
	}
	p := newPlaces(codeOf(t, "x86_64", "", false), n, func(key uint64) int { return int(key / size) }, find)
	answers := func() (list []string) {
		for pc := uint64(0); pc < size*n; pc += 3 {
			next, some := p.next(pc, 7*size)
			a := disasm.Addr{PC: pc}
			list = append(list, fmt.Sprint(pc, p.has(a), p.below(make([]uint64, 0, 3), a), next, some, p.between(span{pc, pc + 5*size})))
		}
		return list
	}
	before := answers()
	if all := p.list(); len(all) != 2*n/100 || !slices.Equal(all, p.list()) {
		t.Errorf("listed: %#x", all)
	}
	if !slices.Equal(answers(), before) {
		t.Error("answers differ once all are listed")
	}
}

// TestOnAllCores: each number is worked on once, and a panic comes back.
func TestOnAllCores(t *testing.T) {
	var done [1000]atomic.Int32
	onAllCores(len(done), 7, func(_, i int) { done[i].Add(1) })
	for i := range done {
		if n := done[i].Load(); n != 1 {
			t.Fatalf("%d is worked on %d times", i, n)
		}
	}
	defer func() {
		if r := recover(); r != "broken" {
			t.Errorf("the caller gets %v", r)
		}
	}()
	onAllCores(len(done), 7, func(_, i int) {
		if i == 500 {
			panic("broken")
		}
	})
}

// TestWithin: what leads out of the code, and what lies where no instruction begins, is left out.
func TestWithin(t *testing.T) {
	code := codeOf(t, "mips", "o32", true)
	refs := []cpu.CallRef{{Site: 0x1000, Target: 0x1100}, {Site: 0x1004, Target: 0xfff}, {Site: 0x1008, Target: 0x2000}, {Site: 0x100c, Target: 0x1101}}
	if got := within(code, span{0x1000, 0x2000}, refs); !slices.Equal(got, []shortJump{{0, 0x100}}) {
		t.Errorf("%#x", got)
	}
}
