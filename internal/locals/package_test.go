package locals_test

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/backsight/backsight/lab/livecore"
)

// TestPackage: what llvm-dwp makes of the compiler's file is found beside the program.
func TestPackage(t *testing.T) {
	path := livecore.Compile(t, "gcc", program, "-O0", "-gsplit-dwarf", "-gdwarf-4")
	core := livecore.Crash(t, path)
	parts := takeParts(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "llvm-dwp", "-o", path+".dwp", parts[0]).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if got := variables(t, core, "work"); got["c"].Value != "GREEN" || got["c"].Type != "enum colour" {
		t.Errorf("%+v", got["c"])
	}
}

// TestPackage5: the same in DWARF 5, with a unit of another source before the program's. The test
// makes the package, for llvm-dwp 14 hangs on such files.
func TestPackage5(t *testing.T) {
	if _, err := exec.LookPath("objcopy"); err != nil {
		t.Skip(err)
	}
	another := filepath.Join(t.TempDir(), "another.c")
	if err := os.WriteFile(another, []byte("enum shade { DARK }; int another(enum shade unused) { return unused; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := livecore.Compile(t, "gcc", program, "-O0", "-gsplit-dwarf", "-gdwarf-5", another)
	core := livecore.Crash(t, path)
	parts := takeParts(t, path)
	if len(parts) != 2 {
		t.Skip(parts)
	}
	pack(t, path+".dwp", parts)
	got := variables(t, core, "work")
	if got["c"].Value != "GREEN" || got["c"].Type != "enum colour" || got["text"].Value != `"a\"b"` {
		t.Errorf("%+v, %+v", got["c"], got["text"])
	}
}

// takeParts moves the .dwo files of a program to a place where the program does not say that they
// are.
func takeParts(t *testing.T, program string) (parts []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(program), "*.dwo"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	dir := t.TempDir()
	for _, p := range found {
		to := filepath.Join(dir, filepath.Base(p)+".moved")
		if err := os.Rename(p, to); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, to)
	}
	return parts
}

// packed are the sections that an index counts in, by their numbers (DWARF 5, table 7.1).
var packed = []struct {
	number uint32
	name   string
}{{1, ".debug_info.dwo"}, {3, ".debug_abbrev.dwo"}, {6, ".debug_str_offsets.dwo"}}

// pack writes a package of DWARF 5 (§7.3.5): the sections of the parts one behind the other, and an
// index of where each part's are.
func pack(t *testing.T, path string, parts []string) {
	t.Helper()
	whole := map[string][]byte{}
	var ids []uint64
	var offsets, sizes []byte
	for _, p := range parts {
		f, err := elf.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, s := range packed {
			data := sectionOf(t, f, s.name)
			switch s.name {
			case ".debug_info.dwo":
				const id = 4 + 2 + 1 + 1 + 4 // unit_length, version, unit_type, address_size, debug_abbrev_offset
				ids = append(ids, binary.LittleEndian.Uint64(data[id:]))
			case ".debug_str_offsets.dwo":
				for at := 8; at < len(data); at += 4 {
					moved := binary.LittleEndian.Uint32(data[at:]) + uint32(len(whole[".debug_str.dwo"]))
					binary.LittleEndian.PutUint32(data[at:], moved)
				}
			}
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(whole[s.name])))
			sizes = binary.LittleEndian.AppendUint32(sizes, uint32(len(data)))
			whole[s.name] = append(whole[s.name], data...)
		}
		whole[".debug_str.dwo"] = append(whole[".debug_str.dwo"], sectionOf(t, f, ".debug_str.dwo")...)
	}
	index := append(indexHead(ids), offsets...)
	whole[".debug_cu_index"] = append(index, sizes...)
	var args []string
	for name, data := range whole {
		file := filepath.Join(t.TempDir(), "section")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		change := "--update-section"
		if name == ".debug_cu_index" {
			change = "--add-section"
		}
		args = append(args, change, name+"="+file)
	}
	if out, err := exec.Command("objcopy", append(args, parts[0], path)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func sectionOf(t *testing.T, f *elf.File, name string) []byte {
	t.Helper()
	s := f.Section(name)
	if s == nil {
		t.Fatal("no ", name)
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// indexHead is an index up to the numbers of the sections: the header and the hash table
// (DWARF 5 §7.3.5.3).
func indexHead(ids []uint64) []byte {
	const slots = 4
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 5) // version, padding
	for _, n := range []int{len(packed), len(ids), slots} {
		b = le.AppendUint32(b, uint32(n))
	}
	var keys [slots]uint64
	var rows [slots]uint32
	for i, id := range ids {
		at := id % slots
		for rows[at] != 0 {
			at = (at + (id>>32 | 1)) % slots // an odd step comes to every slot
		}
		keys[at], rows[at] = id, uint32(i+1)
	}
	for _, k := range keys {
		b = le.AppendUint64(b, k)
	}
	for _, r := range rows {
		b = le.AppendUint32(b, r)
	}
	for _, s := range packed {
		b = le.AppendUint32(b, s.number)
	}
	return b
}
