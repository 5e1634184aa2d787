package e2e_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStart: before main, this project's packages do nothing. Tables are plain values, which the linker lays out; maps, and what is
// computed, are made when a capture needs them. Those of others allocate 160 kB; a library for pprof's form took as much again.
func TestStart(t *testing.T) {
	const most = 175 << 10 // bytes
	cmd := exec.Command(command(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
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
		total += bytes
		if pkg := fields[1]; pkg == "main" || strings.HasPrefix(pkg, module) {
			t.Errorf("%s has package variables that are made before main", pkg)
		}
	}
	if total == 0 || total > most {
		t.Errorf("packages allocate %d bytes before main, the most is %d", total, most)
	}
}

// TestSmallImports: the command for devices does without libraries that cost more than what they do for it. Go's FIPS 140 module has
// 32 MB of zeroed memory (crypto/internal/entropy), which a device without overcommitted memory has to have.
func TestSmallImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-tags", "small", module+"/cmd/backsight")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, module+"/internal/stackwalk") {
		t.Fatalf("the list lacks the walker: %q", list)
	}
	for _, pkg := range list {
		if strings.HasPrefix(pkg, "crypto") || pkg == "regexp" || pkg == "encoding/json" || pkg == "text/template" {
			t.Errorf("the command for devices imports %s", pkg)
		}
	}
}
