package console

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
)

// inUTF16 is text in UTF-16, behind a mark.
func inUTF16(order binary.AppendByteOrder, mark, text string) string {
	out := []byte(mark)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// TestEncodings: a report is found in each form in which terminals, shells and flash keep text.
func TestEncodings(t *testing.T) {
	const text = "boot, a line of letters\nCRASH a🙂\nmore of letters\n"
	for what, log := range map[string]string{
		"UTF-16 of PowerShell":    inUTF16(binary.LittleEndian, "\xff\xfe", text),
		"UTF-16, big-endian":      inUTF16(binary.BigEndian, "\xfe\xff", text),
		"UTF-16 without mark":     inUTF16(binary.LittleEndian, "", text),
		"CR and LF":               strings.ReplaceAll(text, "\n", "\r\n"),
		"a CR of each on the way": strings.ReplaceAll(text, "\n", "\r\r\n"),
		"padded with NULs":        strings.Repeat("\x00", 1000) + text + strings.Repeat("\x00", 2000),
		"in erased flash":         strings.Repeat("\xff", 1000) + text + strings.Repeat("\xff", 2000),
		"behind a progress bar":   "10 %\r20 %\r\r100 %\r" + text,
	} {
		f := Format(toy(&cpu.Arch{Name: "toy"}))
		c := input.NewCapture("log", []byte(log))
		if !f.Sniff(c.Head) {
			t.Errorf("%s: no text", what)
		}
		s, err := f.Open(context.Background(), c, &input.Env{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if snap, err := s.Next(context.Background()); err != nil || snap.Threads[0].Name != "a🙂" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, noise := range []string{"\xff\xfe\x80noise on the line, then text\n", "\xff\xfeab"} {
		if got := decoded(context.Background(), []byte(noise)); string(got) != noise {
			t.Errorf("%q became %q", noise, got)
		}
	}
}

// TestPaddedRow: a line that a program broke at the width of a narrower terminal than the one that kept it.
func TestPaddedRow(t *testing.T) {
	log := NewLog(context.Background(), []byte("SP : 0x20001000 GP : 0x40"+strings.Repeat(" ", 90)+"80d3f0\nlast   "+strings.Repeat(" ", 90)+"\n"))
	if got := log.Line(0); got != "SP : 0x20001000 GP : 0x4080d3f0" {
		t.Errorf("%q", got)
	}
	if got := strings.TrimSpace(log.Line(1)); got != "last" {
		t.Errorf("%q", got)
	}
}

// TestUnsupported: a report of a processor that is not supported is refused by the processor's name.
func TestUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		"NIP:  c00000000022d79c LR: c00000000022d784\n":                  "PowerPC",
		"Krnl PSW : 0704c00180000000 000003e0023d9a2a\n":                 "s390x",
		"CRMD: 000000b0 (PLV0 -IE -DA +PG)\n":                            "LoongArch",
		"epc1=0x40201000 epc2=0x00000000\n":                              "Xtensa",
		"os:  r0: 0x00000000  r1: 0x00000001\nos: blink: 0x80001234\n":   "ARC",
		"dump: LPCXI:00370C88     PC:80026DFE        A2:00000000\n":      "TriCore",
		"no register at all, and nothing that a processor would print\n": "without a crash report",
	} {
		_, err := Format(toy(&cpu.Arch{})).Open(context.Background(), input.NewCapture("log", []byte("boot\n"+text)), &input.Env{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzDecoded: any bytes; UTF-16 takes at most twice as many in UTF-8.
func FuzzDecoded(f *testing.F) {
	f.Add([]byte(inUTF16(binary.LittleEndian, "\xff\xfe", "text 🙂\n")))
	f.Add([]byte(inUTF16(binary.BigEndian, "", strings.Repeat("text\n", 9)) + "\xd8"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := decoded(context.Background(), text); len(got) > 2*len(text) {
			t.Errorf("%d bytes out of %d", len(got), len(text))
		}
	})
}
