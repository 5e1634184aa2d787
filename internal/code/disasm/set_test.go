package disasm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestOffsets: ranges over words of the set, and the first place outside and inside.
func TestOffsets(t *testing.T) {
	var s Offsets
	s.AddRange(3, 5)
	s.AddRange(60, 130)
	s.AddRange(130, 192)
	for _, tt := range []struct{ from, without, next uint32 }{
		{0, 0, 3},
		{3, 5, 3},
		{4, 5, 4},
		{5, 5, 60},
		{59, 59, 60},
		{60, 192, 60},
		{128, 192, 128},
		{191, 192, 191},
		{192, 192, None},
		{1000, 1000, None},
	} {
		if got := s.Without(tt.from); got != tt.without {
			t.Errorf("Without(%d) is %d, want %d", tt.from, got, tt.without)
		}
		if got := s.Next(tt.from); got != tt.next {
			t.Errorf("Next(%d) is %d, want %d", tt.from, got, tt.next)
		}
		if s.Has(tt.from) != (tt.next == tt.from) {
			t.Errorf("Has(%d) is %t", tt.from, s.Has(tt.from))
		}
	}
	if s.Has(2) || !s.Has(64) || s.Has(None) || s.Span() < 192 {
		t.Errorf("%064b", s.bits)
	}
	s.Remove(64)
	s.Remove(1000)
	if s.Has(64) || !s.Has(65) || s.Next(64) != 65 {
		t.Error("64 was removed, and nothing else")
	}
	if s.Reset(); s.Has(60) || s.Without(3) != 3 || s.Span() != 0 {
		t.Error("something is left")
	}
	if s.AddAll(60, 0b10_0001); !s.Has(60) || !s.Has(65) || s.Has(61) || s.Next(61) != 65 || s.Span() != 128 {
		t.Error("60 and 65 were added")
	}
	s.Reset()
	if s.Add(70); !s.Has(70) || s.Has(64) || s.Next(0) != 70 {
		t.Error("a set that is used again does not hold what was added")
	}
}

// TestOffsetsAdded: ranges and words of bits, in a set that has room for them and in one that has none, add what their
// offsets add one by one.
func TestOffsetsAdded(t *testing.T) {
	for _, room := range []uint32{0, 1000} {
		for at := range uint32(130) {
			for n := range uint32(131) {
				var ranges, words, single Offsets
				ranges.Add(room)
				words.Add(room)
				single.Add(room)
				ranges.AddRange(at, at+n)
				for i := range n {
					single.Add(at + i)
				}
				if n > 0 && n <= 64 {
					words.AddAll(at, 1<<n-1)
				} else {
					words.AddRange(at, at+n)
				}
				for i := range uint32(300) {
					if want := single.Has(i); ranges.Has(i) != want || words.Has(i) != want {
						t.Fatalf("%d offsets from %d on: %d is in the set: %t and %t, want %t", n, at, i, ranges.Has(i), words.Has(i), want)
					}
				}
			}
		}
	}
}

// TestSet: places of both modes are told apart, and places without code are in every set,
// so that nobody goes there.
func TestSet(t *testing.T) {
	for _, tt := range []struct {
		cpu  string
		mode cpu.Mode
		step uint64
	}{{"arm", 1, 2}, {"arm", 0, 4}, {"x86_64", 0, 1}, {"mips o32 big", 0, 4}} {
		s := NewSet(code(t, codetest.Program{CPU: tt.cpu, Listing: "1000: 00000000\n10fc: 00000000"}))
		for pc := uint64(0x1000); pc < 0x1100; pc += tt.step {
			p := Addr{pc, tt.mode}
			if s.Has(p) || !s.Add(p) || s.Add(p) || !s.Has(p) {
				t.Fatalf("%s: adding %#x", tt.cpu, pc)
			}
		}
		for _, pc := range []uint64{0xfff, 0x1100, 0, ^uint64(0)} {
			if p := (Addr{pc, tt.mode}); !s.Has(p) || s.Add(p) {
				t.Errorf("%s: %#x is no code", tt.cpu, pc)
			}
		}
		if other := (Addr{0x1000, 1 - tt.mode}); tt.cpu == "arm" && s.Has(other) {
			t.Error("the set holds places of another mode")
		}
	}
}

// TestSetAhead: words of bits add what their places add one by one, and the next place of the set is as far as places one by one
// tell; none lies behind the end of the code.
func TestSetAhead(t *testing.T) {
	for _, tt := range []struct {
		cpu  string
		mode cpu.Mode
		step uint64
	}{{"arm", 1, 2}, {"x86_64", 0, 1}, {"aarch64", 0, 4}} {
		c := code(t, codetest.Program{CPU: tt.cpu, Listing: "1000: 00000000\n10fc: 00000000"})
		random := rand.New(rand.NewPCG(1, 0))
		for range 300 {
			words, single := NewSet(c), NewSet(c)
			at := Addr{0x1000 + tt.step*random.Uint64N(0x100/tt.step), tt.mode}
			word := random.Uint64() & random.Uint64() & random.Uint64()
			if end := 0x1100 - at.PC; end < 64 {
				word &= 1<<end - 1
			}
			words.AddAll(at, word)
			for i := range uint64(64) {
				if word>>i&1 != 0 {
					single.Add(Addr{at.PC + i, at.Mode})
				}
			}
			if !slices.Equal(words.Keys(), single.Keys()) {
				t.Fatalf("%s: %#x from %#x on: %#x, want %#x", tt.cpu, word, at.PC, words.Keys(), single.Keys())
			}
			from, want := Addr{0x1000 + tt.step*random.Uint64N(0x100/tt.step), tt.mode}, uint32(0)
			for ; want < 64 && !single.Has(Addr{from.PC + uint64(want), from.Mode}); want += uint32(tt.step) {
			}
			if got := words.Ahead(from); got != want {
				t.Fatalf("%s: %d bytes ahead of %#x in %#x, want %d", tt.cpu, got, from.PC, words.Keys(), want)
			}
		}
	}
}

// TestCounted: what a counted set tells of places between two is what a list of them tells.
func TestCounted(t *testing.T) {
	for _, tt := range []struct {
		cpu     string
		oneMode bool
	}{{"arm", false}, {"arm", true}, {"x86_64", false}, {"aarch64", false}, {"mips o32 big", true}, {"riscv64", false}} {
		c := code(t, codetest.Program{CPU: tt.cpu, OneMode: tt.oneMode, Listing: "1000: 00000000\n2ffc: 00000000\n9002: 00000000\n90fc: 00000000"})
		random, s := rand.New(rand.NewPCG(1, 0)), NewSet(c)
		for range 60 {
			s.Add(c.Addr(0x1000 + random.Uint64N(0x2000)))
			s.Add(c.Addr(0x9000 + random.Uint64N(0x100)))
		}
		keys, counted := s.Keys(), s.Counted()
		s.Add(Addr{PC: 0x1000}) // no longer of interest
		for range 5000 {
			lo := 0xf00 + random.Uint64N(0x9000)
			hi := lo + random.Uint64N(1<<random.Uint64N(15))
			i, _ := slices.BinarySearch(keys, lo)
			if got, want := counted.Between(lo, hi), i < len(keys) && keys[i] <= hi; got != want {
				t.Fatalf("%s: between %#x and %#x: %v; places %#x", tt.cpu, lo, hi, got, keys)
			}
		}
		if len(keys) > 0 && !counted.Between(0, ^uint64(0)) {
			t.Errorf("%s: none at all", tt.cpu)
		}
	}
}
