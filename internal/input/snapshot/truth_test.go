package snapshot_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// plain is a snapshot as encoding/json sees it.
type plain struct {
	Arch   string
	Regs   map[string]string
	Memory []struct{ Base, Bytes string }
}

// TestTruth reads the recorded snapshots of every processor, each with its
// binary, and compares with what encoding/json makes of the same lines.
func TestTruth(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range recorded.Cases(t, "*/*") {
		if seen[c.Arch] && os.Getenv("BACKSIGHT_LONG") == "" {
			continue
		}
		seen[c.Arch] = true
		t.Run(c.Name, func(t *testing.T) {
			for _, tier := range truth.Tiers {
				if program, ok := recorded.Program(t, &c, tier); ok {
					compareCase(t, c.Snapshots(), program)
					return
				}
			}
			t.Error("the case has no program")
		})
	}
}

func compareCase(t *testing.T, path, binary string) {
	want := reference(t, path)
	files := input.NewFiles(input.FileOptions{Archs: captured.Archs(), Formats: []image.Format{elf.Format()}, Images: []input.NamedImage{{Path: binary}}})
	defer files.Close()
	env := &input.Env{Archs: captured.Archs(), Formats: []input.Format{snapshot.Format()}, Files: files}
	s, err := env.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range want {
		snap, err := s.Next(context.Background())
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if len(snap.Issues) > 0 || len(snap.Modules) != 1 || snap.Arch != snap.Modules[0].Image.Arch {
			t.Fatalf("line %d: issues %q, %d modules, arch %s %s", i+1, snap.Issues, len(snap.Modules), snap.Arch.Name, snap.Arch.ABI)
		}
		compare(t, i+1, &want[i], snap)
	}
	if _, err := s.Next(context.Background()); err != io.EOF {
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
	for line := range bytes.Lines(recorded.Unzip(t, path)) {
		var p plain
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatalf("%s, line %d: %v", path, len(list)+1, err)
		}
		list = append(list, p)
	}
	return list
}
