package snapshot_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/arm"
	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/cpu/riscv"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/snapshot"
	"github.com/backsight/backsight/target"
)

const truthDir = "../../../shared/truth/public"

var processors = sync.OnceValue(func() (s cpu.Set) {
	for _, list := range [][]*cpu.Arch{mips.Archs(), arm.Archs(), arm64.Archs(), riscv.Archs(), x86.Archs()} {
		s = append(s, list...)
	}
	return s
})

// plain is a snapshot as encoding/json sees it.
type plain struct {
	Arch   string
	Regs   map[string]string
	Memory []struct{ Base, Bytes string }
}

// TestTruth reads the recorded snapshots of every processor, each with its
// binary, and compares with what encoding/json makes of the same lines.
func TestTruth(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(truthDir, "*", "*", "snaps.jsonl.gz"))
	if len(files) == 0 {
		t.Skip("no recorded truth here")
	}
	seen := make(map[string]bool)
	for _, path := range files {
		dir := filepath.Dir(path)
		arch := filepath.Base(filepath.Dir(dir))
		if seen[arch] && os.Getenv("BACKSIGHT_LONG") == "" {
			continue
		}
		seen[arch] = true
		t.Run(arch+"/"+filepath.Base(dir), func(t *testing.T) { compareCase(t, path, findBinary(t, dir)) })
	}
}

func findBinary(t *testing.T, dir string) string {
	for _, tier := range []string{"sym.elf", "stripped.elf", "naked.elf"} {
		if p := filepath.Join(dir, tier); exists(p) {
			return p
		}
	}
	t.Skip("no uncompressed binary")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func compareCase(t *testing.T, path, binary string) {
	want := reference(t, path)
	files := input.NewFiles(input.FileOptions{Archs: processors(), Formats: []image.Format{elf.Format()}, Images: []input.NamedImage{{Path: binary}}})
	defer files.Close()
	env := &input.Env{Archs: processors(), Files: files}
	s, err := input.Open(context.Background(), path, []input.Format{snapshot.Format()}, env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range want {
		snap, err := s.Next()
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if len(snap.Issues) > 0 || len(snap.Modules) != 1 || snap.Arch != snap.Modules[0].Image.Arch {
			t.Fatalf("line %d: issues %q, %d modules, arch %s %s", i+1, snap.Issues, len(snap.Modules), snap.Arch.Name, snap.Arch.ABI)
		}
		compare(t, i+1, &want[i], snap)
	}
	if _, err := s.Next(); err != io.EOF {
		t.Errorf("after the last line: %v", err)
	}
}

func compare(t *testing.T, line int, want *plain, got *target.Snapshot) {
	t.Helper()
	if got.Arch.Name != want.Arch {
		t.Fatalf("line %d: arch %s, want %s", line, got.Arch.Name, want.Arch)
	}
	for name, text := range want.Regs {
		v, err := strconv.ParseUint(text, 0, 64)
		reg, ok := got.Arch.RegByName(name)
		if err != nil || !ok {
			t.Fatalf("line %d: register %s=%s unknown", line, name, text)
		}
		if have, ok := got.Threads[0].Regs.Lookup(reg); !ok || have != v {
			t.Errorf("line %d: %s = %#x, %v; want %#x", line, name, have, ok, v)
		}
	}
	for _, m := range want.Memory {
		base, _ := strconv.ParseUint(m.Base, 0, 64)
		data, _ := base64.StdEncoding.DecodeString(m.Bytes)
		have := make([]byte, len(data))
		if n := got.Memory.Read(base, have); n != len(data) || string(have) != string(data) {
			t.Errorf("line %d: memory at %#x differs", line, base)
		}
	}
}

func reference(t *testing.T, path string) (list []plain) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(z, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) == 0 {
			return list
		}
		var p plain
		if json.Unmarshal(line, &p) != nil || err != nil && err != io.EOF {
			t.Fatalf("%s: bad line %d", path, len(list)+1)
		}
		list = append(list, p)
	}
}
