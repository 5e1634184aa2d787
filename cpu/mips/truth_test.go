package mips

import (
	"bufio"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestTruth: before every return address of recorded call chains stands a call,
// and a direct one goes to the entry of the function that was called.
func TestTruth(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(truth, "public", "mips*", "*", "truth.jsonl.gz"))
	for _, file := range files {
		dir := filepath.Dir(file)
		family := filepath.Base(filepath.Dir(dir))
		t.Run(family+"/"+filepath.Base(dir), func(t *testing.T) {
			image, err := elf.Open(filepath.Join(dir, "naked.elf"))
			if err != nil {
				t.Skip(err)
			}
			defer image.Close()
			code, err := image.Section(".text").Data()
			if err != nil {
				t.Fatal(err)
			}
			checkChains(t, archOfFamily(t, family), code, image.Section(".text").Addr, recordedCalls(t, file))
		})
	}
}

func checkChains(t *testing.T, a *cpu.Arch, code []byte, start uint64, calls map[uint64]uint64) {
	direct := 0
	for ra, entry := range calls {
		if ra-start > uint64(len(code)) {
			continue // the signal trampoline
		}
		before := code[:ra-start]
		site, ok := a.Decoder.CallBefore(before, ra, 0)
		if !ok { // the chains do not say in which mode a frame runs
			site, ok = a.Decoder.CallBefore(before, ra, 1)
		}
		switch {
		case !ok:
			t.Errorf("no call before %#x", ra)
		case site.Direct && entry != 0:
			if direct++; site.Target != entry {
				t.Errorf("the call before %#x goes to %#x, recorded %#x", ra, site.Target, entry)
			}
		}
	}
	t.Logf("%d return addresses, %d of direct calls", len(calls), direct)
}

// archOfFamily is the descriptor of a folder of the recorded truth.
func archOfFamily(t *testing.T, family string) *cpu.Arch {
	t.Helper()
	switch family {
	case "mips64":
		return archOf(t, "n64", true, plain)
	case "mips64el":
		return archOf(t, "n64", false, plain)
	case "mipsn32":
		return archOf(t, "n32", true, plain)
	case "mipsr6":
		return archOf(t, "o32", true, release6)
	}
	return archOf(t, "o32", family != "mipsel", plain)
}

// recordedCalls maps return addresses to the entry of the function that returns
// there, 0 where none is recorded.
func recordedCalls(t *testing.T, file string) map[uint64]uint64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]uint64{}
	for s := json.NewDecoder(bufio.NewReader(z)); s.More(); {
		var chain struct {
			Frames []struct{ PC, Entry, Kind string }
		}
		if err := s.Decode(&chain); err != nil {
			t.Fatal(err)
		}
		for k := 1; k < len(chain.Frames); k++ {
			callee, caller := chain.Frames[k-1], chain.Frames[k]
			if callee.Kind == "sigtramp" || caller.Kind == "sigtramp" {
				continue
			}
			pc, err := strconv.ParseUint(caller.PC, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			found[pc], _ = strconv.ParseUint(callee.Entry, 0, 64)
		}
	}
	return found
}
