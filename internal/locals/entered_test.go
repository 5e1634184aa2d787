package locals_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/livecore"
)

// called is a program whose functions keep no argument longer than their own code needs them.
// other changes all registers that a call may change. work's pointers point to variables that
// have no place in memory.
const called = `
struct pair { int x, y; };
volatile int sink;
#define APART __attribute__((noipa))
APART void other(long a, long b, long c) { sink = a + b + c; }
static inline __attribute__((always_inline)) int total(const struct pair *p, const int *last, const int *second)
{
	sink = p->x + *last + *second;
	*(volatile int *)0 = p->y;
	return p->y;
}
APART int work(int argc, const char *name, long key)
{
	int count = argc * 3 + 4;
	struct pair q = {argc + 6, 2};
	other(1, 2, 3);
	return total(&q, &count, &q.y) + 1;
}
APART int outer(int argc, long secret) { other(4, 5, 6); return work(argc + 5, "eth0", secret) + 1; }
APART int last(int n) { return sink + n; }
APART int jumps(int lost, long gone) { other(4, 5, 6); if (sink == 99) return last(1); return outer(8, 1001) + 1; }
int main(void) { return jumps(7, 1000) + 1; }
`

// TestEntered: what a function was called with is known from its callers' calls, through several
// of them; not where the function may have been entered again by way of a jump. GCC describes no
// pointers to what is nowhere in split files.
func TestEntered(t *testing.T) {
	const nowhere = "optimised out"
	for flags, last := range map[string]string{"-gdwarf-4": "→ 43", "-gdwarf-5": "→ 43", "-gdwarf-5 -gsplit-dwarf": nowhere} {
		t.Run(flags, func(t *testing.T) {
			core := livecore.Crash(t, livecore.Compile(t, "gcc", called, append(strings.Fields(flags), "-O2")...))
			pair, second := "→ {x = 19, y = 2}", "→ 2"
			if last == nowhere {
				pair, second = nowhere, nowhere
			}
			for function, want := range map[string]map[string]string{
				"work":  {"argc": "13", "key": "1001", "count": "43", "last": last, "p": pair, "second": second},
				"outer": {"argc": "8", "secret": "1001"},
				"jumps": {"lost": "in a register that was not kept", "gone": "in a register that was not kept"},
			} {
				got := variables(t, core, function)
				for name, want := range want {
					if v := got[name]; v.Value+v.Missing != want {
						t.Errorf("%s: %s = %q, missing: %q; want %q", function, name, v.Value, v.Missing, want)
					}
				}
			}
		})
	}
}
