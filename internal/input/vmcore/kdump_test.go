package vmcore_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/vmcore"
	"github.com/backsight/backsight/internal/synth/kernels"
)

// kdumpOf writes a machine's memory as makedumpfile does: each page by another compression, those that are all zeros as one; some
// pages are left out.
func kdumpOf(m *kernels.Machine, left ...int) []byte {
	return kdumpPart(m, 0, kernels.RAMSize/4096, left...)
}

// kdumpPart is kdumpOf for some of the memory's pages; all bitmaps are whole.
func kdumpPart(m *kernels.Machine, from, end int, left ...int) []byte {
	const block, firstPage = 4096, kernels.RAMBase / 4096
	le := binary.LittleEndian
	bitBytes := (firstPage+kernels.RAMSize/block)/8 + 1
	bitBlocks := 2 * ((bitBytes + block - 1) / block)
	head := make([]byte, 2*block)
	copy(head, "KDUMP   ")
	le.PutUint32(head[8:], 6)
	copy(head[12+4*65:], "x86_64") // as QEMU writes for all processors of 64 bits
	le.PutUint32(head[428:], block)
	le.PutUint32(head[432:], 1)
	le.PutUint32(head[436:], uint32(bitBlocks))
	bitmaps := make([]byte, bitBlocks*block)
	var descs, pages []byte
	count := 0
	for i := range kernels.RAMSize / block {
		page := firstPage + i
		bitmaps[page/8] |= 1 << (page % 8)
		if !slices.Contains(left, i) {
			bitmaps[len(bitmaps)/2+page/8] |= 1 << (page % 8)
			if i >= from && i < end {
				count++
			}
		}
	}
	at := len(head) + len(bitmaps) + 24*count
	pages = make([]byte, block) // of zeros
	for i := from; i < end; i++ {
		page := m.RAM[i*block:][:block]
		if slices.Contains(left, i) {
			continue
		}
		packed, flags, place := make([]byte, block), uint32(0), 0
		if bytes.Count(page, []byte{0}) < block {
			packed, flags = pack(page, i%4)
			place = len(pages)
			pages = append(pages, packed...)
		}
		descs = le.AppendUint64(descs, uint64(at+place))
		descs = le.AppendUint32(le.AppendUint32(descs, uint32(len(packed))), flags)
		descs = le.AppendUint64(descs, 0)
	}
	return append(append(append(head, bitmaps...), descs...), pages...)
}

func pack(page []byte, how int) (packed []byte, flags uint32) {
	switch how {
	case 0:
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = z.Write(page)
		_ = z.Close()
		return b.Bytes(), 1
	case 1:
		return snappy.Encode(nil, page), 4
	case 2:
		z, _ := zstd.NewWriter(nil)
		return z.EncodeAll(page, nil), 0x20
	}
	return page, 0
}

// flatten writes a dump as makedumpfile -F does, its second half first.
func flatten(data []byte) []byte {
	be := binary.BigEndian
	out := make([]byte, 4096)
	copy(out, "makedumpfile\x00\x00\x00\x00")
	half := len(data) / 2
	for _, r := range []struct{ from, to int }{{half, len(data)}, {0, half}} {
		out = be.AppendUint64(be.AppendUint64(out, uint64(r.from)), uint64(r.to-r.from))
		out = append(out, data[r.from:r.to]...)
	}
	return be.AppendUint64(be.AppendUint64(out, ^uint64(0)), ^uint64(0))
}

// TestKdump: tasks out of compressed pages, in order and flattened.
func TestKdump(t *testing.T) {
	data := kdumpOf(kernels.NewMachine(names...))
	unknown := bytes.Clone(data) // as QEMU writes for RISC-V
	copy(unknown[12+4*65:], "Unknown")
	for name, dump := range map[string][]byte{"kdump": data, "flattened": flatten(data), "of an unknown processor": unknown} {
		t.Run(name, func(t *testing.T) {
			if !vmcore.Format().Sniff(dump[:4096]) {
				t.Error("not recognised")
			}
			snap, err := open(t, dump)
			if err != nil {
				t.Fatal(err)
			}
			got := traces(t, snap)
			if want := "2 kthreadd: function0 function1 function2"; len(got) != len(names) || !strings.HasPrefix(got[2], want) {
				t.Errorf("%q, want %q; %v", got, want, snap.Issues)
			}
		})
	}
}

// TestFiltered: a program whose memory makedumpfile left out has what its registers and the sysroot's file tell; its stack does not read as
// zeros, which would end the chain.
func TestFiltered(t *testing.T) {
	m := kernels.NewMachine(names...)
	path, env := programsOf(t, m, nil)
	stack := bytes.Index(m.RAM, (&kernels.Program{}).Stack())
	other := stack + 4096 + bytes.Index(m.RAM[stack+4096:], (&kernels.Program{}).Stack())
	if err := os.WriteFile(path, kdumpOf(m, stack/4096, other/4096), 0o600); err != nil {
		t.Fatal(err)
	}
	snap := processesOf(t, path, "sh", env)[0]
	b := backtraces(t, snap)[0]
	_, resume := (&kernels.Program{}).Functions()
	if len(b.Frames) <= b.Kernel || b.Frames[b.Kernel].PC != resume["level2"] || b.Stop.Reason.String() != "unreadable" {
		t.Errorf("%d frames, %d of the kernel, stop %s", len(b.Frames), b.Kernel, b.Stop.Reason)
	}
	if len(snap.Issues) != 1 || !strings.Contains(snap.Issues[0].Text, "the stack is not in the dump") {
		t.Errorf("issues %v", snap.Issues)
	}
}

// TestKdumpDamaged: bitmaps that claim more pages than the file has, descriptors that lead
// nowhere, records of a flattened dump far away.
func TestKdumpDamaged(t *testing.T) {
	data := kdumpOf(kernels.NewMachine(names...))
	lying := bytes.Clone(data)
	for i := 2 * 4096; i < 20*4096; i++ {
		lying[i] = 0xff
	}
	far := flatten(data)
	binary.BigEndian.PutUint64(far[4096:], 1<<50)
	for name, dump := range map[string][]byte{"bitmap": lying, "cut": data[:len(data)/2], "far": far, "header": data[:5000]} {
		snap, err := open(t, dump)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && len(snap.Threads) == 0 {
			t.Errorf("%s: neither threads nor an error; %v", name, fmt.Sprint(snap.Issues))
		}
	}
}

// splitKdump writes a machine's memory as makedumpfile --split does, to files that end at pages.
func splitKdump(m *kernels.Machine, ends ...int) (files [][]byte) {
	const firstPage = kernels.RAMBase / 4096
	from := 0
	for _, end := range ends {
		data := kdumpPart(m, from, end)
		sub := data[4096:]
		binary.LittleEndian.PutUint32(sub[12:], 1)
		if from > 0 {
			binary.LittleEndian.PutUint64(sub[16:], uint64(firstPage+from))
		}
		binary.LittleEndian.PutUint64(sub[24:], uint64(firstPage+end))
		files = append(files, data)
		from = end
	}
	return files
}

// TestKdumpSplit: files that makedumpfile --split wrote are one dump, in any order, and named twice;
// which memory is in none of them is said.
func TestKdumpSplit(t *testing.T) {
	m := kernels.NewMachine(names...)
	const pages = kernels.RAMSize / 4096
	files := splitKdump(m, 20, 72, pages)
	for _, c := range []struct {
		order   []int
		missing string
	}{
		{[]int{0, 1, 2}, ""},
		{[]int{2, 0, 1}, ""},
		{[]int{0, 0, 1, 2, 2}, ""},
		{[]int{0, 1}, fmt.Sprintf("no file named here has the memory from %#x to ", kernels.RAMBase+72*4096)},
		{[]int{2, 0}, fmt.Sprintf("no file named here has the memory from %#x to %#x", kernels.RAMBase+20*4096, kernels.RAMBase+72*4096)},
	} {
		capture := input.NewCapture("vmcore1", files[c.order[0]])
		for _, i := range c.order[1:] {
			capture.Others = append(capture.Others, input.NewCapture("other", files[i]))
		}
		snap, err := snapshotOf(t, capture)
		said := fmt.Sprint(err)
		if err == nil {
			said = fmt.Sprint(snap.Issues)
		}
		if c.missing != "" {
			if !strings.Contains(said, c.missing) {
				t.Errorf("%v: %s, want %q", c.order, said, c.missing)
			}
			continue
		}
		if err != nil || len(traces(t, snap)) != len(names) || strings.Contains(said, "split") {
			t.Errorf("%v: %s", c.order, said)
		}
	}
}

// TestKdumpSet: files of one dump have the name of their set in common, whatever pages they have; files of
// another crash of the same machine have another name, and are not joined; a whole dump has none.
func TestKdumpSet(t *testing.T) {
	m := kernels.NewMachine(names...)
	files := splitKdump(m, 40, kernels.RAMSize/4096)
	other := splitKdump(m, 40, kernels.RAMSize/4096)[1]
	copy(other[12+3*65:], "#2 SMP, built later")
	set := func(data []byte) string { return vmcore.Format().Set(bytes.NewReader(data)) }
	if set(files[0]) == "" || set(files[0]) != set(files[1]) || set(other) == set(files[0]) {
		t.Errorf("%q, %q, of another crash %q", set(files[0]), set(files[1]), set(other))
	}
	for _, data := range [][]byte{kdumpOf(m), []byte("KDUMP   "), {}, flatten(files[0])} {
		if got := set(data); got != "" {
			t.Errorf("%.10q is one of %q", data, got)
		}
	}
	capture := input.NewCapture("vmcore1", files[0])
	capture.Others = []*input.Capture{input.NewCapture("vmcore2", other)}
	if _, err := snapshotOf(t, capture); err == nil || !strings.Contains(err.Error(), "vmcore2: no file of the dump of vmcore1") {
		t.Errorf("another dump's file: %v", err)
	}
}
