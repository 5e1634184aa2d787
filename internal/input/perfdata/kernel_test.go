package perfdata

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
)

// TestLoadedByKernel: frames in a module of the kernel, and in what it made of a BPF program, lie in these. Of what was mapped since, none is
// what was there before.
func TestLoadedByKernel(t *testing.T) {
	f := newFile(binary.LittleEndian)
	const at = 0xffffffffc0100000
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(0xffffffff81000000, 0x1000, 0xffffffff81000000), []byte(kernelName+"_text\x00"))
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(at, 0x3000, 0), []byte("[nf_tables]\x00"))
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(at+0x8000, 0x1000, 0), []byte("[old]\x00"))
	f.event(eventKsymbol, 0, 2, f.words(at+0x8800), f.halves(0x100, 1), []byte("bpf_prog_6deef7357e7b4530\x00"))
	f.event(eventKsymbol, 0, 2, f.words(at+0x9800), f.halves(0x100, 1|1<<16), []byte("bpf_prog_removed\x00"))
	f.sample(3, 7, 7, []uint64{contextKernel, at + 0x8800, at + 0x1000, at + 0x9810, 0xffffffff81000010}, 0x7000, 0x1100, nil)
	got := summary(t, f.bytes())
	want := "x86_64 7  [kernel.kallsyms]@0xffffffff81000000 [nf_tables]@0xffffffffc0100000 bpf_prog_6deef7357e7b4530@0xffffffffc0108800\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("%swant\n%s", got, want)
	}
}

// TestKernelNames: the kernel's functions have the names of the list that perf keeps, or has put beside the recording (--kcore), made when
// the kernel lay elsewhere.
func TestKernelNames(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for dir, directory := range map[string]bool{
		filepath.Join(home, ".debug", ".build-id", "ab", strings.Repeat("ab", sha1-1)): false,
		filepath.Join(home, "recorded", "kcore_dir"):                                   true,
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		const list = "ffffffff81000000 T _text\nffffffff81000100 T do_exit\nffffffff81000200 T _etext\n"
		if err := os.WriteFile(filepath.Join(dir, "kallsyms"), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		f := newFile(binary.LittleEndian)
		if directory {
			f.feats[featureDirectory] = f.words(1)
		} else {
			f.event(eventBuildID, 0, 0, f.halves(kernelPID), bytes.Repeat([]byte{0xab}, sha1), make([]byte, 4), []byte(kernelName+"\x00"))
		}
		f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(0xffffffff92000000, 0x1000, 0xffffffff92000000), []byte(kernelName+"_text\x00"))
		f.sample(2, 7, 7, []uint64{contextKernel, 0xffffffff92000110}, 0x7000, 0x1100, nil)
		s, err := open(t.Context(), input.NewCapture(filepath.Join(home, "recorded", "data"), f.bytes()), environment())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		snap, err := s.Next(t.Context())
		if err != nil || len(snap.Modules) != 1 || snap.Modules[0].Image == nil {
			t.Fatalf("%s: %v, modules %v", dir, err, snap.Modules)
		}
		m := snap.Modules[0]
		if sym, ok := m.Image.Symbols.At(m.ToImage(0xffffffff92000110)); !ok || sym.Name != "do_exit" || m.Name != kernelName {
			t.Errorf("%s: %s in %s", dir, sym.Name, m.Name)
		}
	}
}
