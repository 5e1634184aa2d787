package espcore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/xtensa"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// The control blocks of two tasks, and the version of a dump by an ESP32-C3.
const (
	blockMain, blockIdle = 0x3fc8_ec30, 0x3fc8_f38c
	versionC3            = 5<<16 | 0x102
)

// note is an ELF note.
func note(name string, typ uint32, desc []byte) (b []byte) {
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	for _, v := range []uint32{uint32(len(name) + 1), uint32(len(desc)), typ} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(b, append(pad(append([]byte(name), 0)), pad(desc)...)...)
}

// words are numbers of 32 bits.
func words(vals ...uint32) (b []byte) {
	for _, v := range vals {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// status is the note of a task: every register is its number, above a base, and pc that of x0.
func status(block, base uint32) []byte {
	desc := make([]byte, statusRegs+33*4)
	copy(desc[statusProcess:], words(block))
	for i := range uint32(32) {
		copy(desc[statusRegs+4*i:], words(base+i))
	}
	return note("CORE", noteStatus, desc)
}

// block is a control block of FreeRTOS.
func block(name string) []byte {
	b := make([]byte, nameAt+nameLen)
	copy(b[nameAt:], name)
	return b
}

// core is the ELF core of two tasks, of which the second crashed.
func core(machine uint16) []byte {
	info := append(words(versionC3), "7d946a8e8\x00\x00\x00"...)
	return coreOf(machine, []part{
		{typeNote, 0, append(status(blockIdle, 0x4200_1000), status(blockMain, 0x4200_2000)...)},
		{typeLoad, blockMain, block("main")},
		{typeLoad, blockIdle, block("IDLE")},
		{typeNote, 0, slices.Concat(note("ESP_CORE_DUMP_INFO", noteInfo, info), note("ESP_EXTRA_INFO", noteExtra, words(blockMain, 0)),
			note("ESP_PANIC_DETAILS", notePanic, []byte("abort() was called at PC 0x42009351 on core 0")))},
	})
}

// part is a program header and its bytes.
type part struct {
	typ, addr uint32
	bytes     []byte
}

// coreOf is an ELF core of some parts.
func coreOf(machine uint16, parts []part) []byte {
	b := make([]byte, elfHead)
	copy(b, "\x7fELF\x01\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], typeCore)
	binary.LittleEndian.PutUint16(b[18:], machine)
	binary.LittleEndian.PutUint32(b[28:], elfHead)
	binary.LittleEndian.PutUint16(b[44:], uint16(len(parts)))
	at := uint32(elfHead + programHeader*len(parts))
	for _, p := range parts {
		n := uint32(len(p.bytes))
		b = append(b, words(p.typ, at, p.addr, p.addr, n, n, 6, 0)...)
		at += n
	}
	for _, p := range parts {
		b = append(b, p.bytes...)
	}
	return b
}

// inFlash is a partition: a header of some bytes, the ELF file, the checksum, erased flash.
func inFlash(headerBytes int, elf []byte, sha bool) []byte {
	sum := 4
	if sha {
		sum = sha256.Size
	}
	b := make([]byte, headerBytes)
	copy(b, words(uint32(headerBytes+len(elf)+sum), versionC3))
	b = append(b, elf...)
	if sha {
		s := sha256.Sum256(b)
		b = append(b, s[:]...)
	} else {
		b = append(b, words(crc32.ChecksumIEEE(b))...)
	}
	return append(b, strings.Repeat("\xff", 64)...)
}

// lines is a dump as the device prints it.
func lines(partition []byte, headerBytes int) (out []string) {
	n := int(binary.LittleEndian.Uint32(partition))
	out = append(out, base64.StdEncoding.EncodeToString(partition[:headerBytes]))
	for at := headerBytes; at < n; at += 48 {
		out = append(out, base64.StdEncoding.EncodeToString(partition[at:min(at+48, n)]))
	}
	return out
}

// opened opens a capture by this package's Format, or as a log. exe is the program, "" for none.
func opened(data []byte, exe string) (*target.Snapshot, error) {
	archs := append(riscv.Archs(), xtensa.Archs()...)
	env := &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs, Exe: exe}), Formats: []input.Format{Format(), console.Format(Reader())}}
	s, err := env.OpenReader(context.Background(), "capture", strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// said is what a snapshot says of its tasks, in the order of their names.
func said(snap *target.Snapshot) string {
	var out []string
	for _, t := range snap.Threads {
		pc, _ := t.Regs.Lookup(snap.Arch.PC)
		sp, _ := t.Regs.Lookup(snap.Arch.SP)
		out = append(out, fmt.Sprintf("%s %v %x %x", t.Name, t.Crashed, pc, sp))
	}
	slices.Sort(out)
	rom, _ := snap.ModuleAt(0x4004_85e4)
	return strings.Join(append(out, snap.Fault.Status, rom.Name), "|")
}

const wantSaid = "IDLE false 42001000 42001002|main true 42002000 42002002|abort() was called at PC 0x42009351 on core 0|ROM of the ESP32-C3"

// TestForms: the ELF file, a partition with each of the headers, and a log with lines of others say the same.
func TestForms(t *testing.T) {
	elf := core(machineRISCV)
	log := lines(inFlash(24, elf, false), 24)
	noise := slices.Clone(log)
	for i := range noise {
		noise[i] = "2026-01-17 19:18:55 " + noise[i] + "\r"
	}
	noise = slices.Insert(noise, 3, "I (4711) wifi: connected", "done", "W (4712) tag: A")
	for what, data := range map[string][]byte{
		"ELF": elf, "header of 24 bytes": inFlash(24, elf, false), "header of 20 bytes, SHA-256": inFlash(20, elf, true), "header of 12 bytes": inFlash(12, elf, false),
		"log":                []byte("boot\n" + strings.Join(log, "\n") + "\n"),
		"log with more":      []byte("boot\n===== CORE DUMP START =====\n" + strings.Join(noise, "\n") + "\n===== CORE DUMP END =====\nboot\n"),
		"log, header of 12":  []byte(strings.Join(lines(inFlash(12, elf, false), 12), "\n")),
		"behind a partition": append(inFlash(24, elf, false), make([]byte, 5000)...),
	} {
		snap, err := opened(data, "")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got := said(snap); got != wantSaid || len(snap.Issues) != 0 {
			t.Errorf("%s: %s, %v; want %s", what, got, snap.Issues, wantSaid)
		}
	}
}

// TestRefused: what is not read says what it is; what is damaged is used, and said.
func TestRefused(t *testing.T) {
	elf := core(machineRISCV)
	damaged := inFlash(24, elf, false)
	damaged[len(damaged)-100] ^= 1
	for _, c := range []struct {
		what string
		data []byte
		want string
	}{
		{"a changed byte", damaged, "the checksum is another"},
		{"cut short", inFlash(24, elf, false)[:len(elf)-20], "the dump ends at"},
		{"no registers", append(slices.Clone(elf[:180]), make([]byte, len(elf)-180)...), "without any task's registers"},
	} {
		snap, err := opened(c.data, "")
		text := fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprint(snap.Issues)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s; want %s", c.what, text, c.want)
		}
	}
}

// TestOtherBuild: the device knows the SHA-256 of its program's ELF file.
func TestOtherBuild(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "app.elf")
	if err := os.WriteFile(exe, []byte("not the one that ran"), 0o600); err != nil {
		t.Fatal(err)
	}
	snap, err := opened(core(machineRISCV), exe)
	if err != nil || !strings.Contains(fmt.Sprint(snap.Issues), "the one that ran has 7d946a8e8") {
		t.Errorf("%v, %v", snap, err)
	}
}

// FuzzRead: any bytes, in each form; memory is no more than the bytes show.
func FuzzRead(f *testing.F) {
	elf := core(machineRISCV)
	f.Add(elf)
	f.Add(inFlash(24, elf, false))
	f.Add(inFlash(12, elf, true))
	f.Add([]byte(strings.Join(lines(inFlash(24, elf, false), 24), "\n")))
	f.Add(core(machineXtensa))
	archs := append(cpu.Set{}, append(riscv.Archs(), xtensa.Archs()...)...)
	env := &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs})}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, form := range []input.Format{Format(), console.Format(Reader())} {
			s, err := form.Open(t.Context(), input.NewCapture("dump", data), env)
			if err != nil {
				continue
			}
			if snap, err := s.Next(t.Context()); err != nil || len(snap.Threads) == 0 || len(snap.Threads) > maxTasks {
				t.Errorf("%s: %v, %v", form.Name, snap, err)
			}
		}
	})
}
