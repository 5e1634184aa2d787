package breakpad

import (
	"context"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
)

var archs = append(append(cpu.Set(mips.Archs()), arm.Archs()...), x86.Archs()...)

func parse(text string, opt image.Options) (*image.Image, error) {
	if opt.Archs == nil {
		opt.Archs = archs
	}
	opt.Context = context.Background()
	return image.Parse("pub.sym", []byte(text), []image.Format{Format()}, opt)
}

const file = `MODULE Linux x86_64 37689987AE340657EAE4C062F75EBA170 pub
INFO CODE_ID 87996837 x
FILE 0 main.c
FUNC m 1050 20 0 second(int, char)
1050 10 7 0
FUNC 1000 50 0 first
PUBLIC 2000 0 _end of it
STACK CFI INIT 1050 20 .cfa: $rsp 8 +
STACK CFI 1051 .cfa: $rsp 16 +
STACK CFI INIT 1000 50 .cfa: $rsp 8 + .ra: .cfa -8 + ^
FUNC broken
FUNC 3000 ffffffffffffffff 0 beyond
`

// TestSymbols: functions by their ranges, in any order of lines; what is public reaches to the next name,
// and the last as far as the one in front.
func TestSymbols(t *testing.T) {
	img, err := parse(file, image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "first", 0x104f: "first", 0x1050: "second(int, char)", 0x1070: "", 0x2000: "_end of it", 0x2faf: "_end of it", 0x2fb0: ""} {
		if s, _ := img.Symbols.At(addr); s.Name != want {
			t.Errorf("%#x: %q, not %q", addr, s.Name, want)
		}
	}
	if s, ok := img.Symbols.Named("second(int, char)"); !ok || s.Addr != 0x1050 || s.Size != 0x20 {
		t.Errorf("%+v", s)
	}
	if img.Arch.Name != "x86_64" || string(img.BuildID) != "\x87\x99\x68\x37" || !img.Hollow() || img.Segments[0].Size != 0x2000 {
		t.Errorf("%s %x %v %+v", img.Arch, img.BuildID, img.Hollow(), img.Segments)
	}
}

// TestCFI: the records of one function, and the text of those behind.
func TestCFI(t *testing.T) {
	img, _ := parse(file, image.Options{})
	c, _ := image.ContainerAs[*container](img.Container())
	start, rules, changes, ok := c.StackCFI(0x1060)
	if !ok || start != 0x1050 || string(rules) != ".cfa: $rsp 8 +" || !strings.HasPrefix(string(changes), "\nSTACK CFI 1051 ") {
		t.Errorf("%#x %q %.30q %v", start, rules, changes, ok)
	}
	if _, _, _, ok := c.StackCFI(0x1070); ok {
		t.Error("records behind the last function")
	}
}

// TestProcessor: MODULE says mips of both byte orders; whoever asks for the file knows. Thumb's functions have an odd address.
func TestProcessor(t *testing.T) {
	big, _ := archs.ByName("mips64", "n64", true)
	img, err := parse("MODULE Linux mips 0 pub\n", image.Options{Arch: big})
	if err != nil || img.Arch != big {
		t.Errorf("%v, %v", img, err)
	}
	img, err = parse("MODULE Linux arm 0 pub\nFUNC 101 10 0 thumb\n", image.Options{})
	if s, ok := img.Symbols.At(0x104); err != nil || !ok || s.Addr != 0x100 || s.Mode == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, text := range []string{"MODULE Linux", "MODULE Linux vax 0 pub\n"} {
		if _, err := parse(text, image.Options{}); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// FuzzOpen: whatever the lines say.
func FuzzOpen(f *testing.F) {
	f.Add(file)
	f.Fuzz(func(t *testing.T, text string) {
		img, err := parse(text, image.Options{})
		if err != nil {
			return
		}
		c, _ := image.ContainerAs[*container](img.Container())
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			c.SymbolAt(addr)
			c.StackCFI(addr)
			return true
		})
		c.SymbolNamed("no such name")
	})
}
