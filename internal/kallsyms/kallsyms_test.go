package kallsyms

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/synth/kernels"
)

const base = 0xffff_8000_0801_0000

// symbols are 1,000 functions of 64 bytes, one of them with a name of 200 characters.
func symbols(base uint64) (list []kernels.Symbol) {
	for i := range 1000 {
		list = append(list, kernels.Symbol{Addr: base + 64*uint64(i), Name: fmt.Sprintf("tfunction_some%d", i)})
	}
	list[700].Name = "Tlong_" + strings.Repeat("x", 200)
	return list
}

// TestFind: the tables are found and read in each layout that kernels have had, in both
// byte orders and word sizes, amid other data.
func TestFind(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	for name, l := range map[string]kernels.Layout{
		"6.1, arm64":               {Order: le, Word: 8, Base: base},
		"6.2, sequences":           {Order: le, Word: 8, Base: base, Sequences: true},
		"6.4":                      {Order: le, Word: 8, Base: base, Late: true},
		"x86, per-CPU symbols":     {Order: le, Word: 8, Base: base, PerCPU: true},
		"4.4, addresses":           {Order: le, Word: 8, Absolute: true},
		"32 bits, big-endian":      {Order: be, Word: 4, Base: 0x80100400, Sequences: true},
		"64 bits, big-endian, 6.4": {Order: be, Word: 8, Base: base, Late: true},
	} {
		t.Run(name, func(t *testing.T) {
			at := uint64(base)
			if l.Word == 4 {
				at = l.Base
			}
			data := append([]byte(strings.Repeat("0\x001\x002\x00noise\x00\x00\x00", 32)), kernels.Kallsyms(symbols(at), l)...)
			table, err := Find(t.Context(), append(data, "more"...), l.Word)
			if err != nil {
				t.Fatal(err)
			}
			check(t, table, at)
		})
	}
}

func check(t *testing.T, table *Table, at uint64) {
	t.Helper()
	if table.Len() != 1000 || table.Relative {
		t.Fatalf("%d symbols, relative %t", table.Len(), table.Relative)
	}
	if s, ok := table.At(at + 64*321 + 17); !ok || s.Name != "function_some321" || s.Addr != at+64*321 || s.Size != 64 || !s.Code() {
		t.Errorf("symbol 321: %+v", s)
	}
	if s, ok := table.Named("long_" + strings.Repeat("x", 200)); !ok || s.Addr != at+64*700 || s.Kind != 'T' {
		t.Errorf("long name: %+v", s)
	}
	if _, ok := table.At(at - 1); ok {
		t.Error("a symbol below the first")
	}
}

// TestOffsetsFromEntries: in Linux 7 offsets count from where each of them lies, so that addresses are known from
// the data's first byte; symbols may lie before it. The offsets need not be aligned as words are.
func TestOffsetsFromEntries(t *testing.T) {
	const first = base + 0x4000 // a third of the functions lie before the data
	noise := []byte("some code, and some data")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		l := kernels.Layout{Order: order, Word: 8, Late: true, Sequences: true, At: first + uint64(len(noise))}
		tables := kernels.Kallsyms(symbols(base), l)
		table, err := Find(t.Context(), append(bytes.Clone(noise), tables...), 8)
		if err != nil || !table.FromData {
			t.Fatalf("from the data %t, %v", table != nil && table.FromData, err)
		}
		check(t, table.Moved(first), base)
	}
}

// TestLongNames: 256 names that stand next to one another may have 100 characters each, as those of Rust do.
func TestLongNames(t *testing.T) {
	list := symbols(base)
	for i := 300; i < 700; i++ {
		list[i].Name += strings.Repeat("_RNvCs", 16)
	}
	table, err := Find(t.Context(), kernels.Kallsyms(list, kernels.Layout{Order: binary.LittleEndian, Word: 8, Base: base}), 8)
	if err != nil || table.Len() != len(list) {
		t.Fatal(err)
	}
}

// TestRelocatable: a relocatable kernel's base is 0 in the file.
func TestRelocatable(t *testing.T) {
	table, err := Find(t.Context(), kernels.Kallsyms(symbols(0), kernels.Layout{Order: binary.LittleEndian, Word: 8}), 8)
	if err != nil || !table.Relative {
		t.Fatalf("relative %t, %v", table != nil && table.Relative, err)
	}
	check(t, table.Moved(base), base)
}

// TestParse: System.map, /proc/kallsyms and nm, of several names at one address the one
// that the kernel prints.
func TestParse(t *testing.T) {
	table, err := Parse([]byte("ffffffff81000040 T vfs_write\nffffffff81000000 t __pfx_x\nffffffff81000000 T x\n" +
		"ffffffffc0000000 t crashy_write\t[crashy]\n                 U printk\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0xffffffff81000001: "x ", 0xffffffff81000044: "vfs_write ", 0xffffffffc0000010: "crashy_write crashy"} {
		if s, _ := table.At(addr); s.Name+" "+s.Module != want {
			t.Errorf("%#x: %+v, want %s", addr, s, want)
		}
	}
	for _, text := range []string{"", "hello world\n", "0000000000000000 T a\n0000000000000000 T b\n"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

func FuzzFind(f *testing.F) {
	l := kernels.Layout{Order: binary.LittleEndian, Word: 4, Base: 0x80100400}
	f.Add(kernels.Kallsyms(symbols(l.Base), l))
	l.Late = true
	f.Add(kernels.Kallsyms(symbols(l.Base), l))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Find(t.Context(), data, 4)
		if err != nil {
			return
		}
		for i := range table.Len() {
			table.Symbol(i)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("80000000 T a\n80000000 W b [m]\n7fffffff d c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Parse(data)
		if err != nil {
			return
		}
		for i := range table.Len() {
			table.Symbol(i)
		}
		table.Functions(func(uint64, uint64) bool { return true })
	})
}

// TestManyTokenTables: a search among thousands of token tables without names ends, and says so,
// before it comes to the table behind them.
func TestManyTokenTables(t *testing.T) {
	real := kernels.Kallsyms(symbols(base), kernels.Layout{Order: binary.LittleEndian, Word: 8, Base: base})
	tok, _, ok := findTokens(real, 0)
	if !ok {
		t.Fatal("no token table")
	}
	decoy := append(bytes.Clone(real[tok.at:tok.end]), make([]byte, 8)...)
	data := append(bytes.Repeat(decoy, (4<<20)/len(decoy)), real...)
	if _, err := Find(t.Context(), data, 8); !errors.As(err, new(*budget.Exceeded)) {
		t.Errorf("%d bytes: %v", len(data), err)
	}
}
