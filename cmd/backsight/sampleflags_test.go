package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSampleFlags: of a recording's samples those that were asked for count, and of a core, which tells no time, none by time.
func TestSampleFlags(t *testing.T) {
	recording := filepath.Join("..", "..", "testdata", "perf-x86_64", "perf.data")
	count := func(capture string, args ...string) (n int, said string) {
		_, out, said := bs(t, append([]string{"bt", "-f", "folded", capture}, args...)...)
		for line := range strings.Lines(out) {
			k, _ := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
			n += k
		}
		return n, said
	}
	all, _ := count(recording)
	if all == 0 {
		t.Fatal("no samples")
	}
	for _, test := range []struct {
		args string
		all  bool
	}{
		{"--comm profile,sh", true}, {"--comm none", false}, {"--pid 0", false}, {"--since 0s", true}, {"--since 1000h", false}, {"--since 0.5", true},
	} {
		n, said := count(recording, strings.Fields(test.args)...)
		if test.all != (n == all) || !test.all && (n != 0 || !strings.Contains(said, "no sample is what")) {
			t.Errorf("%s: %d of %d samples, said %q", test.args, n, all, said)
		}
	}
	if some, _ := count(recording, "--since", "50ms"); some == 0 || some == all {
		t.Errorf("50 ms behind the first there are %d of %d samples", some, all)
	}
	if code, _, said := bs(t, "bt", "--since", "yesterday", recording); code == exitOK || !strings.Contains(said, "--since") {
		t.Errorf("exit code %d, said %q", code, said)
	}
	core := filepath.Join("..", "..", "testdata", "mips-deref", "core.gz")
	if _, err := os.Stat(core); err != nil {
		t.Fatal(err)
	}
	if n, _ := count(core, "--cpu", "0"); n != 0 {
		t.Errorf("a core has %d samples of a processor", n)
	}
	if n, _ := count(core, "--comm", "none"); n != 0 {
		t.Errorf("of a program of no such name there are %d threads", n)
	}
}

// TestUnsignedSamples: the samples of a recording have no signatures, and whoever asks for them is told so once.
func TestUnsignedSamples(t *testing.T) {
	recording := filepath.Join("..", "..", "testdata", "perf-x86_64", "perf.data")
	const unsigned = "they have no signatures"
	if code, out, said := bs(t, "bt", "-f", "signature", recording); code != exitOK || out != "" || strings.Count(said, unsigned) != 1 {
		t.Errorf("exit code %d, %q, said %q", code, out, said)
	}
	if _, out, said := bs(t, "bt", "-f", "jsonl", recording); !strings.Contains(out, `"frames"`) || strings.Contains(out, `"signature"`) || strings.Contains(said, unsigned) {
		t.Errorf("%.200q, said %q", out, said)
	}
}
