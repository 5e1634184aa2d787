package symbol_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/symbol"
)

// program has two inlined functions within one another, a lexical block between
// them, a template in a namespace and functions of the standard library.
const program = `#include <cstdio>
#include <vector>
#include <algorithm>
namespace net {
template<class T> struct Queue { T v; __attribute__((noinline)) int deep(int n); };
}
static inline __attribute__((always_inline)) int inner(int a) {
	volatile int x = a;
	if (x > 3) __builtin_trap();
	return x + 1;
}
static inline __attribute__((always_inline)) int middle(int a) {
	int r = 0;
	for (int i = 0; i < a; i++) r += inner(i);
	return r;
}
template<class T> int net::Queue<T>::deep(int n) {
	{ int k = n * 2; k += middle(k); return k + v; }
}
int main(int c, char **) {
	net::Queue<int> q{c};
	std::vector<int> w{3, 2, 1};
	std::sort(w.begin(), w.end());
	std::for_each(w.begin(), w.end(), [&](int x) { printf("%d\n", q.deep(x + c)); });
	return 0;
}
`

// compile builds program, or skips the test where the compiler is missing.
func compile(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "queue.cc"), filepath.Join(dir, "queue")
	if err := os.WriteFile(source, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append(flags, "-O2", "-o", out, source)
	if msg, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, msg)
	}
	return out
}

func open(t testing.TB, path string) *image.Image {
	t.Helper()
	img, err := elf.Open(path, image.Options{Archs: x86.Archs()})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

// TestAgainstAddr2line compares every address of the program with binutils.
func TestAgainstAddr2line(t *testing.T) {
	if _, err := exec.LookPath("llvm-addr2line-14"); err != nil {
		t.Skip(err)
	}
	for _, c := range [][]string{
		{"g++", "-gdwarf-3"}, {"g++", "-gdwarf-4"}, {"g++", "-gdwarf-5"}, {"g++", "-gdwarf-5", "-gz"},
		{"clang++-14", "-gdwarf-4"}, {"clang++-14", "-gdwarf-5"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			t.Parallel()
			path := compile(t, c[0], c[1:]...)
			img := open(t, path)
			var addrs []uint64
			for a := range functionAddresses(img, "main", "_ZN3net5QueueIiE4deepEi") {
				addrs = append(addrs, a)
			}
			if len(addrs) < 100 {
				t.Fatalf("only %d addresses", len(addrs))
			}
			compareWithAddr2line(t, path, img, addrs)
		})
	}
}

// functionAddresses yields the addresses of the named functions.
func functionAddresses(img *image.Image, names ...string) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for _, n := range names {
			s, _ := img.Symbols.Named(n)
			for a := s.Addr; a < s.Addr+s.Size; a++ {
				if !yield(a) {
					return
				}
			}
		}
	}
}

func compareWithAddr2line(t *testing.T, path string, img *image.Image, addrs []uint64) {
	want := addr2line(t, path, addrs)
	var names symbol.Symbolizer
	wrong, inlines := 0, 0
	for i, a := range addrs {
		got := chain(names.Lookup(of(img), a))
		inlines += strings.Count(got, "|")
		if got != want[i] {
			if wrong++; wrong < 5 {
				t.Errorf("%#x: got %s, addr2line says %s", a, got, want[i])
			}
		}
	}
	t.Logf("%d addresses, %d inlined calls, %d differ", len(addrs), inlines, wrong)
	if inlines == 0 {
		t.Error("nothing was inlined: the test shows too little")
	}
}

// chain writes a location like addr2line below, without parameters.
func chain(l symbol.Location) string {
	var parts []string
	for _, in := range l.Inlines {
		parts = append(parts, link(in.Function, in.File, in.Line))
	}
	return strings.Join(append(parts, link(l.Function, l.File, l.Line)), " | ")
}

func link(function, file string, line int) string {
	function, _, _ = strings.Cut(function, "(")
	return fmt.Sprintf("%s %s:%d", function, filepath.Base(file), line)
}

// addr2line asks binutils.
func addr2line(t *testing.T, path string, addrs []uint64) (chains []string) {
	cmd := exec.Command("llvm-addr2line-14", "-a", "-i", "-f", "-C", "-e", path)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	go func() {
		for _, a := range addrs {
			fmt.Fprintf(in, "%#x\n", a)
		}
		in.Close()
	}()
	var links []string
	flush := func() {
		if links != nil {
			chains = append(chains, strings.Join(links, " | "))
		}
		links = nil
	}
	s := bufio.NewScanner(out)
	for s.Scan() {
		function := s.Text()
		if strings.HasPrefix(function, "0x") {
			flush()
			continue
		}
		s.Scan()
		place, _, _ := strings.Cut(s.Text(), " (discriminator")
		i := strings.LastIndexByte(place, ':')
		line, _ := strconv.Atoi(place[i+1:])
		links = append(links, link(function, place[:i], line))
	}
	flush()
	if _, err := io.Copy(io.Discard, out); err != nil || cmd.Wait() != nil || len(chains) != len(addrs) {
		t.Skipf("addr2line answered %d of %d questions", len(chains), len(addrs))
	}
	return chains
}
