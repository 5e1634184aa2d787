package bench_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// gate is what a round of walks through all stacks of a program takes.
type gate struct {
	// first: the images were just opened. cold: each stack has a new walker, which finds what others have left with the
	// images. warm: one walker has walked all stacks twice before.
	first, cold, warm work
}

// gates are by the program's name in libraries. What a warm round asks is about frames that no cache holds: several
// answers together have led to their callers.
var gates = map[string]gate{
	"x86_64/stripped": {
		first: work{searches: 1200, asked: 6179, edges: 1676, cost: 4167364, decoded: 38241, allocations: 24300},
		cold:  work{searches: 549, asked: 2445, edges: 740, cost: 767373, allocations: 2542},
		warm:  work{searches: 1, asked: 7, edges: 1, cost: 9},
	},
	"x86_64/naked": {
		first: work{searches: 1525, asked: 9544, edges: 3081, cost: 3511168, decoded: 66834, allocations: 49357},
		cold:  work{searches: 1061, asked: 6564, edges: 2123, cost: 817319, allocations: 2750},
		warm:  work{searches: 1, asked: 7, edges: 2, cost: 9},
	},
	"aarch64/stripped": {
		first: work{searches: 1239, asked: 6589, edges: 1742, cost: 4379204, decoded: 53760, allocations: 26630},
		cold:  work{searches: 581, asked: 2607, edges: 785, cost: 884732, decoded: 122, allocations: 2683},
		warm:  work{},
	},
	"aarch64/naked": {
		first: work{searches: 1589, asked: 9808, edges: 3306, cost: 3950378, decoded: 83841, allocations: 57394},
		cold:  work{searches: 1115, asked: 6851, edges: 2316, cost: 1149952, allocations: 2903},
		warm:  work{searches: 42, asked: 381, edges: 170, cost: 171406},
	},
}

// compiler is the version of Go whose allocations first and cold walks are compared with.
const compiler = "go1.26"

// TestWork counts what walks take, in each state of the caches. 3 % more is a walk that has become slower; at 3 % less the
// gate is lowered. Warm walks allocate nothing at all, as TestWarm has it of all programs. The race detector (-short) has allocations of its own.
func TestWork(t *testing.T) {
	known := strings.HasPrefix(runtime.Version(), compiler)
	for _, name := range libraries {
		t.Run(name, func(t *testing.T) {
			got, want := measured(t, recordedStacks(t, name).snaps), gates[name]
			within(t, "first", got.first, want.first, known)
			within(t, "cold", got.cold, want.cold, known)
			within(t, "warm", got.warm, want.warm, false)
			if !testing.Short() && got.warm.allocations != 0 {
				t.Errorf("%d allocations in a warm round", got.warm.allocations)
			}
		})
	}
}

// within compares work with its gate, allocations only where these are known.
func within(t *testing.T, what string, got, want work, allocations bool) {
	t.Helper()
	pairs := [][2]int{{got.searches, want.searches}, {got.asked, want.asked}, {got.edges, want.edges}, {got.cost, want.cost}, {got.decoded, want.decoded}}
	if allocations && !testing.Short() {
		pairs = append(pairs, [2]int{got.allocations, want.allocations})
	}
	for _, p := range pairs {
		if 100*max(p[0]-p[1], p[1]-p[0]) > 3*p[1] {
			t.Errorf("%s walks: %+v,\nthe gate is %+v", what, got, want)
			return
		}
	}
}

// measured counts the work of walks through stacks of whose images nothing is known yet.
func measured(t *testing.T, snaps []*target.Snapshot) (g gate) {
	t.Helper()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var w work
	w.decodes(snaps)
	opt := w.options(u.WalkerOptions())
	cold := func(snap *target.Snapshot) unwind.Walker { return stackwalk.NewWalker(snap, opt) }
	one := cold(snaps[0])
	warm := func(snap *target.Snapshot) unwind.Walker { one.Use(snap); return one }
	frames := make([]unwind.Frame, 0, unwind.DefaultMaxFrames)
	round := func(walker func(*target.Snapshot) unwind.Walker) work {
		w = work{}
		w.allocations = allocated(func() {
			for _, snap := range snaps {
				frames, _ = walker(snap).Walk(&snap.Threads[0], frames[:0])
			}
		})
		return w
	}
	g.first = round(cold)
	g.cold = leastOf(3, func() work { return round(cold) })
	round(warm)
	round(warm)
	g.warm = leastOf(5, func() work { return round(warm) })
	return g
}

// leastOf repeats what does the same work each time: on a busy machine, allocations of the runtime fall among them.
func leastOf(times int, round func() work) work {
	w := round()
	for range times - 1 {
		if again := round(); again.allocations < w.allocations {
			w = again
		}
	}
	return w
}

// allocated counts allocations without the garbage collector, which takes from pools what then is allocated again.
func allocated(f func()) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.Mallocs - before.Mallocs)
}
