package e2e_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestStart: before main, this project's packages allocate next to nothing: what few captures need is made when one does. The patterns
// of lists of frames took 130 kB and 0.8 ms. Those of others allocate 160 kB; a library for pprof's form took as much again.
func TestStart(t *testing.T) {
	const most, mostOfAll = 32 << 10, 190 << 10 // bytes
	cmd := exec.Command(command(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	total, all, found := 0, 0, 0
	for line := range strings.Lines(string(out)) {
		// init PACKAGE @1.2 ms, 0.003 ms clock, 512 bytes, 4 allocs
		fields := strings.Fields(line)
		if len(fields) < 8 || fields[0] != "init" {
			continue
		}
		bytes, err := strconv.Atoi(fields[7])
		if err != nil {
			t.Fatal(line)
		}
		if all += bytes; strings.HasPrefix(fields[1], "github.com/backsight/") {
			found, total = found+1, total+bytes
		}
	}
	if found == 0 || total > most || all > mostOfAll {
		t.Errorf("%d packages allocate %d bytes before main, the most is %d; with those of others %d and %d", found, total, most, all, mostOfAll)
	}
}
