package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/recorded"
)

// compile writes the tables of all binaries below a folder.
func compile(t *testing.T, program, from, to string) (tables int) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".debug") {
			return err
		}
		run(t, program, ".", "table", "-o", to, path) // not all of them are binaries
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(to)
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestTablesChangeNothing: with tables, every capture of testdata has the backtraces
// that it has without, by the same methods and with the same trust.
func TestTablesChangeNothing(t *testing.T) {
	program, used := command(t), 0
	cases, err := filepath.Glob("../../testdata/*/args")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			tables := t.TempDir()
			used += compile(t, program, dir, tables)
			args := append(strings.Fields(read(t, file)), "--table-dir", tables)
			got, talk, exit := run(t, program, dir, args...)
			if exit != 0 || talk != "" {
				t.Errorf("exit code %d, said %q", exit, talk)
			}
			if w := read(t, filepath.Join(dir, "want.txt")); got != w {
				t.Errorf("printed\n%swant\n%s", got, w)
			}
		})
	}
	if used == 0 {
		t.Error("no tables were made")
	}
}

// TestTablesOverTruth does the same over recorded chains, in every detail of the JSON.
func TestTablesOverTruth(t *testing.T) {
	program := command(t)
	for _, c := range recorded.Cases(t, "[arx]*/*-gcc-O2") {
		t.Run(c.Name, func(t *testing.T) {
			img, ok := recorded.Program(t, &c, "naked")
			if !ok {
				t.Skip("the case has no naked program")
			}
			tables, snaps := t.TempDir(), c.Snapshots()
			_, talk, exit := run(t, program, ".", "table", "-o", tables, img)
			if exit != 0 {
				t.Skip(talk)
			}
			want, _, _ := run(t, program, ".", "bt", "-f", "jsonl", "--no-symbols", "--image", img, snaps)
			got, talk, _ := run(t, program, ".", "bt", "-f", "jsonl", "--no-symbols", "--image", img, "--table-dir", tables, snaps)
			if got != want || talk != "" {
				t.Errorf("the output differs by tables; said %q", talk)
			}
		})
	}
}

// TestTableFiles: a file that is not the binary's table is named, with the place and
// the reason, once; it is made anew, so that nothing is said the next time. The
// backtraces are the same.
func TestTableFiles(t *testing.T) {
	const dir = "../../testdata/mips-deref"
	program, tables := command(t), t.TempDir()
	if compile(t, program, dir, tables) < 2 {
		t.Fatal("too few tables")
	}
	files, err := filepath.Glob(filepath.Join(tables, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var contents [2]string
	for i := range contents {
		b, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		contents[i] = string(b)
	}
	sound, other := contents[0], contents[1]
	args := append(strings.Fields(read(t, dir+"/args")), "--table-dir", tables)
	want := read(t, dir+"/want.txt")
	for _, c := range []struct{ name, content, says string }{
		{"sound", sound, ""},
		{"damaged", sound[:200] + "?" + sound[201:], "offset 0x8: the checksum is wrong"},
		{"cut short", sound[:len(sound)-10], "the file is cut short"},
		{"another's", other, "offset 0x28: the table of another file, build ID or digest "},
		{"old", "bsTable\x01" + sound[8:], "offset 0x7: an unwind table of version 1; this is version 4"},
		{"text", "no table\n", "offset 0x0: not an unwind table"},
		{"empty", "", "empty file"},
	} {
		for _, says := range []string{c.says, ""} {
			if says == c.says {
				if err := os.WriteFile(files[0], []byte(c.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, talk, exit := run(t, program, dir, args...)
			if got != want || exit != 0 || !strings.Contains(talk, says) || says == "" && talk != "" {
				t.Errorf("%s: exit code %d, said %q, want %q", c.name, exit, talk, says)
			}
			if says != "" && (strings.Count(talk, "\n") != 1 || !strings.Contains(talk, files[0])) {
				t.Errorf("%s: said %q; want one line that names the file", c.name, talk)
			}
		}
	}
}
