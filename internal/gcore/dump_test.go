//go:build linux

package gcore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unsafe"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/procfs"
)

func archs() (set cpu.Set) {
	return append(append(append(set, x86.Archs()...), mips.Archs()...), arm.Archs()...)
}

// synth is a dump as the kernel writes it: of a thread with SP at 0x7000_0800, of a stack, a file's data and a large heap.
func synth(t testing.TB, a *cpu.Arch, notes ...func(*builder) []byte) []byte {
	t.Helper()
	ident := make([]byte, identSize)
	copy(ident, "\x7fELF\x01\x01\x01")
	b := &builder{ident: ident, arch: a, order: binary.LittleEndian}
	if a.ELF.Class == 2 {
		b.wide, ident[4] = true, 2
	}
	if a.BigEndian {
		b.order, ident[5] = binary.BigEndian, 2
	}
	b.order.PutUint16(ident[machineAt:], a.ELF.Machine)
	layout := a.Layouts[cpu.LinuxPrstatus]
	regs := make([]byte, layout.Size)
	for _, s := range layout.Slots {
		if s.Reg == a.SP && s.Size == 8 {
			b.order.PutUint64(regs[s.Offset:], 0x7000_0800)
		} else if s.Reg == a.SP {
			b.order.PutUint32(regs[s.Offset:], 0x7000_0800)
		}
	}
	b.threads = []thread{{id: 77, regs: regs}}
	b.auxv = b.word(b.word(nil, 6), page)
	b.maps = []procfs.Mapping{{Lo: 0x40_0000, Hi: 0x40_1000, Off: page, Name: "/bin/toy", Inode: 1}}
	b.pieces = []piece{
		{lo: 0x40_0000, size: page, data: bytes.Repeat([]byte("data"), page/4), mode: "rw-p"},
		{lo: 0x6000_0000, size: 1 << 20, data: bytes.Repeat([]byte("heap"), 1<<18), mode: "rw-p"},
		{lo: 0x7000_0000, size: 2 * page, data: bytes.Repeat([]byte("sp"), page), mode: "rw-p"},
	}
	all := b.notes()
	for _, n := range notes {
		all = append(all, n(b)...)
	}
	return slices.Concat(b.core(all)...)
}

// kinds are processors of both widths and byte orders.
func kinds(t testing.TB) (list []*cpu.Arch) {
	t.Helper()
	for _, a := range archs() {
		if a.Layouts[cpu.LinuxPrstatus].Size > 0 && a.ELF.Flags == 0 && (a.Name == "x86_64" || a.Name == "i386" || a.Name == "mips" || a.Name == "arm") {
			list = append(list, a)
		}
	}
	if len(list) < 3 {
		t.Fatal("too few processors")
	}
	return list
}

// data is what a core has.
func data(core *Core) []byte { return slices.Concat(core.parts...) }

const nobody = 1 << 30 // a process ID beyond all

// TestStream: of a process that is gone, memory is what the stream has; only stacks and files' data are kept of it.
func TestStream(t *testing.T) {
	for _, a := range kinds(t) {
		core, err := Dying(iotest.HalfReader(bytes.NewReader(synth(t, a))), nobody, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20})
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		d, err := readDump(bytes.NewReader(data(core)), archs())
		if err != nil || len(d.threads) != 1 || d.threads[0].id != 77 || d.sps()[0] != 0x7000_0800 || core.Alive {
			t.Errorf("%s: %+v, %v", a, d.threads, err)
		}
		if len(d.maps) != 2 || d.maps[0].Name != "/bin/toy" || d.maps[0].Off != page || d.maps[1].Lo != 0x7000_0000 {
			t.Errorf("%s: mappings %+v", a, d.maps)
		}
		if !bytes.Contains(data(core), []byte("spspsp")) || !bytes.Contains(data(core), []byte("datadata")) || bytes.Contains(data(core), []byte("heapheap")) {
			t.Errorf("%s: memory is not what was wanted", a)
		}
	}
}

// TestAlive: of a process that is there, memory is its own, and nothing behind the notes is read; that of another process with the same ID is not taken.
func TestAlive(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	whole, err := Of(cmd.Process.Pid, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20})
	if err != nil {
		t.Skip(err)
	}
	d, err := readDump(bytes.NewReader(data(whole)), archs())
	if err != nil {
		t.Fatal(err)
	}
	behind := errors.New("memory was read from the stream")
	head := func() io.Reader { // what is read ahead is not yet memory
		return io.MultiReader(bytes.NewReader(data(whole)[:d.in.at]), iotest.ErrReader(behind))
	}
	core, err := Dying(head(), cmd.Process.Pid, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20})
	if err != nil || !core.Alive || core.Threads[cmd.Process.Pid] != "sleep" {
		t.Fatalf("%+v, %v", core, err)
	}
	if n := len(data(core)); n < len(data(whole))/2 {
		t.Errorf("%d bytes of %d", n, len(data(whole)))
	}
	if other, err := Dying(head(), os.Getpid(), Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20}); err != nil || other.Alive || len(other.Threads) > 0 {
		t.Errorf("another process: alive %t, %v", other.Alive, err)
	}
}

// TestOverflow: the stack of a thread is that in which its SP lies, or that right above, which it has overflowed.
func TestOverflow(t *testing.T) {
	maps := []procfs.Mapping{{Lo: 0x1000, Hi: 0x2000, Perms: "rw-p"}, {Lo: 0x10_0000, Hi: 0x10_1000, Perms: "---p"}, {Lo: 0x10_1000, Hi: 0x20_0000, Perms: "rw-p"},
		{Lo: 0x8000_0000, Hi: 0x8000_1000, Perms: "rw-p"}}
	for sp, want := range map[uint64]uint64{0x1800: 0x1000, 0x10_1010: 0x10_1000, 0x10_0ff8: 0x10_1000, 0xf_fff0: 0x10_1000, 0x3000: 0x10_1000, 0x4000_0000: 0, 0x9000_0000: 0, ^uint64(0): 0} {
		if m := stackOf(maps, sp); want == 0 && m != nil || want != 0 && (m == nil || m.Lo != want) {
			t.Errorf("%#x: %+v, want %#x", sp, m, want)
		}
	}
}

// TestRest: code that no file has is kept; stacks are not, which MIPS may execute.
func TestRest(t *testing.T) {
	maps := []procfs.Mapping{{Lo: 0x1000, Hi: 0x3000, Perms: "rwxp"}, {Lo: 0x8000, Hi: 0x9000, Perms: "rwxp"}, {Lo: 0xa000, Hi: 0xb000, Perms: "rw-p"}}
	if list := rest(maps, []uint64{0xa800, 0x2ff0}, 1<<20); len(list) != 1 || list[0].lo != 0x8000 {
		t.Errorf("%+v", list)
	}
}

// TestPieces: many pieces are read, and where one is not there the others are; so many that the ELF header cannot count them are a core
// all the same.
func TestPieces(t *testing.T) {
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip(err)
	}
	defer mem.Close()
	text := []byte("what is to be read")
	there := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(text))))
	b := builder{order: binary.LittleEndian, wide: true, ident: make([]byte, identSize), arch: kinds(t)[0]}
	for i := range 3 * most {
		p := piece{lo: there + uint64(i%4), size: 8}
		if i%1000 == 7 {
			p.lo = 16 // of a page that nobody has
		}
		b.pieces = append(b.pieces, p)
	}
	fill(os.Getpid(), mem, b.pieces, make([]byte, 3*most*8))
	for i, p := range b.pieces {
		if want := string(text[i%4:][:8]); i%1000 == 7 && len(p.data) > 0 || i%1000 != 7 && string(p.data) != want {
			t.Fatalf("piece %d: %q", i, p.data)
		}
	}
	runtime.KeepAlive(text)
	b.pieces = make([]piece, manyEntries)
	whole := slices.Concat(b.core(nil)...)
	phnum, at := binary.LittleEndian.Uint16(whole[56:]), binary.LittleEndian.Uint64(whole[40:])
	if phnum != manyEntries || at+64 != uint64(len(whole)) || binary.LittleEndian.Uint32(whole[at+44:]) != manyEntries+1 {
		t.Errorf("%#x entries, a section header at %#x of %#x bytes", phnum, at, len(whole))
	}
}

// TestBounded: threads without number, vectors of kilobytes and stacks without end keep to the bounds.
func TestBounded(t *testing.T) {
	a := kinds(t)[0]
	many := func(b *builder) (out []byte) {
		one := b.notes()
		for range 50_000 {
			out = append(out, one...)
		}
		return out
	}
	core, err := Dying(bytes.NewReader(synth(t, a, many)), nobody, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20, Total: 1 << 16})
	if err != nil || core.Missed == 0 || len(data(core)) > maxNotes+1<<17 {
		t.Errorf("%d bytes, %d threads left out, %v", len(data(core)), core.Missed, err)
	}
	vectors := func(b *builder) (out []byte) { return b.note(nil, 0x202, make([]byte, 1<<20)) }
	if core, err = Dying(bytes.NewReader(synth(t, a, vectors)), nobody, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20}); err != nil || len(data(core)) > 1<<16 {
		t.Errorf("%d bytes, %v", len(data(core)), err)
	}
}

// TestCut: a stream that ends anywhere gives an error, or what came before the end.
func TestCut(t *testing.T) {
	whole := synth(t, kinds(t)[0])
	for n := 0; n < len(whole); n += 1 + n/50 {
		core, err := Dying(bytes.NewReader(whole[:n]), nobody, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20})
		if err == nil && len(data(core)) > len(whole) || n > 2000 && err != nil {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// TestForeign: what is no dump says what is wrong.
func TestForeign(t *testing.T) {
	whole := synth(t, kinds(t)[0])
	unknown := bytes.Clone(whole)
	unknown[machineAt], unknown[machineAt+1] = 0xff, 0xff
	order := bytes.Clone(whole)
	order[64] = ptLoad
	for want, data := range map[string][]byte{
		"only 5 bytes": []byte("hello"), "no ELF file": make([]byte, 100), "processor that is not supported": unknown, "does not begin with notes": order,
		"in its program headers": whole[:100],
	} {
		if _, err := Dying(bytes.NewReader(data), nobody, Options{Archs: archs()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzDump: whatever comes in the stream, the core is no larger than it and the bounds allow.
func FuzzDump(f *testing.F) {
	for _, a := range kinds(f) {
		whole := synth(f, a)
		f.Add(whole[:4096])
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		core, err := Dying(bytes.NewReader(stream), nobody, Options{Archs: archs(), Stack: 1 << 20, Others: 1 << 20, Total: 1 << 20})
		if err == nil && len(data(core)) > 2*len(stream)+200 {
			t.Errorf("%d bytes of %d", len(data(core)), len(stream))
		}
	})
}
