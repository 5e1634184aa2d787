package mcudump

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// opened opens a dump in a form.
func opened(t testing.TB, form input.Format, data []byte) (*target.Snapshot, error) {
	archs := append(append(cpu.Set{}, arm.Archs()...), riscv.Archs()...)
	env := &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs})}
	c := input.NewCapture("dump", data)
	if !form.Sniff(c.Head) {
		return nil, fmt.Errorf("not recognised as %s", form.Name)
	}
	s, err := form.Open(t.Context(), c, env)
	if err != nil {
		return nil, err
	}
	return s.Next(t.Context())
}

// said is what a snapshot says.
func said(snap *target.Snapshot) string {
	th := &snap.Threads[0]
	var out []string
	for _, r := range []cpu.Reg{snap.Arch.PC, snap.Arch.SP, snap.Arch.LR} {
		v, _ := th.Regs.Lookup(r)
		out = append(out, fmt.Sprintf("%x", v))
	}
	mem := snap.Of(th).Memory
	v, _ := mem.Uint(0x2000_0010, 4)
	out = append(out, fmt.Sprintf("%x", v))
	if snap.Fault != nil {
		out = append(out, snap.Fault.Status)
	}
	for _, issue := range snap.Issues {
		out = append(out, issue.Text)
	}
	return snap.Arch.Name + " " + strings.Join(out, " ")
}

// msg writes MessagePack: numbers, texts, bytes, arrays, and maps as pairs.
func msg(v any) (b []byte) {
	switch v := v.(type) {
	case int:
		return msg(uint32(v))
	case uint32:
		return binary.BigEndian.AppendUint32([]byte{uint8s + 2}, v)
	case string:
		return append([]byte{fixStr + byte(len(v))}, v...)
	case []byte:
		return append([]byte{bin8, byte(len(v))}, v...)
	case []any:
		b = []byte{array16, 0, byte(len(v))}
		for _, e := range v {
			b = append(b, msg(e)...)
		}
	case pairs:
		b = []byte{fixMap + byte(len(v)/2)}
		for _, e := range v {
			b = append(b, msg(e)...)
		}
	}
	return b
}

type pairs []any

// u32 is a register's value as probe-rs has it.
func u32(v int) pairs { return pairs{"U32", v} }

// piecesOf are pieces of memory: RAM, and the fault status registers of a Cortex-M, whose CFSR says a precise bus error.
func piecesOf(ram any) []any {
	block := make([]byte, 0x40)
	binary.LittleEndian.PutUint32(block[0x28:], 1<<9|1<<15)
	binary.LittleEndian.PutUint32(block[0x38:], 0x3fff_fffc)
	return []any{
		[]any{pairs{"start", 0x2000_0010, "end", 0x2000_0014}, ram},
		[]any{pairs{"start", uint32(0xe000_ed00), "end", uint32(0xe000_ed40)}, block},
	}
}

// TestProbeRS: registers by their numbers, memory as bytes or as numbers, fields in any order; what is damaged is said.
func TestProbeRS(t *testing.T) {
	cortex := msg(pairs{"registers", pairs{15, u32(0x0800_0200), 13, u32(0x2000_0000), 14, u32(0x0800_0101), 64, u32(7)},
		"data", piecesOf([]any{1, 2, 3, 4}), "instruction_set", "Thumb2", "fpu_support", []any{1, "no"}})
	const want = "arm 8000200 20000000 8000101 4030201 precise data bus error (PRECISERR), at 0x3ffffffc"
	hart := msg(pairs{"instruction_set", "RV32C", "registers", pairs{0x7b1, u32(0x4200_0100), 0x1002, u32(0x2000_0000), 0x1001, u32(0x4200_0200)}, "data", piecesOf([]byte{1, 2, 3, 4})})
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"Cortex-M", cortex, want},
		{"RISC-V", hart, "riscv32 42000100 20000000 42000200 4030201"},
		{"cut short", cortex[:len(cortex)-6], want + " the dump is damaged at"},
		{"another processor", msg(pairs{"registers", pairs{1, u32(2)}, "instruction_set", "Xtensa"}), "not supported"},
	} {
		snap, err := opened(t, ProbeRS(), c.data)
		got := fmt.Sprint(err)
		if err == nil {
			got = said(snap)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %s", c.what, got, c.want)
		}
	}
}

// caught is a dump of CrashCatcher with registers that are their numbers, but PC, SP and LR.
func caught(version byte, flags uint32) []byte {
	b := append([]byte(signature), version, 0)
	b = binary.LittleEndian.AppendUint32(b, flags)
	for i := range uint32(19) {
		v := map[uint32]uint32{13: 0x2000_0000, 14: 0x0800_0101, 15: 0x0800_0200, 16: 1 << 24}[i]
		b = binary.LittleEndian.AppendUint32(b, max(v, i))
	}
	if version == 3 {
		b = binary.LittleEndian.AppendUint32(b, 3)
	}
	b = append(b, make([]byte, 4*floats*flags)...)
	for _, v := range []uint32{0x2000_0010, 0x2000_0014, 0x0403_0201} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// TestCrashCatcher: the versions, floating-point registers, the binary and the text with other lines between.
func TestCrashCatcher(t *testing.T) {
	const want = "arm 8000200 20000000 8000101 4030201"
	for _, c := range []struct {
		version byte
		flags   uint32
	}{{2, 0}, {2, 1}, {3, 0}, {3, 1}} {
		data := caught(c.version, c.flags)
		snap, err := opened(t, CrashCatcher(), data)
		if err != nil || said(snap) != want {
			t.Errorf("version %d, flags %d: %v, %v", c.version, c.flags, snap, err)
		}
		text := "boot\nCRASH ENCOUNTERED\n\n"
		for at := 0; at < len(data); at += 16 {
			text += strings.ToUpper(hex.EncodeToString(data[at:min(at+16, len(data))])) + "\r\n[adc] 12 mV\n"
		}
		snap, err = opened(t, console.Format(CatcherText()), []byte(text+"End of dump\n00\n"))
		if err != nil || said(snap) != want {
			t.Errorf("text of version %d, flags %d: %v, %v", c.version, c.flags, snap, err)
		}
	}
}

// FuzzDumps: any bytes in each form; memory is no more than the bytes are.
func FuzzDumps(f *testing.F) {
	f.Add(msg(pairs{"registers", pairs{15, u32(0x0800_0200)}, "data", piecesOf([]any{1, 2}), "instruction_set", "Thumb2"}))
	f.Add(caught(3, 1))
	f.Add([]byte("63430300000000000000000001000000\n"))
	f.Add([]byte("\x81\xa4data\xdd\xff\xff\xff\xff\x92"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, form := range []input.Format{ProbeRS(), CrashCatcher(), console.Format(CatcherText())} {
			snap, err := opened(t, form, data)
			if err != nil {
				continue
			}
			size := 0
			for _, s := range snap.Of(&snap.Threads[0]).Memory.Segments() {
				size += len(s.Data)
			}
			if size > len(data) {
				t.Errorf("%s: %d bytes of memory out of %d", form.Name, size, len(data))
			}
		}
	})
}
