package faultlog

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// dumped is the record of a Cortex-M3 in the handler of a bus fault: 60 bytes of the main stack and 40 of a task's.
func dumped(pc uint32) []byte {
	le := binary.LittleEndian
	b := append([]byte("bsR1"), 0, 0, 0, 0)
	b = le.AppendUint16(b, 40)
	b = append(b, 4, 2)
	b = le.AppendUint16(le.AppendUint16(b, 60), 40)
	b = append(append(b, 4, 0xb3, 0xeb, 0xae, 0xf2), make([]byte, 16)...)
	b = append(b, make([]byte, 15)...)
	for _, v := range []uint32{0x20001f00, 0x20004f00, pc, 0x45, 0x01000005, 0x20001f00, 0x8200, 0x40000000, 0, 0, 0xa0000000} {
		b = le.AppendUint32(b, v)
	}
	for i := range 100 {
		b = append(b, byte(i))
	}
	le.PutUint32(b[4:], crc32.ChecksumIEEE(b[8:]))
	return b
}

// dumpText is a record with the first line again.
func dumpText(b []byte) string {
	text := string(recordText(b))
	first, _, _ := strings.Cut(text, "\n")
	return text + first + "\n"
}

const wholeDump = "dump | arm cortexm | pc 3a0 sp 20004f00 lr 45 | 100 bytes, 0 listed"

// TestRecord: registers, both stacks and the cause, whatever stands before and between the lines.
func TestRecord(t *testing.T) {
	text := "boot\n[  1.5] " + strings.ReplaceAll(strings.TrimSpace(dumpText(dumped(0x3a0))), "\n", "\nI (12) wifi: up\n[  1.5] ") + "\nboot\n"
	snap, err := open(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(snap, &snap.Threads[0]); got != wholeDump || len(snap.Issues) > 0 {
		t.Errorf("%s, %v; want %s", got, snap.Issues, wholeDump)
	}
	if want := "precise data bus error (PRECISERR), at 0xa0000000"; snap.Fault == nil || snap.Fault.Status != want {
		t.Errorf("%+v, want %q", snap.Fault, want)
	}
	mem := snap.Threads[0].Memory
	if main, _ := mem.Uint(0x20004f00, 4); main != 0x03020100 {
		t.Errorf("main stack %#x", main)
	}
	if task, _ := mem.Uint(0x20001f00, 4); task != 0x3f3e3d3c {
		t.Errorf("task's stack %#x", task)
	}
}

// TestRecordInPart: what a damaged or lost line had is missing, and said; lines of two records are kept apart.
func TestRecordInPart(t *testing.T) {
	lines := strings.SplitAfter(dumpText(dumped(0x3a0)), "\n")
	without := func(drop ...int) string {
		var b strings.Builder
		for i, l := range lines {
			if !slices.Contains(drop, i) {
				b.WriteString(l)
			}
		}
		return b.String()
	}
	damage := func(i int) string {
		at := len("bsR1 0000 0000 ") + 5
		changed := slices.Clone(lines)
		changed[i] = changed[i][:at] + string(changed[i][at]^1) + changed[i][at+1:]
		return strings.Join(changed, "")
	}
	other := dumpText(dumped(0x3a2))
	for name, c := range map[string]struct{ text, want, issue string }{
		"the first line lost": {without(0), wholeDump, ""},
		"the last line lost":  {without(len(lines) - 2), wholeDump, ""},
		"both lost":           {without(0, len(lines)-2), "error: dump: the dump's first lines are lost", ""},
		"a line of stack":     {without(3), "dump | arm cortexm | pc 3a0 sp 20004f00 lr 45 | 58 bytes, 0 listed", "dump: 42 bytes of the stack are lost"},
		"a damaged line":      {damage(3), "dump | arm cortexm | pc 3a0 sp 20004f00 lr 45 | 58 bytes, 0 listed", "dump: 1 lines of the dump are damaged; not used"},
		"two records":         {without(4, 5, 6) + other, "dump | arm cortexm | pc 3a0 sp 20004f00 lr 45 | 72 bytes, 0 listed", "dump: 28 bytes of the stack are lost"},
		"the same record again, as after a reset": {dumpText(dumped(0x3a0)) + "boot\n" + dumpText(dumped(0x3a0)), wholeDump, ""},
		"only a damaged line":                     {strings.SplitAfter(damage(0), "\n")[0], "error: text without a crash report", ""},
	} {
		snap, err := open(c.text)
		got := ""
		if err != nil {
			_, reason, _ := strings.Cut(err.Error(), ": offset 0x0: ")
			got = "error: " + reason
		} else {
			got = summary(snap, &snap.Threads[0])
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if c.issue != "" && !slices.ContainsFunc(snap.Issues, func(i target.Issue) bool { return i.Text == c.issue }) {
			t.Errorf("%s: issues %v, want %q", name, snap.Issues, c.issue)
		}
	}
}

// TestStored: a record in a file is read as its text is, in a page of flash as well, and a sum that is wrong is one
// line.
func TestStored(t *testing.T) {
	data := dumped(0x3a0)
	page := append(slices.Clone(data), make([]byte, 4096-len(data))...)
	bad := slices.Clone(data)
	bad[len(bad)-1] ^= 1
	for _, c := range []struct {
		data []byte
		want string
	}{{data, wholeDump}, {page, wholeDump}, {bad, "error: dump: the dump's lines are not of one dump"},
		{data[:120], "dump | arm cortexm | pc 3a0 sp 20004f00 lr 45 | 24 bytes, 0 listed"}} {
		env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
		if !Stored().Sniff(c.data) {
			t.Fatal("not recognised")
		}
		s, err := Stored().Open(context.Background(), input.NewCapture("record", c.data), env)
		got := ""
		if err != nil {
			_, reason, _ := strings.Cut(err.Error(), ": offset 0x0: ")
			got = "error: " + reason
		} else if snap, err := s.Next(context.Background()); err == nil {
			got = summary(snap, &snap.Threads[0])
		}
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// FuzzStored: any bytes behind the mark; memory is no more than there are bytes.
func FuzzStored(f *testing.F) {
	f.Add(dumped(0x3a0))
	f.Add(slices.Concat([]byte("1Rsb"), dumped(0x3a0)[4:]))
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !Stored().Sniff(data) {
			return
		}
		if len(data) > recordHead { // most changes shall not end at the sum
			n := min(len(data), maxRecord)
			whole := record{pieces: []piece{{0, data[:n]}}}
			if o, _ := whole.open(); o.record != nil && o.order != nil && o.total() <= n {
				o.order.PutUint32(data[4:], crc32.ChecksumIEEE(data[8:o.total()]))
			}
		}
		s, err := Stored().Open(context.Background(), input.NewCapture("record", data), env)
		for err == nil {
			var snap *target.Snapshot
			if snap, err = s.Next(context.Background()); err == io.EOF {
				return
			}
			n := uint64(0)
			for _, m := range snap.Threads[0].Memory.Segments() {
				n += m.Size()
			}
			if n > uint64(len(data)) {
				t.Errorf("%d bytes of memory out of %d", n, len(data))
			}
		}
	})
}
