package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/recorded"
)

var update = flag.Bool("update", false, "rewrite testdata/*/want.txt with what the command prints")

// TestCaptures runs the main job on every capture of testdata, with the arguments
// in the case's file args. Each case's README.md derives the call chains from the
// source.
func TestCaptures(t *testing.T) {
	program := command(t)
	cases, err := filepath.Glob("../../testdata/*/args")
	if err != nil || len(cases) < 5 {
		t.Fatalf("%d cases in testdata, %v", len(cases), err)
	}
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got, talk, exit := run(t, program, dir, strings.Fields(read(t, file))...)
			if exit != 0 || talk != "" {
				t.Errorf("exit code %d, said %q", exit, talk)
			}
			want := filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if w := read(t, want); got != w {
				t.Errorf("printed\n%swant\n%s", got, w)
			}
		})
	}
}

// TestBadInput: one clear line, whatever frames can be had, the exit code of the
// contract.
func TestBadInput(t *testing.T) {
	program, dir := command(t), t.TempDir()
	core := string(recorded.Unzip(t, "../../testdata/mips-deref/core.gz"))
	modules, err := filepath.Abs("../../testdata/mips-deref/modules")
	if err != nil {
		t.Fatal(err)
	}
	other, err := filepath.Abs("../../testdata/aarch64-signal/modules/usr/bin/sensor")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"empty": "", "text": "this is no capture at all\n", "whole": core, "cut": core[:len(core)-len(core)/4], "header": core[:40],
		"json": `{"arch":"mips","endian":"big","abi":"o32","regs":{"pc":"0x400000"` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sparse(t, filepath.Join(dir, "sparse"), 10<<30)
	for _, tt := range []struct {
		args         string
		exit         int
		says, prints string
	}{
		{"bt empty", 2, "empty", ""},
		{"bt text", 2, "text", ""},
		{"bt absent", 2, "absent", ""},
		{"bt .", 2, "a directory, no capture", ""},
		{"bt sparse", 2, "sparse", ""},
		{"bt header", 2, "header", ""},
		{"bt json", 2, "json", ""},
		{"bt --sysroot " + modules + " cut", 0, "truncated", "pack+0x"},
		{"bt --sysroot " + modules + " --exe " + other + " whole", 0, "a binary for aarch64", ""},
		{"bt --table-dir absent whole", 2, "--table-dir absent: not a directory", ""},
		{"bt whole", 0, "", "#0"},
		{"bt --no-such-flag whole", 64, "no-such-flag", ""},
		{"bt", 64, "", ""},
		{"bt --strict --sysroot " + modules + " whole", 0, "", "stop: root"},
		{"bt --strict whole", 1, "", "#0"},
	} {
		out, talk, exit := run(t, program, dir, strings.Fields(tt.args)...)
		if exit != tt.exit || !strings.Contains(talk, tt.says) || !strings.Contains(out, tt.prints) || strings.Contains(talk, "goroutine") {
			t.Errorf("%s: exit code %d, want %d; said %q, want %q; printed %q, want %q", tt.args, exit, tt.exit, talk, tt.says, out, tt.prints)
		}
		if exit == 2 && strings.Count(talk, "\n") != 1 {
			t.Errorf("%s: printed %q and said %q; want one line", tt.args, out, talk)
		}
	}
}

// sparse makes a file of zeros that takes no room.
func sparse(t *testing.T, name string, size int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Skip("no sparse files here: ", err)
	}
}
