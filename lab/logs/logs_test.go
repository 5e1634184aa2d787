package logs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/unwind"
)

// chain reads "c1 b? a": a question mark is behind guesses, an exclamation mark behind certain frames.
func chain(s string) (list []frame) {
	for _, w := range strings.Fields(s) {
		trust := unwind.Likely
		switch {
		case strings.HasSuffix(w, "?"):
			trust = unwind.Guess
		case strings.HasSuffix(w, "!"):
			trust = unwind.Certain
		}
		f := frame{name: strings.Trim(w, "?!"), trust: trust}
		if n, err := fmt.Sscanf(f.name, "0x%x", &f.pc); n == 1 && err == nil {
			f.name = ""
		}
		list = append(list, f)
	}
	return list
}

// TestFaults: a chain may be shorter, and guess; what it says otherwise is a fault.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ got, want, faults string }{
		{"d c b a", "d c b a", "[]"},
		{"d c", "d c b a", "[]"},
		{"c b a", "d c b a", "[]"},
		{"d b? a", "d c b a", "[]"},
		{"d x? c b", "d c b a", "[]"},
		{"d b a", "d c b a", "[{1 b c false}]"},
		{"d b! a", "d c b a", "[{1 b c true}]"},
		{"d x c", "d c b a", "[{1 x  false}]"},
		{"0x10! c", "0x10 c", "[]"},
		{"0x20! c", "0x10 c", "[{0 0x20  true}]"},
	} {
		if got := fmt.Sprint(faults(chain(c.got), chain(c.want))); got != c.faults {
			t.Errorf("%s of %s: %s, want %s", c.got, c.want, got, c.faults)
		}
	}
}

// TestDamages: each kind changes a log, and leaves the other lines as they are.
func TestDamages(t *testing.T) {
	const log = "boot\nUnable to handle\n f+0x1/0x2\n g+0x1/0x2\n h+0x1/0x2\nend"
	lines := strings.Split(log, "\n")
	if got := fmt.Sprint(places(lines)); got != "[1 2 3 4]" {
		t.Errorf("places worth damage: %s", got)
	}
	for _, d := range Damages() {
		same := true
		for seed := range uint64(8) {
			got := d.apply(append([]string(nil), lines...), 2, rand.New(rand.NewPCG(seed, 0)))
			same = same && strings.Join(got, "\n") == log
			if d.Name != "the beginning is lost" && strings.Join(got[:2], "\n") != strings.Join(lines[:2], "\n") {
				t.Errorf("%s: %q", d.Name, got)
			}
		}
		if same {
			t.Errorf("%s: nothing changed", d.Name)
		}
	}
}

// TestLeftOut: a log without a report is left out, and the next is damaged.
func TestLeftOut(t *testing.T) {
	dir, left := t.TempDir(), 0
	none, oops := filepath.Join(dir, "none.log"), filepath.Join(dir, "oops.log")
	for path, text := range map[string]string{
		none: "all is well\n",
		oops: "CPU: 0 PID: 95 Comm: busybox\nepc   : 80101234 f+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	opt := Options{Logs: []string{none, oops}, N: 1, Bad: func(Finding) {}, Left: func(string, error) { left++ }}
	counts, err := Run(t.Context(), opt)
	if err != nil || left != 1 || len(counts) != len(Damages()) {
		t.Errorf("%v, %d left out, %d damages", err, left, len(counts))
	}
}
