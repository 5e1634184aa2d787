// Package hexfile reads memory that is written as text, as programmers of flash chips and
// debugging probes exchange it:
//
//	Intel HEX     :10246200464C5549442050524F46494C4500464C33    (Intel, Hexadecimal Object File Format, 1988)
//	S-record      S1137AF00A0A0D0000000000000000000000000061     (Motorola, M68000 Family Programmer's Reference, appendix C)
//	TI-TXT        @F000 / 31 40 00 03 B2 40 80 5A 20 01 / q      (Texas Instruments, SLAU131, 12.12)
package hexfile

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/backsight/backsight/internal/budget"
)

// Run is bytes at an address.
type Run struct {
	Addr uint64
	Data []byte
}

// Memory is what a file says.
type Memory struct {
	Runs []Run
	// Entry is the start address that the file states, 0 for none.
	Entry uint64
	// Issues are lines that could not be read, one line of text each, a few of them.
	Issues []string
}

// ErrNoRecords is returned for text that has the head of such a file and no bytes.
var ErrNoRecords = errors.New("no record with bytes")

// Sniff tells by the first bytes of a file whether it is one of the formats.
func Sniff(head []byte) bool { return formatOf(head) != nil }

// format reads one line into m.
type format func(m *builder, line []byte) error

// formatOf recognises a format by the first line that is not empty: white space and
// comments do not come before it.
func formatOf(head []byte) format {
	head = bytes.TrimLeft(head, "\r\n\t \xef\xbb\xbf")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSpace(line)
	switch {
	case len(line) >= 11 && line[0] == ':' && allHex(line[1:]):
		return (*builder).intel
	case len(line) >= 8 && line[0] == 'S' && line[1] >= '0' && line[1] <= '3' && allHex(line[2:]):
		return (*builder).motorola
	case len(line) >= 2 && len(line) <= 17 && line[0] == '@' && allHex(line[1:]) && tiBytes(head):
		return (*builder).ti
	}
	return nil
}

// tiBytes tells whether bytes follow the first address, as they do in no other text that
// begins with an at sign.
func tiBytes(head []byte) bool {
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	for _, f := range fields {
		if len(f) != 2 || !allHex(f) {
			return false
		}
	}
	return len(fields) > 0
}

func allHex(b []byte) bool {
	for _, c := range b {
		if _, ok := digit(c); !ok {
			return false
		}
	}
	return true
}

// Parse reads a file that Sniff recognised. Lines that are damaged are left out and said;
// the error is ErrNoRecords, or what says that there is too much.
func Parse(text []byte) (*Memory, error) {
	read := formatOf(text)
	if read == nil {
		return nil, ErrNoRecords
	}
	// A run has one byte at least, and that took two digits of the text.
	b := builder{runs: budget.New("runs of bytes", 1<<10, uint64(len(text))/64)}
	for n := 1; len(text) > 0 && !b.done; n++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := read(&b, line); err != nil {
			b.issue(n, err)
		}
		if err := b.runs.Err(); err != nil {
			return &b.out, err
		}
	}
	if len(b.out.Runs) == 0 {
		return &b.out, ErrNoRecords
	}
	return &b.out, nil
}

// builder joins records to runs.
type builder struct {
	out    Memory
	base   uint64 // of Intel HEX: what the last extended address record added
	at     uint64 // of TI-TXT: the next byte's address
	done   bool   // an end record was read
	bad    int    // lines that could not be read
	runs   budget.Budget
	record []byte // the bytes of the line being read
}

// maxIssues bounds the damaged lines that are told apart.
const maxIssues = 5

func (b *builder) issue(line int, err error) {
	switch b.bad++; {
	case b.bad <= maxIssues:
		b.out.Issues = append(b.out.Issues, fmt.Sprintf("line %d: %v; left out", line, err))
	case b.bad == maxIssues+1:
		b.out.Issues = append(b.out.Issues, "more damaged lines; left out")
	}
}

// add puts bytes at an address: behind the last run where they continue it.
func (b *builder) add(addr uint64, data []byte) {
	if len(data) == 0 {
		return
	}
	if n := len(b.out.Runs); n > 0 {
		if last := &b.out.Runs[n-1]; last.Addr+uint64(len(last.Data)) == addr {
			last.Data = append(last.Data, data...)
			return
		}
	}
	if b.runs.Draw(1) {
		b.out.Runs = append(b.out.Runs, Run{addr, bytes.Clone(data)})
	}
}

var (
	errDigits = errors.New("not a record of whole bytes")
	errLength = errors.New("the record is cut short")
	errSum    = errors.New("the checksum is wrong")
)

// bytes decodes the hexadecimal digits of a line.
func (b *builder) bytes(digits []byte) ([]byte, error) {
	if len(digits)%2 != 0 {
		return nil, errDigits
	}
	b.record = b.record[:0]
	for i := 0; i < len(digits); i += 2 {
		hi, ok1 := digit(digits[i])
		lo, ok2 := digit(digits[i+1])
		if !ok1 || !ok2 {
			return nil, errDigits
		}
		b.record = append(b.record, hi<<4|lo)
	}
	return b.record, nil
}

func digit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// number is a big-endian number.
func number(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

func sum(b []byte) (s byte) {
	for _, c := range b {
		s += c
	}
	return s
}
