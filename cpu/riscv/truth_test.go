package riscv

import (
	"bufio"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestCallBeforeTruth: before each return address of recorded call chains there
// is a call, and where it is direct, it goes to the function called.
func TestCallBeforeTruth(t *testing.T) {
	for arch, d := range map[string]decoder{"riscv64": rv64, "rv32imac": rv32zc} {
		cases, _ := filepath.Glob("../../../shared/truth/public/" + arch + "/*")
		for _, dir := range cases {
			t.Run(arch+"/"+filepath.Base(dir), func(t *testing.T) { returnAddresses(t, d, dir) })
		}
	}
}

func returnAddresses(t *testing.T, d decoder, dir string) {
	load := segments(t, filepath.Join(dir, "naked.elf"))
	direct, hit := 0, 0
	for ra, entry := range calls(t, filepath.Join(dir, "truth.jsonl.gz")) {
		code := load(ra-16, 16)
		if code == nil {
			t.Errorf("no code before %x", ra)
			continue
		}
		site, ok := d.CallBefore(code, ra, 0)
		if !ok {
			t.Errorf("no call before %x: % x", ra, code)
			continue
		}
		if site.Direct && entry != 0 {
			direct++
			if site.Target == entry {
				hit++
			}
		}
	}
	t.Logf("%d of %d direct calls go to the entry recorded", hit, direct)
	if hit != direct {
		t.Error("a direct call goes elsewhere")
	}
}

// segments returns a function that reads what the file maps.
func segments(t *testing.T, file string) func(addr uint64, size int) []byte {
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func(addr uint64, size int) []byte {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr+uint64(size) <= p.Filesz {
				buf := make([]byte, size)
				if _, err := p.ReadAt(buf, int64(addr-p.Vaddr)); err == nil {
					return buf
				}
			}
		}
		return nil
	}
}

// calls maps each return address of the chains to the entry of the function
// that returns there.
func calls(t *testing.T, file string) map[uint64]uint64 {
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
	for r := bufio.NewReader(z); ; {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			return found
		}
		var chain struct {
			Frames []struct{ PC, Entry, Kind string }
		}
		if err := json.Unmarshal(text, &chain); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(chain.Frames); i++ {
			callee, caller := chain.Frames[i-1], chain.Frames[i]
			if callee.Kind == "sigtramp" || caller.Kind == "sigtramp" {
				continue
			}
			found[number(caller.PC)] = number(callee.Entry)
		}
	}
}

// number is 0 where nothing is recorded.
func number(hex string) uint64 {
	v, _ := strconv.ParseUint(hex, 0, 64)
	return v
}
