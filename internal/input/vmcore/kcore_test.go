package vmcore

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/synth/kernels"
)

// liveFile is a file like /proc/kcore: some bytes at some offsets of an address space that it
// claims to hold.
type liveFile struct {
	parts map[int64][]byte
	read  int
}

func (f *liveFile) ReadAt(p []byte, off int64) (int, error) {
	f.read += len(p)
	for at, data := range f.parts {
		if off >= at && off < at+int64(len(data)) {
			if n := copy(p, data[off-at:]); n < len(p) {
				return n, io.EOF
			}
			return len(p), nil
		}
	}
	return 0, io.EOF
}

// kcoreOf is a machine's memory as the machine itself shows it: a note of a process that is none,
// VMCOREINFO, what is mapped piece by piece, the linear mapping, and the kernel.
func kcoreOf(m *kernels.Machine, info string) *liveFile {
	le := binary.LittleEndian
	note := func(typ uint32, name string, desc []byte) (b []byte) {
		for _, v := range []uint32{uint32(len(name)), uint32(len(desc)), typ} {
			b = le.AppendUint32(b, v)
		}
		b = append(b, append([]byte(name), make([]byte, -len(name)&3)...)...)
		return append(b, append(desc, make([]byte, -len(desc)&3)...)...)
	}
	notes := append(note(ntPRPSInfo, "CORE\x00", make([]byte, 136)), note(0, "VMCOREINFO\x00", []byte(info))...)
	const linear, noAddress, ramAt = 0xffff_0000_0000_0000, ^uint64(0), 0x7fff_0000_0000
	segments := [][6]uint64{ // type, offset, virtual and physical address, size in the file and in memory
		{ptNote, 0x1000, 0, 0, uint64(len(notes)), 0},
		{ptLoad, 0x2000, 0xffff_8000_1000_0000, noAddress, 1 << 46, 1 << 46},
		{ptLoad, ramAt, linear, kernels.RAMBase, kernels.RAMSize, kernels.RAMSize},
		{ptLoad, ramAt, kernels.RAMBase + m.Offset, kernels.RAMBase, kernels.RAMSize, kernels.RAMSize},
	}
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], etCore)
	le.PutUint16(b[18:], 183)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], uint16(len(segments)))
	for _, s := range segments {
		b = le.AppendUint64(b, s[0])
		for _, v := range s[1:] {
			b = le.AppendUint64(b, v)
		}
		b = le.AppendUint64(b, 4096)
	}
	return &liveFile{parts: map[int64][]byte{0: b, 0x1000: notes, ramAt: m.RAM}}
}

// TestKcore: the memory of the machine that runs is read page by page, as its program headers and
// page tables say. The terabytes that it claims to have mapped are not.
func TestKcore(t *testing.T) {
	m := kernels.NewMachine("swapper/0", "init", "kthreadd", "sh")
	uts := uint64(bytes.Index(m.RAM, []byte("Linux\x00"))) + kernels.RAMBase
	file := kcoreOf(m, m.Info(uts))
	if !sniff(file.parts[0]) {
		t.Error("not recognised")
	}
	d, err := readKcore("kcore", file, archs())
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.stream(t.Context(), &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Sysroots: []string{t.TempDir()}})})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(t.Context())
	if err != nil || len(snap.Threads) != 4 || snap.Threads[3].Name != "sh" {
		t.Fatalf("%+v, %v; %v", snap, err, d.issues)
	}
	if file.read > 3*len(m.RAM) {
		t.Errorf("%d bytes were read of %d", file.read, len(m.RAM))
	}
}

// TestKcoreWithoutInfo: a kernel that says nothing of itself, before Linux 4.19, or that says where its answer
// to uname lies, and no program header shows that, is one line of error. The memory is not searched: the file
// may claim any number of bytes.
func TestKcoreWithoutInfo(t *testing.T) {
	for _, info := range []string{"", "OSRELEASE=6.1.0-synth\nSYMBOL(init_uts_ns)=1000\n"} {
		file := kcoreOf(kernels.NewMachine("swapper/0", "init"), info)
		d, err := readKcore("kcore", file, archs())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.stream(t.Context(), &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{})}); err == nil || file.read > maxKcoreHead+maxKcoreNotes {
			t.Errorf("%q: error %v, %d bytes read", info, err, file.read)
		}
	}
}

func archs() cpu.Set { return arm64.Archs() }

// FuzzKcore reads anything as program headers and notes of a machine that runs.
func FuzzKcore(f *testing.F) {
	file := kcoreOf(kernels.NewMachine("swapper/0"), "OSRELEASE=6.1.0-synth\nSYMBOL(init_uts_ns)=ffff800000001000\n")
	f.Add(file.parts[0], file.parts[0x1000])
	f.Fuzz(func(t *testing.T, head, notes []byte) {
		d, err := readKcore("kcore", &liveFile{parts: map[int64][]byte{0: head, 0x1000: notes}}, archs())
		if err == nil {
			_, _ = d.identify(t.Context(), archs())
		}
	})
}
