package minidump_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/minidump"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// microEnv reads logs with microdumps.
func microEnv(t testing.TB, program string) *input.Env {
	e := env(t, program)
	e.Formats = []input.Format{snapshot.Format(), console.Format(minidump.Microdump())}
	return e
}

// micro is a snapshot's first thread as Breakpad prints one, each line as logcat shows one.
func micro(t testing.TB, snap *target.Snapshot, processor string) string {
	data := written(t, snap, minidump.WriteOptions{})
	order := binary.ByteOrder(binary.LittleEndian)
	if snap.Arch.BigEndian {
		order = binary.BigEndian
	}
	thread := data[order.Uint32(data[52:])+4:] // of the second stream
	size, rva := order.Uint32(thread[40:]), order.Uint32(thread[44:])
	sp, _ := snap.Threads[0].Regs.Lookup(snap.Arch.SP)
	stack := snap.Memory.Bytes(sp)
	lines := []string{"-----BEGIN BREAKPAD MICRODUMP-----", "V product:1.2", "O L " + processor + " 02 machine 6.1", "P browser",
		"R 0000000B SIGSEGV 00000010", "G UNKNOWN", fmt.Sprintf("S 0 %X %X %X", sp, sp, len(stack))}
	const chunk = 384
	for at := 0; at < len(stack); at += chunk {
		lines = append(lines, fmt.Sprintf("S %X %X", sp+uint64(at), stack[at:min(at+chunk, len(stack))]))
	}
	lines = append(lines, fmt.Sprintf("C %X", data[rva:rva+min(size, 1022)])) // what a line holds
	for _, m := range snap.Modules {
		for _, s := range m.Image.Segments {
			if page := s.Addr & 0xfff; s.Exec && s.FileOff >= page {
				lines = append(lines, fmt.Sprintf("M %X %X %X %032d0 %s", m.Bias+s.Addr-page, s.FileOff-page, s.Size+page, 0, m.Name))
			}
		}
	}
	lines = append(lines, "-----END BREAKPAD MICRODUMP-----")
	return "booting\n01-25 09:57:54.139 F/google-breakpad( 77): " + strings.Join(lines, "\n01-25 09:57:54.139 F/google-breakpad( 77): ") + "\n"
}

// TestMicrodump: of every processor that Breakpad's writer knows, a microdump has the registers and the stack of what was
// captured, and the binary where that lay.
func TestMicrodump(t *testing.T) {
	processors := map[string]string{"x86_64": "x86_64", "i386": "x86", "aarch64": "arm64", "arm": "arm", "mips": "mips", "mips64": "mips64"}
	seen := map[string]bool{}
	for _, c := range recorded.Cases(t, "*/*") {
		program, ok := recorded.Program(t, &c, "naked")
		if !ok || seen[c.Arch] {
			continue
		}
		env := microEnv(t, program)
		s, err := env.Open(t.Context(), c.Snapshots())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		want, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		processor, known := processors[want.Arch.Name]
		if !known || want.Arch.Micro() || want.Arch.String() == "mips64/n32" {
			continue
		}
		seen[c.Arch] = true
		got, err := opened(t, env, []byte(micro(t, want, processor)))
		if err != nil {
			t.Errorf("%s: %v", c.Arch, err)
			continue
		}
		got.Memory, got.Threads[0].Memory = got.Of(&got.Threads[0]).Memory, nil
		compare(t, got, want)
		if got.OS != "Linux" || got.PID != 77 || got.Fault == nil || got.Fault.Name != "SIGSEGV" || got.Fault.Address != 0x10 {
			t.Errorf("%s: %s %d %+v", c.Arch, got.OS, got.PID, got.Fault)
		}
	}
	if len(seen) < 9 {
		t.Errorf("%d processors", len(seen))
	}
}

// TestMicrodumpLines: lines of others between do not matter, those of another process do not count, and of a dump that was cut
// all is said.
func TestMicrodumpLines(t *testing.T) {
	const begin, end, word = "-----BEGIN BREAKPAD MICRODUMP-----\n", "-----END BREAKPAD MICRODUMP-----\n", "00000000"
	registers := "C 07000100" + strings.Repeat(word, 45) + "00900408" + strings.Repeat(word, 2) + "00F0FFBF\n" // EIP, ESP
	for _, c := range []struct {
		text, issue string
		stack       int
	}{
		{begin + "O A x86 02 i686 x\nS BFFFF000 01020304\nnoise\nS BFFFF004 05060708\n" + registers + end, "", 8},
		{"F/google-breakpad(1): " + begin + "F/google-breakpad(1): O A x86 02 i686 x\nF/google-breakpad(1): S BFFFF000 01020304\nF/google-breakpad(2): S BFFFF004 05060708\nF/google-breakpad(1): " + registers, "", 4},
		{begin + "O A x86 02 i686 x\nS BFFFF000 0102030\nS x 01\nS BFFFF000 01020304\n" + registers, "", 4},
		{begin + "O A x86 02 i686 x\nS BFFFF000 01020304\n" + end, "without registers", 0},
		{begin + "O A vax 02 vax x\n" + registers + end, `not supported: "vax"`, 0},
	} {
		snap, err := opened(t, microEnv(t, ""), []byte(c.text))
		if c.issue != "" {
			if err == nil || !strings.Contains(err.Error(), c.issue) {
				t.Errorf("%v, want %s", err, c.issue)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if b := snap.Of(&snap.Threads[0]).Memory.Bytes(0xbffff000); len(b) != c.stack || snap.OS != "Android" || snap.Fault != nil {
			t.Errorf("%d bytes, not %d; %s, %+v", len(b), c.stack, snap.OS, snap.Fault)
		}
	}
}

// FuzzMicrodump: whatever the lines say.
func FuzzMicrodump(f *testing.F) {
	f.Add([]byte("-----BEGIN BREAKPAD MICRODUMP-----\nO L x86 02 i686 x\nR 0000000B SIGSEGV 00000010\nS 0 BFFFF000 BFFFF000 4\nS BFFFF000 01020304\nC " +
		strings.Repeat("07000100", 60) + "\nM 8048000 0 1000 " + strings.Repeat("1", 33) + " a.out\n"))
	e := microEnv(f, "")
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := e.OpenReader(t.Context(), "x", bytes.NewReader(text))
		if err != nil {
			return
		}
		defer s.Close()
		for {
			if _, err := s.Next(t.Context()); err == io.EOF || err != nil {
				return
			}
		}
	})
}
