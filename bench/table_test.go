package bench_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

const llvm = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"

// undressed is a file of which only what is loaded is left: no sections, no symbols.
type undressed struct{ *image.Image }

func (undressed) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (undressed) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (undressed) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (undressed) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (undressed) Close() error                                  { return nil }

func openLLVM(b *testing.B) *image.Image {
	img, err := elf.Open(llvm, image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = img.Close() })
	return img
}

// BenchmarkTable compiles libLLVM-14's table; bytes are those of .text. Run with
// -cpu 1 for figures per core. agree is the share of the naked table's rows that find
// the frame and the return address where .eh_frame does.
func BenchmarkTable(b *testing.B) {
	img := openLLVM(b)
	text, _ := img.Sections.Named(".text")
	fromTables := table.Listed(unwind.MethodCFI, cfi.New().Rows)
	b.Run("eh_frame", func(b *testing.B) {
		perCore(b, len(text.Data), func() { table.Build(img, fromTables) })
	})
	b.Run("naked", func(b *testing.B) {
		var t *table.Table
		perCore(b, len(text.Data), func() {
			t = table.Build(image.New(img.Header, undressed{img}), table.Part{Method: unwind.MethodCode, List: code.New(nil).Rows})
		})
		agree, covered := compare(img, text, t, table.Build(img, fromTables))
		b.ReportMetric(agree, "%agree")
		b.ReportMetric(covered, "%text")
	})
	b.Run("open", func(b *testing.B) {
		file := table.Build(img, fromTables).Append(nil, img)
		for b.Loop() {
			if _, err := table.Open(file, img); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// perCore runs op, which goes through so many bytes, and reports what a core does in a
// second of its time, whatever else the machine does.
func perCore(b *testing.B, bytes int, op func()) {
	runtime.GC()
	begun, n := processTime(), 0
	for ; b.Loop(); n++ {
		op()
	}
	b.ReportMetric(float64(bytes)*float64(n)/1e6/(processTime()-begun).Seconds(), "MB/cpu-s")
}

// compare gives the share of t's rows that say of CFA and RA what want does, of those
// at places of which want says anything, and the share of the bytes of text that want
// has rules for and t as well.
func compare(img *image.Image, text image.Section, t, want *table.Table) (agree, covered float64) {
	var a, b, last table.Row
	rows, same, known, both := 0, 0, 0, 0
	var x, y stackwalk.Rule
	for i := range text.Data {
		pc := text.Addr + uint64(i)
		v, w := t.Lookup(pc, &a), want.Lookup(pc, &b)
		if w == unwind.Found {
			known++
		}
		if v != unwind.Found || w != unwind.Found {
			last = table.Row{}
			continue
		}
		both++
		if a == last {
			continue
		}
		last = a
		rows++
		a.Rule.Unpack(img.Arch, &x)
		b.Rule.Unpack(img.Arch, &y)
		if x.CFA.Kind == y.CFA.Kind && x.CFA.Base == y.CFA.Base && x.CFA.Off == y.CFA.Off && x.RA.Kind == y.RA.Kind && x.RA.Off == y.RA.Off {
			same++
		}
	}
	return 100 * float64(same) / float64(max(rows, 1)), 100 * float64(both) / float64(max(known, 1))
}

// BenchmarkLookup is a look-up in a table, at places all over the code.
func BenchmarkLookup(b *testing.B) {
	img, err := elf.Open("/lib/x86_64-linux-gnu/libc.so.6", image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if os.IsNotExist(err) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer img.Close()
	t := table.Build(img, table.Listed(unwind.MethodCFI, cfi.New().Rows))
	text, _ := img.Sections.Named(".text")
	var row table.Row
	for i := uint64(0); b.Loop(); i += 7919 {
		t.Lookup(text.Addr+i%uint64(len(text.Data)), &row)
	}
}
