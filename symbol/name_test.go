package symbol_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/symbol"
)

// symbols is a container of one function symbol at text.
type symbols struct {
	sections
	name string
}

func (s symbols) SymbolAt(addr uint64) (image.Symbol, bool) {
	return image.Symbol{Name: s.name, Addr: text, Size: 0x40}, addr-text < 0x40
}

// TestNames: mangled names are made readable, symbol versions and suffixes are taken off.
func TestNames(t *testing.T) {
	long := "_Z" + strings.Repeat("1a", 10000)
	for _, c := range []struct{ symbol, want string }{
		{"main", "main"},
		{"_start", "_start"},
		{"_ZN3net5QueueIiE4deepEi", "net::Queue<int>::deep(int)"},
		{"_ZN3app7throwerEi.cold", "app::thrower(int) [clone .cold]"},
		{"_ZN2rs4main17h0123456789abcdefE", "rs::main"},
		{"_ZN3app18__cortex_m_rt_main17h0123456789abcdefE", "app::__cortex_m_rt_main"},
		{"_ZN28_$LT$app..A$u20$as$u20$B$GT$5_drop17h0123456789abcdefE", "<app::A as B>::_drop"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_ZNSt8ios_baseC1Ev@@GLIBCXX_3.4", "std::ios_base::ios_base()"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"@anonymous", "@anonymous"},
		{"runtime.raise.abi0", "runtime.raise"},
		{"main.(*server).run", "main.(*server).run"},
		{"_Zbroken", "_Zbroken"},
		{long, long},
	} {
		img := image.New(fileOf(t, nil).Header, symbols{handMade(), c.symbol})
		l := (&symbol.Symbolizer{}).Lookup(of(img), text+0x20)
		if l.Function != c.want || l.Entry != text || l.Line != 21 {
			t.Errorf("%s: %s at %#x, line %d; want %s", c.symbol, l.Function, l.Entry, l.Line, c.want)
		}
		if l := (&symbol.Symbolizer{Mangled: true}).Lookup(of(img), text+0x20); l.Function != bare(c.symbol) {
			t.Errorf("mangled: %s, want %s", l.Function, bare(c.symbol))
		}
	}
}

// bare is a symbol's name without its version.
func bare(symbol string) string {
	if name, _, _ := strings.Cut(symbol, "@"); name != "" {
		return name
	}
	return symbol
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	img := fileOf(t, handMade())
	var names symbol.Symbolizer
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for addr := uint64(text); addr < text+0x40; addr++ {
				if l := names.Lookup(of(img), addr); l.Function != "outer" {
					t.Errorf("%#x: %s", addr, l.Function)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkLookup(b *testing.B) {
	img := fileOf(b, handMade())
	var names symbol.Symbolizer
	b.ReportAllocs()
	for b.Loop() {
		names.Lookup(of(img), text+0x18)
	}
}
