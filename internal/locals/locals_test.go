package locals_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/livecore"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// program dies in leaf, with a variable of each kind in its callers.
const program = `
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
enum colour { RED, GREEN = 7, BLUE };
struct inner { int x, y; };
union number { int i; float f; };
struct route { const char *name; int metric; struct inner at; unsigned up : 1, mtu : 14; signed lag : 5; char tag[4]; union number n; enum colour c; };
typedef struct route route_t;
__attribute__((noinline)) int leaf(volatile int *p, long n) { *p = n; return *p; }
__attribute__((noinline)) int work(int argc, const char *name, route_t *r)
{
	signed char small = -5;
	unsigned char byte = 200;
	short s = -300;
	unsigned long long big = 0xfedcba9876543210ull;
	bool yes = argc > 0;
	double d = 1.5 * argc;
	float f = -0.25f;
	enum colour c = GREEN;
	int numbers[12] = {1, -2, 3};
	char text[8] = "a\"b";
	char *heap = strdup(name);
	route_t copy = *r;
	int **deep = 0;
	volatile int keep = small + byte + s + (int)big + yes + (int)(d + f) + c + numbers[1] + text[0] + heap[0] + copy.metric + (deep == 0);
	{ int within = keep + 1; keep = within; }
	return leaf((int *)0, argc) + keep;
}
int main(int argc, char **argv)
{
	route_t r = {"eth0", 10, {3, 4}, 1, 1500, -3, "abc", {42}, BLUE};
	return work(argc, "default route", &r) + (argv == 0);
}
`

// readAll reads the variables of all frames of a core's first snapshot, as far as there are any.
func readAll(t *testing.T, core string) *report.Report {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	capture, err := backsight.Open(t.Context(), core, input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	snap, err := capture.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.Backtraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	var names symbol.Symbolizer
	r := backsight.Report(t.Context(), snap, traces, &names)
	u.Variables(t.Context(), r, &names)
	return r
}

// variables are those of the frame of a function, by name.
func variables(t *testing.T, core, function string) map[string]report.Variable {
	t.Helper()
	r := readAll(t, core)
	out := make(map[string]report.Variable)
	for i := range r.Threads[0].Frames {
		if f := &r.Threads[0].Frames[i]; f.Function == function {
			for _, v := range f.Detailed().Variables {
				out[v.Name] = v
			}
			return out
		}
	}
	t.Fatalf("no frame of %s", function)
	return nil
}

// TestUnoptimised: where everything is in memory, every variable has its value, in each
// version of DWARF.
func TestUnoptimised(t *testing.T) {
	for _, flags := range []string{"-gdwarf-3", "-gdwarf-4", "-gdwarf-5", "-gdwarf-4 -gsplit-dwarf", "-gdwarf-5 -gsplit-dwarf", "-gdwarf-4 -fdebug-types-section", "-gdwarf-5 -fdebug-types-section",
		"-gdwarf-4 -gsplit-dwarf -fdebug-types-section", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section"} {
		t.Run(flags, func(t *testing.T) {
			core := livecore.Crash(t, livecore.Compile(t, "gcc", program, append(strings.Fields(flags), "-O0")...))
			got := variables(t, core, "work")
			for name, want := range map[string]string{
				"argc": "int 1", "small": "signed char -5", "byte": "unsigned char 200", "s": "short int -300",
				"big": "long long unsigned int 18364758544493064720", "yes": "_Bool true", "d": "double 1.5", "f": "float -0.25",
				"c": "enum colour GREEN", "numbers": "int[12] {1, -2, 3, 0, 0, 0, 0, 0, …}", "text": `char[8] "a\"b"`,
				"name": `const char * "default route"`, "heap": `char * "default route"`, "deep": "int ** NULL",
				"copy": `route_t {name = "eth0", metric = 10, at = {…}, up = 1, mtu = 1500, lag = -3, tag = "abc", n = {…}, c = BLUE}`,
			} {
				v, known := got[name]
				if said := v.Type + " " + addresses.ReplaceAllString(v.Value, ""); !known || said != want {
					t.Errorf("%s: %s (missing: %s), want %s", name, said, v.Missing, want)
				}
			}
			if _, ok := got["within"]; ok {
				t.Error("a variable of a block that is left")
			}
			if !got["argc"].Argument || got["c"].Argument {
				t.Error("arguments and locals are mixed up")
			}
		})
	}
}

// addresses stand before strings.
var addresses = regexp.MustCompile(`0x[0-9a-f]+ `)

// TestOptimised: what GDB knows of optimised code, and knows well, is what is said here; what
// is not kept anywhere has no value.
func TestOptimised(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip(err)
	}
	for _, flags := range []string{"-O2 -gdwarf-4 -gsplit-dwarf", "-O2 -gdwarf-5 -gsplit-dwarf", "-O1 -gdwarf-4", "-O2 -gdwarf-4", "-O1 -gdwarf-5", "-O2 -gdwarf-5", "-Os -gdwarf-5 -fPIE -pie"} {
		t.Run(flags, func(t *testing.T) {
			path := livecore.Compile(t, "gcc", program, strings.Fields(flags)...)
			core := livecore.Crash(t, path)
			got := variables(t, core, "work")
			known := 0
			for name, want := range gdbLocals(t, path, core) {
				v, ok := got[name]
				switch {
				case !ok:
					t.Errorf("%s = %s is not there", name, want)
				case v.Missing != "":
				case !numeric.MatchString(want):
				case want == "0x0" && v.Value == "NULL":
				case v.Value != want && !strings.HasPrefix(v.Value, want+" "):
					t.Errorf("%s = %s, GDB says %s", name, v.Value, want)
				default:
					known++
				}
			}
			if t.Logf("%d numbers agree with GDB's", known); known < 3 {
				t.Errorf("only %d values are known", known)
			}
		})
	}
}

var numeric = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$|^0x[0-9a-f]+$`)

// gdbLocals asks GDB for the variables of work's frame.
func gdbLocals(t *testing.T, program, core string) map[string]string {
	t.Helper()
	out, err := exec.Command("gdb", "-nx", "-batch", "-ex", "frame function work", "-ex", "info args", "-ex", "info locals", program, core).Output()
	if err != nil {
		t.Skipf("gdb: %v", err)
	}
	values := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if value, _, _ = strings.Cut(value, " "); ok && !strings.ContainsAny(name, " #()") {
			values[name] = value
		}
	}
	return values
}
