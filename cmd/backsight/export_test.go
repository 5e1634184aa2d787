package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packer is a MIPS program without symbols and tables.
const packer = "../../testdata/mips-naked/modules/packer"

// TestExport: rules for other programs go to standard output or into the file of -o.
func TestExport(t *testing.T) {
	code, out, talk := bs(t, "table", "--format", "json", packer)
	var table struct{ Functions []any }
	if err := json.Unmarshal([]byte(out), &table); code != exitOK || err != nil || len(table.Functions) < 5 {
		t.Errorf("exit code %d, %d functions, %v, %q", code, len(table.Functions), err, talk)
	}
	path := filepath.Join(t.TempDir(), "packer.json")
	if code, out, talk := bs(t, "table", "--format", "json", "-o", path, packer); code != exitOK || out != "" || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != out {
		t.Errorf("the file has other bytes than standard output: %v", err)
	}
}

// TestRootfs: one file has the tables of all programs below a folder, and of nothing else.
func TestRootfs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tables")
	code, out, talk := bs(t, "table", "--format", "device", "--rootfs", "../../testdata/mips-naked", "-o", path)
	if code != exitOK || out != "tables 1\n" || talk != "" {
		t.Errorf("exit code %d, %q, %q", code, out, talk)
	}
	if got, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(got), "bsT\x01\x01\x00\x00\x00") || !strings.Contains(string(got), "bsD\x02") {
		t.Errorf("%.16q, %v", got, err)
	}
}

// TestWrittenFiles: whatever writes a file leaves a link a link, keeps the mode of the file behind, and says in one
// line what is wrong with the path that the user gave.
func TestWrittenFiles(t *testing.T) {
	program, err := filepath.Abs("../../testdata/mips-naked/modules/packer")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "--format json", "--format breakpad", "--format debug_frame", "--add-section"} {
		dir := t.TempDir()
		file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", link); err != nil {
			t.Skip(err)
		}
		table := func(to string) (int, string) {
			code, _, says := bs(t, append(append([]string{"table", "-o", to}, strings.Fields(flags)...), program)...)
			return code, says
		}
		if code, says := table(link); code != exitOK {
			t.Fatalf("%s: exit code %d, %s", flags, code, says)
		}
		st, err := os.Stat(file)
		if err != nil || st.Size() <= 3 || st.Mode() != 0o600 && os.PathSeparator == '/' {
			t.Errorf("%s: %v, %v", flags, st, err)
		}
		if l, err := os.Lstat(link); err != nil || l.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link is none: %v", flags, err)
		}
		if code, says := table(os.DevNull); code != exitOK {
			t.Errorf("%s: exit code %d, %s", flags, code, says)
		}
		nowhere := filepath.Join(dir, "no", "file")
		if code, says := table(nowhere); code != exitNone || !strings.HasPrefix(says, "backsight: "+nowhere+": cannot be written: ") || strings.Count(says, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", flags, code, says)
		}
	}
}

// TestExportWrong: one line, with the reason.
func TestExportWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--format", "stabs", packer}, exitUsage, `--format: no form of tables is called "stabs"; there are `},
		{[]string{"--format", "json", "--sources", "fp", packer}, exitUsage, "--sources: no table can be compiled from"},
		{[]string{"--format", "json", "-o", "/nowhere/x", packer}, exitNone, "/nowhere"},
		{[]string{"--format", "json", write(t, "text", "text\n")}, exitNone, "text"},
	} {
		code, out, talk := bs(t, append([]string{"table"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.says) {
			t.Errorf("%q: exit code %d, want %d; %q", c.args, code, c.code, talk)
		}
	}
}

// TestExportMinidump: a core and the minidump of it have the same backtraces; the file is the user's alone, and no capture
// is overwritten by its own dump.
func TestExportMinidump(t *testing.T) {
	for _, name := range []string{"x86_64-threads", "mips-deref", "aarch64-signal"} {
		dir := filepath.Join("..", "..", "testdata", name)
		core, modules := filepath.Join(dir, "core.gz"), filepath.Join(dir, "modules")
		dump := filepath.Join(t.TempDir(), "x.dmp")
		if code, out, talk := bs(t, "export", "--minidump", "-o", dump, "--sysroot", modules, core); code != exitOK || out != "" || talk != "" {
			t.Fatalf("exit code %d, %q, %q", code, out, talk)
		}
		_, want, _ := bs(t, "bt", "--sysroot", modules, core)
		if _, got, _ := bs(t, "bt", "--sysroot", modules, dump); got != want || got == "" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if st, err := os.Stat(dump); err != nil || st.Mode() != 0o600 && os.PathSeparator == '/' {
			t.Errorf("%v, %v", st.Mode(), err)
		}
		if code, _, talk := bs(t, "export", "--minidump", "-o", dump, dump); code != exitUsage || !strings.Contains(talk, "is the capture itself") {
			t.Errorf("exit code %d, %q", code, talk)
		}
	}
	for _, args := range [][]string{{"export", "-o", "x", packer}, {"export", "--minidump", packer}} {
		if code, _, talk := bs(t, args...); code != exitUsage || talk == "" {
			t.Errorf("%q: exit code %d, %q", args, code, talk)
		}
	}
}

// TestSymbolFiles: a minidump without any binary, but with the symbol files that table --format breakpad makes of the program,
// has the program's frames. The C library has no file: its tables take seconds.
func TestSymbolFiles(t *testing.T) {
	for name, frames := range map[string]int{"x86_64-threads": 5, "mips-deref": 5} {
		dir := filepath.Join("..", "..", "testdata", name)
		modules, tmp := filepath.Join(dir, "modules"), t.TempDir()
		dump, symbols := filepath.Join(tmp, "x.dmp"), filepath.Join(tmp, "symbols")
		if err := os.Mkdir(symbols, 0o777); err != nil {
			t.Fatal(err)
		}
		binaries := 0
		err := filepath.WalkDir(modules, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "libc.") || strings.HasPrefix(d.Name(), "ld") {
				return err
			}
			if code, _, talk := bs(t, "table", "--format", "breakpad", "-o", symbols, path); code != exitOK {
				t.Errorf("%s: %s", path, talk)
			}
			binaries++
			return nil
		})
		if err != nil || binaries < 1 {
			t.Fatalf("%d binaries, %v", binaries, err)
		}
		if code, _, talk := bs(t, "export", "--minidump", "-o", dump, "--sysroot", modules, filepath.Join(dir, "core.gz")); code != exitOK {
			t.Fatal(talk)
		}
		_, want, _ := bs(t, "bt", "--no-symbols", "--sysroot", modules, dump)
		_, got, _ := bs(t, "bt", "--no-symbols", "--sysroot", tmp, "--symbols", symbols, dump)
		same := 0
		for i, pc := range pcs(got) {
			if i < len(pcs(want)) && pcs(want)[i] == pc && same == i {
				same++
			}
		}
		if same < frames {
			t.Errorf("%s: got\n%swant\n%s", name, got, want)
		}
	}
}

// pcs are the addresses of a text's frames.
func pcs(text string) (list []string) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "#") {
			list = append(list, f[1])
		}
	}
	return list
}
