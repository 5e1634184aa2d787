package locals_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/livecore"
)

// TestShared: types, names and inlined functions that dwz moved into a file which two programs
// share (DWARF 5 §7.3.6). The programs differ, or the linker would give both the same build ID.
func TestShared(t *testing.T) {
	if _, err := exec.LookPath("dwz"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name, flags, dwz string
		mend             func(t *testing.T, shared string)
		found            bool
	}{
		{"DWARF 4", "-gdwarf-4", "", nil, true},
		{"DWARF 5", "-gdwarf-5", "", nil, true},
		{".debug_sup", "-gdwarf-5", "-5", nil, true},
		{"no such file", "-gdwarf-5", "", func(t *testing.T, shared string) { os.Remove(shared) }, false},
		{"another file", "-gdwarf-5", "", func(t *testing.T, shared string) { replaceBuildID(t, shared) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags := append(strings.Fields(c.flags), "-O1")
			path := livecore.Compile(t, "gcc", inlining, flags...)
			other := livecore.Compile(t, "gcc", inlining+"int more = 1;", flags...)
			shared := filepath.Join(filepath.Dir(path), "shared.debug")
			args := append(strings.Fields(c.dwz), "-m", shared, "-M", "shared.debug", path, other)
			if out, err := exec.Command("dwz", args...).CombinedOutput(); err != nil {
				t.Skipf("%v: %s", err, out)
			}
			core := livecore.Crash(t, path)
			if c.mend != nil {
				c.mend(t, shared)
			}
			r := readAll(t, core)
			f := &r.Threads[0].Frames[0]
			inlined, typ := "", ""
			if len(f.Inlines) > 0 {
				inlined = f.Inlines[0].Function
			}
			for _, v := range f.Detailed().Variables {
				if v.Name == "c" {
					typ = v.Type + " " + v.Value
				}
			}
			if got := inlined + ", " + typ; (got == "inner_function, enum colour GREEN") != c.found {
				t.Errorf("%s", got)
			}
		})
	}
}

// inlining has names that are long enough to be worth sharing.
const inlining = `
struct route_of_packets { const char *name_of_interface; int metric_of_route; };
enum colour { RED, GREEN = 7 };
static inline __attribute__((always_inline)) int inner_function(volatile int *pointer, int deep_value)
{
	*pointer = deep_value;
	return *pointer;
}
__attribute__((noinline)) int leaf_function(struct route_of_packets *r, enum colour c)
{
	return inner_function((int *)0, r->metric_of_route + c);
}
int main(int argc, char **argv)
{
	struct route_of_packets r = {"eth0", argc};
	return leaf_function(&r, GREEN) + 1;
}
`

// replaceBuildID changes the last byte of a file's build ID, and its .debug_sup's.
func replaceBuildID(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(string(data), "GNU\x00")
	if i < 0 {
		t.Fatal("no build ID")
	}
	data[i+4+19] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
