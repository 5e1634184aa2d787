package corrupt

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

func seeds(t *testing.T) []Seed {
	t.Helper()
	all, err := Seeds(t.Context(), t.TempDir(), "../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMutants: a hundred mutants end, say something where they give nothing, and make
// nothing certain that the unharmed capture does not have.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("unwinds a hundred captures")
	}
	all, known := seeds(t), map[int]map[any]bool{}
	for n := range uint64(120) {
		i := int(n) % len(all)
		s := &all[i]
		if known[i] == nil {
			a, err := answer(t.Context(), t.TempDir(), s, s.Files)
			if err != nil || len(a.Frames) == 0 {
				t.Fatalf("%s, unharmed: %d frames, %v", s.Name, len(a.Frames), err)
			}
			known[i] = a.places()
		}
		m := s.Corrupt(n)
		a, err := answer(t.Context(), t.TempDir(), s, m.Files)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Frames) == 0 && !a.Said {
			t.Errorf("%s %d, %s: no frame, and nothing is said", s.Name, n, m.What)
		}
		if f := a.lie(known[i]); f != nil && !m.Evidence {
			t.Errorf("%s %d, %s: %+v", s.Name, n, m.What, *f)
		}
	}
}

// TestSameMutants: a number makes the same mutant each time, most numbers make one that
// differs from the seed, and the seed stays as it is.
func TestSameMutants(t *testing.T) {
	same := func(x, y File) bool { return x.Name == y.Name && bytes.Equal(x.Data, y.Data) }
	for _, s := range seeds(t) {
		before, differ := bytes.Clone(s.Files[0].Data), 0
		for n := range uint64(8) {
			a, b := s.Corrupt(n), s.Corrupt(n)
			if !slices.EqualFunc(a.Files, b.Files, same) {
				t.Errorf("%s: %s and %s", s.Name, a.What, b.What)
			}
			if !slices.EqualFunc(a.Files, s.Files, same) {
				differ++
			}
		}
		if differ < 4 || !bytes.Equal(before, s.Files[0].Data) {
			t.Errorf("%s: %d of 8 mutants differ; or the seed was changed", s.Name, differ)
		}
	}
}

// TestParts: what is in the program of a capture of testdata, and in a core.
func TestParts(t *testing.T) {
	for path, want := range map[string][]string{
		"x86_64-threads/modules/usr/bin/server": {"ELF header", "program headers", "section headers", "dynamic section", "symbols",
			"note headers", "notes", "relocations", ".eh_frame", ".eh_frame_hdr", ".debug_info", ".debug_abbrev", ".debug_line"},
		"mips-deref/core.gz": {"ELF header", "program headers", "note headers", "notes", "registers"},
	} {
		b, err := unzip("../../testdata/" + path)
		if err != nil {
			b, err = os.ReadFile("../../testdata/" + path)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, g := range elfGroups(b) {
			found[g.name] = true
		}
		for _, name := range want {
			if !found[name] {
				t.Errorf("%s: no %s among %v", path, name, found)
			}
		}
	}
}

// TestElements: members are repeated and removed with their names, and what lies in the
// list of images is no evidence.
func TestElements(t *testing.T) {
	text := []byte(`{"regs":{"pc":"0x1"},"images":[{"path":"a","bias":1}]}`)
	list := tokens(text)
	for i, want := range map[int]string{
		3: `"regs":{"pc":"0x1"}`,
		6: `"pc":"0x1"`,
	} {
		if from, to := element(text, list, i); string(text[from:to]) != want {
			t.Errorf("token %d: %q, want %q", i, text[from:to], want)
		}
	}
	for i, tok := range list[1:] {
		part := string(text[tok.at:tok.end])
		if want := tok.at < bytes.Index(text, []byte(`"images"`)); inEvidence(text, list, i+1) != want {
			t.Errorf("%s at %d: evidence %v", part, tok.at, !want)
		}
	}
}

// TestDamagedSeed: a mutant may be changed again, whatever has become of it.
func TestDamagedSeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range seeds(t) {
		m := &Mutant{Seed: &s}
		f := File{s.Files[len(s.Files)-1].Name, bytes.Clone(s.Files[len(s.Files)-1].Data)}
		for range 50 {
			m.change(&f, rng)
		}
	}
}
