package elfcore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// reader reads the memory of a core as that of a process.
type reader struct{ memory *target.Memory }

func (r reader) ReadPage(addr uint64, page []byte) (int, error) {
	return r.memory.Read(addr, page), nil
}

// TestStopped: a process that a server has stopped has the modules and the memory that its core has, whatever the server tells
// of them: nothing, the dynamic linker's list, or files.
func TestStopped(t *testing.T) {
	dir := recorded.Testdata(t, "x86_64-threads")
	sysroot := filepath.Join(dir, "modules")
	core, err := load(t, filepath.Join(dir, "core.gz"), input.FileOptions{Sysroots: []string{sysroot}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(path string, limit int) ([]byte, error) {
		if path == fmt.Sprintf("/proc/%d/maps", core.PID) {
			return maps(core), nil
		}
		data, err := os.ReadFile(filepath.Join(sysroot, path))
		return data[:min(len(data), limit)], err
	}
	other := func(path string, limit int) ([]byte, error) {
		if strings.HasPrefix(path, "/proc/") {
			return []byte("1000-2000 r-xp 00000000 00:00 1 /sbin/init\n"), nil
		}
		return nil, errors.New("no such file")
	}
	for name, c := range map[string]struct {
		change  func(p *input.Stopped)
		sysroot string
	}{
		"nothing told":                {func(*input.Stopped) {}, sysroot},
		"the linker's list":           {func(p *input.Stopped) { p.Libraries = libraries(core) }, sysroot},
		"mappings and files":          {func(p *input.Stopped) { p.File = file }, os.DevNull},
		"mappings":                    {func(p *input.Stopped) { p.File = file }, sysroot},
		"mappings of another process": {func(p *input.Stopped) { p.File = other }, sysroot},
	} {
		p := &input.Stopped{Name: "server", Arch: core.Arch, PID: core.PID, Threads: core.Threads, Memory: reader{core.Memory}, Auxv: auxv(core), Exec: core.Modules[0].Name}
		c.change(p)
		got := openStopped(t, p, c.sysroot)
		if a, b := placesOf(got), placesOf(core); a != b || strings.Count(a, "\n") < 4 {
			t.Errorf("%s: modules\n%s\nin the core\n%s\nissues %v", name, a, b, got.Issues)
		}
		sp := core.Threads[0].Regs.Val[core.Arch.SP]
		if a, ok := got.Memory.Word(sp); !ok {
			t.Errorf("%s: no stack", name)
		} else if b, _ := core.Memory.Word(sp); a != b {
			t.Errorf("%s: %#x on the stack, in the core %#x", name, a, b)
		}
		if r := got.StackOf(&got.Threads[0]); !r.Contains(sp) || r.Hi-r.Lo > 1<<30 {
			t.Errorf("%s: a stack %#x", name, r)
		}
	}
}

func openStopped(t *testing.T, p *input.Stopped, sysroot string) *target.Snapshot {
	t.Helper()
	files := input.NewFiles(input.FileOptions{Archs: captured.Archs(), Formats: []image.Format{elf.Format()}, Sysroots: []string{sysroot}})
	t.Cleanup(func() { files.Close() })
	s, err := (&input.Env{Archs: captured.Archs(), Formats: []input.Format{elfcore.Format()}, Files: files}).OpenStopped(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// placesOf are the modules of files: their names and places.
func placesOf(snap *target.Snapshot) string {
	var b strings.Builder
	for _, m := range snap.Modules {
		if m.Image != nil && !strings.HasPrefix(m.Name, "[") {
			fmt.Fprintf(&b, "%s %#x\n", m.Base(), m.Bias)
		}
	}
	return b.String()
}

// auxv is the vector of the first module, a PIE or not.
func auxv(snap *target.Snapshot) (b []byte) {
	exe := snap.Modules[0]
	base := uint64(0)
	for _, m := range snap.Modules {
		if strings.HasPrefix(m.Base(), "ld") {
			base = m.Lo
		}
	}
	for _, v := range []uint64{3, exe.ToTarget(elf.LinkInfoOf(exe.Image).PHdr.Addr), 9, exe.ToTarget(exe.Image.Entry), 7, base, 0, 0} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func libraries(snap *target.Snapshot) (list []input.Library) {
	for _, m := range snap.Modules[1:] {
		if m.Image != nil && !strings.HasPrefix(m.Name, "[") {
			list = append(list, input.Library{Name: m.Name, Bias: m.Bias, Dynamic: m.ToTarget(elf.LinkInfoOf(m.Image).Dynamic.Addr)})
		}
	}
	return list
}

// maps are the mappings of modules, and the stacks, as Linux prints them.
func maps(snap *target.Snapshot) (b []byte) {
	for _, m := range snap.Modules {
		if m.Image == nil || strings.HasPrefix(m.Name, "[") {
			continue
		}
		for _, s := range m.Image.Segments {
			perms := []byte("---p")
			for i, has := range []bool{s.Read, s.Write, s.Exec} {
				if has {
					perms[i] = "rwx"[i]
				}
			}
			lo := m.ToTarget(s.Addr) &^ 0xfff
			b = fmt.Appendf(b, "%x-%x %s %08x 00:00 1 %s\n", lo, (m.ToTarget(s.Addr)+s.Size+0xfff)&^0xfff, perms, s.Addr&^0xfff, m.Name)
		}
	}
	for i := range snap.Threads {
		sp := snap.Threads[i].Regs.Val[snap.Arch.SP]
		r := snap.Memory.RangeAt(sp)
		b = fmt.Appendf(b, "%x-%x rw-p 00000000 00:00 0\n", r.Lo, r.Hi)
	}
	return b
}
