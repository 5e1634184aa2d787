package difftest

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Line is one instruction as objdump prints it.
type Line struct {
	Addr uint64
	// Units are the groups of hexadecimal digits: bytes, halfwords or words, each
	// read as a number in the byte order of the code.
	Units []string
	// Text is the instruction: mnemonic, a tab or blanks, operands, perhaps comments.
	Text string
}

// Mnemonic is the first word of the text.
func (l *Line) Mnemonic() string {
	m, _, _ := strings.Cut(strings.ReplaceAll(l.Text, "\t", " "), " ")
	return m
}

// Operands are what follows the mnemonic, tabs as blanks.
func (l *Line) Operands() string {
	_, ops, _ := strings.Cut(strings.ReplaceAll(l.Text, "\t", " "), " ")
	return strings.TrimSpace(ops)
}

// Code is the instruction's bytes in the order of memory.
func (l *Line) Code(order binary.ByteOrder) []byte {
	var code []byte
	for _, unit := range l.Units {
		b, _ := hex.DecodeString(unit)
		if order == binary.LittleEndian {
			slices.Reverse(b)
		}
		code = append(code, b...)
	}
	return code
}

// Objdump disassembles and calls each with every instruction of the listing, also
// with those that objdump does not know (.word, .inst). The test is skipped where
// the tool is not installed.
func Objdump(t testing.TB, tool string, each func(Line), args ...string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skip("optional comparison: ", err)
	}
	cmd := exec.Command(tool, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		if l, ok := parseLine(scan.Text()); ok {
			each(l)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// parseLine reads "  address:\tunits \ttext"; other lines are headings.
func parseLine(text string) (l Line, ok bool) {
	f := strings.SplitN(text, "\t", 3)
	if len(f) < 3 || !strings.HasSuffix(f[0], ":") {
		return l, false
	}
	addr, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(f[0], ":")), 16, 64)
	l = Line{Addr: addr, Units: strings.Fields(f[1]), Text: f[2]}
	for _, unit := range l.Units {
		if _, bad := hex.DecodeString(unit); bad != nil {
			return l, false
		}
	}
	return l, err == nil && len(l.Units) > 0
}

// Long tells whether whole binaries are to be compared instead of samples.
func Long() bool { return os.Getenv("BACKSIGHT_LONG") != "" }

// Sample are the arguments that have objdump list size bytes of a file's .text, from
// off on; none in the long run, which lists everything.
func Sample(t testing.TB, file string, off, size uint64) []string {
	t.Helper()
	if Long() {
		return nil
	}
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	if text == nil {
		t.Fatal(file, " has no .text")
	}
	from := text.Addr + off
	return []string{fmt.Sprintf("--start-address=%#x", from), fmt.Sprintf("--stop-address=%#x", from+size)}
}

// Raw writes code without headers into a file, for objdump -b binary.
func Raw(t testing.TB, code []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
