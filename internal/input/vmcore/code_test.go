package vmcore

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/target"
)

// TestListHeads: what a small kernel allocated right behind its data has more heads of lists, by the linear
// mapping, than the data themselves: both distances are answers, the kernel's the second.
func TestListHeads(t *testing.T) {
	const image, linear, base = 0xffff_8000_0800_0000, 0xffff_0000_0000_0000, 0x4000_0000
	ram := make([]byte, 64<<10)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(ram[at:], v) }
	head := func(at, virtual uint64) { put(at, virtual+at); put(at+8, virtual+at) }
	for i := range uint64(leastHeads) {
		head(64*i, image)
	}
	for i := range uint64(2 * leastHeads) {
		head(0x4000+64*i, linear)
	}
	for i := range uint64(leastHeads - 1) { // too few
		head(0x8000+64*i, linear+0x1_0000_0000)
	}
	var b target.Builder
	b.Add(base, ram, 0, target.PermUnknown)
	got := listHeads(b.Memory(rawWords), arm64.Archs()[0], base+0x100)
	if len(got) != 2 || got[0] != (place{linear - base, 2 * leastHeads}) || got[1] != (place{image - base, leastHeads}) {
		t.Errorf("%x", got)
	}
}

// TestCodeAround: the page tables tell where code begins and ends; where they let all be written, some
// more in front may be code that exceptions enter, as far as memory goes.
func TestCodeAround(t *testing.T) {
	most := target.Range{Lo: 0x12000, Hi: 0x33000}
	for _, c := range []struct {
		write bool
		want  target.Range
	}{
		{false, target.Range{Lo: 0x10000, Hi: 0x34000}},
		{true, target.Range{Lo: 0xb000, Hi: 0x33000}},
	} {
		var b target.Builder
		b.Add(0xb000, nil, 0x40000, target.PermRead)
		s := space{b.Memory(rawWords), []paging.Mapping{{Virtual: 0x8000, Size: 0x8000, Write: true}, {Virtual: 0x10000, Size: 0x24000, Exec: true, Write: c.write}}}
		if got := codeAround(most, s); got != c.want {
			t.Errorf("writable %t: %#x, want %#x", c.write, got, c.want)
		}
	}
}

// TestLastRun: pages of code lie together, and some between them have no calls. Of two copies of a kernel the
// one that is nearer to the data counts; the code of its start behind is a few pages.
func TestLastRun(t *testing.T) {
	pages := make([]int, 1000)
	for i := range 100 {
		pages[10+i], pages[300+i+i/50*maxGap] = 7, 7
	}
	pages[200] = callsPerPage
	pages[800], pages[801] = 3, 3
	if first, end, most := lastRun(pages); first != 300 || end != 400+maxGap || most != 100 {
		t.Errorf("pages %d to %d, %d", first, end, most)
	}
}

// TestRestoreStart: memory of the kernel's start was given away, and is the file's again; that of a kernel that
// still starts has some patched instructions, and stays.
func TestRestoreStart(t *testing.T) {
	file := []byte("code of the kernel, code of its start, data")
	start := target.Range{Lo: 0x1000 + 20, Hi: 0x1000 + 37}
	img := image.New(image.Header{Segments: []image.Segment{{Addr: 0x1000, Size: uint64(len(file)), Data: file}}}, nil)
	for _, c := range []struct{ ran, want string }{
		{"CODE of the kernel, somebody else's 1, DATA", "CODE of the kernel, code of its start, DATA"},
		{"CODE of the kernel, code of its STart, DATA", "CODE of the kernel, code of its STart, DATA"},
	} {
		content := []byte(c.ran[5:])
		if restoreStart(content, 0x1005, start, img); string(content) != c.want[5:] {
			t.Errorf("%q, want %q", content, c.want[5:])
		}
	}
}

// TestBestView: of a kernel that moved itself away both copies of its data are tried. The same tasks are
// found by either, on MIPS without page tables, whose place follows from the right copy; modules need them.
func TestBestView(t *testing.T) {
	seen := func(known, mappings int) *view {
		return &view{space: space{new(target.Memory), make([]paging.Mapping, mappings)}, known: known}
	}
	left, live, none := seen(54, 4), seen(54, 20), seen(1, 99)
	for _, c := range []struct {
		name string
		v, o *view
		want bool
	}{
		{"any before none", none, &view{}, true},
		{"more memory of the same tasks", live, left, true},
		{"less memory", left, live, false},
		{"fewer tasks", none, left, false},
	} {
		if got := c.v.beats(c.o); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestStartGivenAway: memory of the kernel's start that can be written, where the kernel's code cannot, is somebody else's, and
// no code: an i386 kernel without NX leaves it executable.
func TestStartGivenAway(t *testing.T) {
	const text, start, end = 0xc100_0000, 0xc100_2000, 0xc100_4000
	arch := arm64.Archs()[0]
	for _, c := range []struct {
		name        string
		code, start target.Perm
		gone        bool
	}{
		{"while the kernel starts", target.PermRead | target.PermWrite | target.PermExec, target.PermRead | target.PermWrite | target.PermExec, false},
		{"given away", target.PermRead | target.PermExec, target.PermRead | target.PermWrite | target.PermExec, true},
		{"kept", target.PermRead | target.PermExec, target.PermRead | target.PermExec, false},
		{"not known", target.PermUnknown, target.PermUnknown, false},
	} {
		content := bytes.Repeat([]byte{0x90}, end-text)
		var b target.Builder
		b.Add(text, content[:start-text], 0, c.code)
		b.Add(start, content[start-text:], 0, c.start)
		k := kernelImage{text: target.Range{Lo: text, Hi: start}, start: target.Range{Lo: start, Hi: end}, data: target.Range{Lo: text, Hi: end}}
		k.gone = k.givenAway(b.Memory(arch))
		segments := k.segments(arch, content, 0)
		if last := segments[len(segments)-1]; last.Addr != start || !last.Exec || (last.Data == nil) != c.gone || segments[0].Data == nil {
			t.Errorf("%s: %d bytes of the start's code at %#x, executable %t", c.name, len(last.Data), last.Addr, last.Exec)
		}
	}
}

// TestEndAt: the kernel's names tell where its data end, before and behind what is looked at without names.
func TestEndAt(t *testing.T) {
	const lo, text, guessed = 0xffff_ffff_8100_0000, 0xffff_ffff_8200_0000, 0xffff_ffff_8300_0000
	for end, want := range map[uint64]uint64{
		guessed - 0x1000: guessed - 0x1000, guessed + 0x80_0000: guessed + 0x80_0000,
		0: guessed, text - 0x1000: guessed, lo + mostLinked: guessed,
	} {
		k := kernelImage{text: target.Range{Lo: lo, Hi: text}, data: target.Range{Lo: lo, Hi: guessed}}
		if k.endAt(end); k.data.Hi != want {
			t.Errorf("%#x: the data end at %#x, want %#x", end, k.data.Hi, want)
		}
	}
}
