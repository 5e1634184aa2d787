package elfcore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
)

// synth is an ELF core under construction.
type synth struct {
	arch  *cpu.Arch
	notes []byte
	loads []segment
	xnum  bool // counts its headers in section header 0
}

type segment struct {
	addr, mem uint64
	data      []byte
	flags     uint32
}

func newCore(a *cpu.Arch) *synth { return &synth{arch: a} }

func (s *synth) wide() bool { return s.arch.ELF.Class == 2 }

func (s *synth) order() binary.AppendByteOrder {
	if s.arch.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// words appends longs of the core's class.
func (s *synth) words(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		if s.wide() {
			b = s.order().AppendUint64(b, v)
		} else {
			b = s.order().AppendUint32(b, uint32(v))
		}
	}
	return b
}

func (s *synth) u32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = s.order().AppendUint32(b, v)
	}
	return b
}

func pad(b []byte, to int) []byte { return append(b, make([]byte, -len(b)&(to-1))...) }

func (s *synth) note(typ uint32, desc []byte) *synth { return s.owned("CORE", typ, desc) }

// owned adds a note of whoever owns its types.
func (s *synth) owned(owner string, typ uint32, desc []byte) *synth {
	s.notes = s.u32(s.notes, uint32(len(owner)+1), uint32(len(desc)), typ)
	s.notes = pad(append(s.notes, owner+"\x00"...), 4)
	s.notes = pad(append(s.notes, desc...), 4)
	return s
}

// thread adds NT_PRSTATUS; register n of the block has the value value+n.
func (s *synth) thread(id, signal uint32, value uint64) *synth {
	b := make([]byte, 12)
	b = append(b, s.order().AppendUint16(nil, uint16(signal))...)
	b = s.words(append(b, 0, 0), 0, 0) // pr_sigpend, pr_sighold
	b = s.u32(b, id)
	at := 72
	if s.wide() {
		at = 112
	}
	b = append(b, make([]byte, at-len(b))...)
	layout := s.arch.Layouts[cpu.LinuxPrstatus]
	block := make([]byte, layout.Size)
	for n, slot := range layout.Slots {
		v := s.order().AppendUint64(nil, value+uint64(n))
		if s.arch.BigEndian {
			v = v[8-slot.Size:]
		}
		copy(block[slot.Offset:slot.Offset+slot.Size], v)
	}
	b = s.u32(append(b, block...), 0) // pr_fpvalid
	if s.wide() || s.arch.RegSize == 8 {
		b = pad(b, 8)
	}
	return s.note(1, b)
}

func (s *synth) load(addr, mem uint64, data []byte, flags uint32) *synth {
	s.loads = append(s.loads, segment{addr, max(mem, uint64(len(data))), data, flags})
	return s
}

func (s *synth) bytes() []byte {
	ehsize, phsize, shsize := 52, 32, 40
	if s.wide() {
		ehsize, phsize, shsize = 64, 56, 64
	}
	n, shoff := len(s.loads)+1, 0
	at := ehsize + n*phsize
	if s.xnum {
		shoff, at = at, at+shsize
	}
	b := []byte("\x7fELF\x01\x01\x01")
	if b[4] = s.arch.ELF.Class; s.arch.BigEndian {
		b[5] = 2
	}
	b = append(b, make([]byte, 9)...)
	o := s.order()
	b = o.AppendUint16(o.AppendUint16(b, 4), s.arch.ELF.Machine)
	b = s.words(s.u32(b, 1), 0, uint64(ehsize), uint64(shoff))
	b = s.u32(b, s.arch.ELF.Flags)
	count := n
	if s.xnum {
		count = 0xffff
	}
	for _, v := range []int{ehsize, phsize, count, shsize, 0, 0} {
		b = o.AppendUint16(b, uint16(v))
	}
	data := at
	b = s.phdr(b, 4, 0, uint64(data), 0, uint64(len(s.notes)), 0)
	data += len(s.notes)
	for _, l := range s.loads {
		b = s.phdr(b, 1, l.flags, uint64(data), l.addr, uint64(len(l.data)), l.mem)
		data += len(l.data)
	}
	if s.xnum {
		head := s.words(s.u32(nil, 0, 0), 0, 0, 0, 0)
		head = s.u32(head, 0, uint32(n)) // sh_link, sh_info
		b = append(append(b, head...), make([]byte, shsize-len(head))...)
	}
	b = append(b, s.notes...)
	for _, l := range s.loads {
		b = append(b, l.data...)
	}
	return b
}

func (s *synth) phdr(b []byte, typ, flags uint32, off, addr, file, mem uint64) []byte {
	b = s.u32(b, typ)
	if s.wide() {
		return s.words(s.u32(b, flags), off, addr, 0, file, mem, 0x1000)
	}
	b = s.words(b, off, addr, 0, file, mem)
	return s.words(s.u32(b, flags), 0x1000)
}

// archNamed is the first descriptor of a CPU.
func archNamed(t testing.TB, name, abi string, big bool) *cpu.Arch {
	t.Helper()
	a, ok := captured.Archs().ByName(name, abi, big)
	if !ok {
		t.Fatalf("no %s %s", name, abi)
	}
	return a
}

// read opens a core that is in memory.
func read(t testing.TB, data []byte, opt input.FileOptions) (*target.Snapshot, error) {
	t.Helper()
	opt.Archs, opt.Formats = captured.Archs(), []image.Format{elf.Format()}
	files := input.NewFiles(opt)
	t.Cleanup(func() { files.Close() })
	src := input.NewCapture("core", data)
	if !elfcore.Format().Sniff(src.Head) {
		return nil, io.EOF
	}
	s, err := elfcore.Format().Open(context.Background(), src, &input.Env{Archs: opt.Archs, Files: files})
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// mustRead is read for a core that is fine.
func mustRead(t testing.TB, s *synth) *target.Snapshot {
	t.Helper()
	snap, err := read(t, s.bytes(), input.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func repeat(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

// issues are those of a snapshot besides the executable, which made-up cores lack.
func issues(snap *target.Snapshot) []target.Issue {
	return slices.DeleteFunc(slices.Clone(snap.Issues), func(i target.Issue) bool {
		return i.Text == "core: the executable was not found; name it with --exe"
	})
}

// lines are the texts of issues, one a line.
func lines(issues []target.Issue) string {
	var b strings.Builder
	for _, i := range issues {
		b.WriteString(i.Text + "\n")
	}
	return b.String()
}
