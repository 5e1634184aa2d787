package stackcfi

import (
	"bytes"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// winRecord is a Container with one STACK WIN record.
type winRecord struct {
	records
	line string
}

func (winRecord) StackCFI(uint64) (uint64, []byte, []byte, bool) { return 0, nil, nil, false }

func (r winRecord) StackWin(uint64) ([][]byte, bool, bool) {
	words := bytes.Fields([]byte(r.line))
	return words[1:], string(words[0]) == "4", true
}

func winRule(t testing.TB, arch, line string, exact bool) string {
	a := archNamed(t, arch)
	img := image.New(image.Header{Arch: a, Tables: []image.Table{{Kind: image.StackCFI, Range: image.Range{Size: 0x8000}}}}, winRecord{line: line})
	var out stackwalk.Rule
	out.Reset()
	if v := (Source{}).Rule(&stackwalk.Query{Image: img, Arch: a, PC: 0x41b8, Exact: exact}, &out); v != unwind.Found {
		return v.String()
	}
	return out.Format(a)
}

// TestWin: programs and FPO data as Microsoft's compilers leave them in PDBs.
func TestWin(t *testing.T) {
	const (
		framePointer = "4 41b0 86 13 0 8 0 e0 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = $P $T0 8 + .cbParams + ="
		search       = "4 42ae 18 7 0 4 4 10 0 1 $T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + = $ebx $T0 4 - ^ ="
		fpo          = "0 1000 20 3 0 8 8 10 0 0 1"
	)
	for _, c := range []struct {
		arch, line string
		exact      bool
		want       string
	}{
		{"i386", framePointer, false, "CFA=ebp+8 RA=[CFA-4] ebp=[CFA-8]"},
		{"i386", search, true, "CFA=esp+24 RA=[CFA-4] ebx=[CFA-8]"},
		{"i386", search, false, "not covered"}, // arguments of the call may lie between
		{"i386", fpo, true, "CFA=esp+28 RA=[CFA-4] ebp=[CFA-28]"},
		{"i386", fpo, false, "not covered"},
		{"x86_64", framePointer, true, "not covered"},
		{"i386", "4 1 2 3 4 5 6 7 8 1 $T0 .raSearch 16 @ = $eip $T0 ^ =", true, "unsupported"},
		{"i386", "4 1 2 3 4 5 6 7 8 1 $eip = +", true, "malformed"},
		{"i386", "4 1 2 3 x 5 6 7 8 1 $eip $esp =", true, "malformed"},
		{"i386", "4 1 2 3 4 5 6 7 8 1 $T0 $ebp =", true, "malformed"}, // says of no return address
		{"i386", "4 1 2 3", true, "malformed"},
	} {
		if got := winRule(t, c.arch, c.line, c.exact); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

// FuzzWin: any program is a rule or none.
func FuzzWin(f *testing.F) {
	f.Add("4 41b0 86 13 0 8 0 e0 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", true)
	f.Add("4 42ae 18 7 0 4 4 10 0 1 $T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + = ^ - $x", true)
	f.Fuzz(func(t *testing.T, line string, exact bool) {
		if len(bytes.Fields([]byte(line))) > 0 {
			winRule(t, "i386", line, exact)
		}
	})
}
