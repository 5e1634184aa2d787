package elfcore_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// TestCodeLeftOut: GDB's gcore writes no program header for a mapping that its
// file holds unchanged, which is where the code is. The binaries are found all
// the same.
func TestCodeLeftOut(t *testing.T) {
	opt := input.FileOptions{Sysroots: []string{recorded.Testdata(t, "x86_64-threads/modules")}}
	data := recorded.Unzip(t, recorded.Testdata(t, "x86_64-threads/core.gz"))
	whole, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if n := dropEmptyCode(data); n < 3 {
		t.Fatalf("%d executable program headers without bytes", n)
	}
	cut, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(placed(whole), placed(cut)) {
		t.Errorf("modules %x, want %x", placed(cut), placed(whole))
	}
}

// dropEmptyCode turns the program headers of executable mappings whose bytes were
// not captured into PT_NULL (gABI figure 5-1, ELF64).
func dropEmptyCode(core []byte) (dropped int) {
	le := binary.LittleEndian
	table := core[le.Uint64(core[32:]):]
	for i := range int(le.Uint16(core[56:])) {
		p := table[56*i:]
		if le.Uint32(p) == 1 && le.Uint32(p[4:])&1 != 0 && le.Uint64(p[32:]) == 0 {
			le.PutUint32(p, 0)
			dropped++
		}
	}
	return dropped
}

// placed lists the modules that have an image by where they lie.
func placed(s *target.Snapshot) (list []target.Range) {
	for _, m := range s.Modules {
		if m.Image != nil {
			list = append(list, m.Range)
		}
	}
	return list
}

// TestStartedByLinker: of a program that was started as an argument of the dynamic linker, the kernel told the linker's program
// headers and entry point. The file that the user named is found by its build ID all the same.
func TestStartedByLinker(t *testing.T) {
	modules := recorded.Testdata(t, "x86_64-threads/modules")
	data := recorded.Unzip(t, recorded.Testdata(t, "x86_64-threads/core.gz"))
	opt := input.FileOptions{Sysroots: []string{modules}}
	usual, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	program, linker := usual.Modules[0], usual.Modules[len(usual.Modules)-1]
	for _, m := range usual.Modules {
		if m.Image != nil && strings.Contains(m.Name, "ld-linux") {
			linker = m
		}
	}
	le := binary.LittleEndian
	for key, addr := range map[uint64]uint64{3: 64, 9: program.Image.Entry} { // AT_PHDR, AT_ENTRY
		entry := le.AppendUint64(le.AppendUint64(nil, key), program.ToTarget(addr))
		at := bytes.Index(data, entry)
		if at < 0 {
			t.Fatalf("no %d in the auxiliary vector", key)
		}
		le.PutUint64(data[at+8:], linker.ToTarget(addr))
	}
	renamed := filepath.Join(t.TempDir(), "renamed")
	file, err := os.ReadFile(program.Image.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(renamed, file, 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Exe = renamed
	started, err := read(t, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := placed(started), placed(usual); !slices.Equal(got, want) || started.Modules[0].Image == nil || started.Modules[0].Image.Path != renamed {
		t.Errorf("modules %x, want %x", got, want)
	}
}

// TestUnnamedCode: of Linux before 3.7, whose cores have no NT_FILE, without the executable. What is mapped executable and was left out is
// code of some file: return addresses may lead there. Variables that are executable, too, as all of a program with an
// executable stack are, are none; code that is in the core needs no module.
func TestUnnamedCode(t *testing.T) {
	arch := archNamed(t, "i386", "", false)
	c := newCore(arch).thread(1, 6, 0)
	info := make([]byte, 124)
	copy(info[28:], "petool")
	copy(info[44:], "/bin/petool -v")
	c.note(3, info).note(6, c.words(nil, 9, 0x804_8790, 0, 0))
	c.load(0x61_f000, 0x15_3000, nil, 5).load(0x77_2000, 0x2000, nil, 7).load(0xa3_d000, 0, repeat(0x90, 4096), 5).load(0x804_8000, 0x5000, nil, 5)
	snap := mustRead(t, c)
	for addr, want := range map[uint64]string{0x64_9651: "a file", 0x77_2010: "none", 0xa3_d422: "none", 0x804_8000: "/bin/petool"} {
		got := "none"
		if m, ok := snap.ModuleAt(addr); ok {
			got = cmp.Or(m.Name, "a file")
		}
		if got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}
