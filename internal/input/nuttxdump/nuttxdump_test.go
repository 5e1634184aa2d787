package nuttxdump

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// core is an ELF core of ARM with one task, whose registers are their numbers, and eight bytes of memory.
func core() []byte {
	le := binary.LittleEndian
	const head, phdr, regsAt = 52, 32, 72
	status := make([]byte, regsAt+18*4+4)
	le.PutUint32(status[24:], 6) // the task's number
	for i := range uint32(18) {
		le.PutUint32(status[regsAt+4*i:], 0x1000+i)
	}
	note := []byte("\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00CORE\x00\x00\x00\x00")
	le.PutUint32(note[4:], uint32(len(status)))
	note = append(note, status...)
	b := make([]byte, head)
	copy(b, "\x7fELF\x01\x01\x01")
	for at, v := range map[int]uint16{16: 4, 18: 40, 20: 1, 40: head, 42: phdr, 44: 2} {
		le.PutUint16(b[at:], v)
	}
	le.PutUint32(b[28:], head)
	from := uint32(head + 2*phdr)
	for _, v := range []uint32{4, from, 0, 0, uint32(len(note)), 0, 0, 4, 1, from + uint32(len(note)), 0x100d, 0x100d, 8, 8, 6, 4} {
		b = le.AppendUint32(b, v)
	}
	return append(append(b, note...), "\x01\x02\x03\x04\x05\x06\x07\x08"...)
}

// packed packs bytes as LZF does where nothing but runs of zeros repeats, in blocks; a run of 3 to 264 zeros is a repetition of the zero before.
func packed(data []byte) (out []byte) {
	for block := range chunks(data, 200) {
		var body []byte
		for at := 0; at < len(block); {
			n := 0
			for at+n < len(block) && block[at+n] == 0 && n < 264 {
				n++
			}
			if at > 0 && block[at-1] == 0 && n >= 9 {
				body = append(body, 7<<5, byte(n-2-7), 0)
				at += n
				continue
			}
			body = append(body, 0, block[at])
			at++
		}
		out = append(out, 'Z', 'V', 1, byte(len(body)>>8), byte(len(body)), byte(len(block)>>8), byte(len(block)))
		out = append(out, body...)
	}
	return out
}

// chunks are the pieces of bytes, of n each.
func chunks(b []byte, n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for at := 0; at < len(b); at += n {
			if !yield(b[at:min(at+n, len(b))]) {
				return
			}
		}
	}
}

// printed is a dump as the console has it.
func printed(data []byte) string {
	text := "nsh> coredump\n[CPU0] [ 6] Start coredump:\n"
	for line := range chunks(data, 64) {
		text += "[CPU0] [ 6] " + strings.ToUpper(hex.EncodeToString(line)) + "\n"
	}
	return text + "[CPU0] [ 6] Finish coredump (Compression Enabled).\nnsh> \n"
}

func opened(t testing.TB, text string) (*target.Snapshot, error) {
	archs := append(cpu.Set{}, arm.Archs()...)
	env := &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs})}
	s, err := console.Format(Reader()).Open(t.Context(), input.NewCapture("log", []byte(text)), env)
	if err != nil {
		return nil, err
	}
	return s.Next(t.Context())
}

// TestDumps: packed and not; what is cut short says what is missing.
func TestDumps(t *testing.T) {
	pack := packed(core())
	if got, whole := unpacked(pack); !bytes.Equal(got, core()) || !whole {
		t.Fatalf("%x, %v", got, whole)
	}
	for what, text := range map[string]string{"packed": printed(pack), "as it is": printed(core())} {
		snap, err := opened(t, text)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		th := &snap.Threads[0]
		pc, _ := th.Regs.Lookup(snap.Arch.PC)
		v, _ := snap.Of(th).Memory.Uint(0x100d, 4)
		if got := fmt.Sprintf("%s %x %x", snap.OS, pc, v); got != "NuttX 100f 4030201" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if _, err := opened(t, printed(pack[:100])); err == nil {
		t.Error("a dump without registers is read")
	}
}

// FuzzUnpacked: any bytes; no more comes out than the heads of blocks state.
func FuzzUnpacked(f *testing.F) {
	f.Add(packed(core()))
	f.Add([]byte("ZV\x00\x00\x02ab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const perByte = 264 / 3
		if got, _ := unpacked(data); len(got) > len(data)*perByte {
			t.Errorf("%d bytes out of %d", len(got), len(data))
		}
		_, _ = opened(t, printed(data))
	})
}
