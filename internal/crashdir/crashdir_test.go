//go:build linux

package crashdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// files are the names in a directory but for the counts.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "crashes.json" {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// report reports a crash of a program at a second, or counts it.
func report(t *testing.T, d *Dir, program string, second int64, text string) (reported bool) {
	t.Helper()
	ticket, err := d.Admit(program, time.Unix(1_700_000_000+second, 0), int(second))
	if err != nil {
		t.Fatal(err)
	}
	if ticket == nil {
		return false
	}
	defer ticket.End()
	if err := ticket.Write(t.Context(), ".txt", []byte(text)); err != nil {
		t.Fatal(err)
	}
	return true
}

// TestBounds: the oldest crashes go, with all their files; files of others stay, whatever they look like.
func TestBounds(t *testing.T) {
	d := &Dir{Path: t.TempDir(), Crashes: 2, Bytes: 100, Rate: 100, Jobs: 1}
	foreign := []string{"1600000000-net-1.txt", "crash-notes.txt", "crash-1-x-y.txt", "crash-1-x-1.log", "syslog"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(d.Path, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.Path, "crash-5-net-5.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for second := range int64(4) {
		report(t, d, "/usr/bin/net d", second, strings.Repeat("x", 30))
	}
	const others = "1600000000-net-1.txt crash-1-x-1.log crash-1-x-y.txt "
	if got := files(t, d.Path); got != others+"crash-1700000002-net_d-2.txt crash-1700000003-net_d-3.txt crash-notes.txt syslog" {
		t.Errorf("two crashes: %s", got)
	}
	report(t, d, "../../x\nÿ", 4, strings.Repeat("x", 90))
	if got := files(t, d.Path); got != others+"crash-1700000004-x__-4.txt crash-notes.txt syslog" {
		t.Errorf("a hundred bytes: %s", got)
	}
	ticket, err := d.Admit("large", time.Unix(1_700_000_005, 0), 5)
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.End()
	if err := ticket.Write(t.Context(), ".txt", make([]byte, 101)); err == nil || !strings.Contains(err.Error(), "bound of 100") {
		t.Errorf("more than a hundred bytes: %v", err)
	}
	if st, err := os.Stat(filepath.Join(d.Path, "crashes.json")); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

// TestRate: of what a program does too often, the first crashes of a minute are reported, and the next one that is tells how many were
// not; another program has a rate of its own, but as many as 64 are told apart.
func TestRate(t *testing.T) {
	d := &Dir{Path: t.TempDir(), Crashes: 1000, Bytes: 1 << 20, Rate: 3, Jobs: 1}
	reported := 0
	for i := range int64(1000) {
		if report(t, d, "storm", i/20, "x") { // 20 a second
			reported++
		}
	}
	if reported != 3 || !report(t, d, "other", 50, "x") {
		t.Errorf("%d of 1000 crashes were reported", reported)
	}
	ticket, err := d.Admit("storm", time.Unix(1_700_000_070, 0), 1)
	if err != nil || ticket == nil || ticket.Counted != 997 {
		t.Fatalf("%+v, %v", ticket, err)
	}
	ticket.End()
	for i := range int64(200) {
		report(t, d, strings.Repeat("p", int(i)+1), 80+i, "x")
	}
	counts, err := os.ReadFile(filepath.Join(d.Path, "crashes.json"))
	if n := strings.Count(string(counts), `"program"`); err != nil || n != maxPrograms {
		t.Errorf("%d programs are counted, %v", n, err)
	}
}

// TestJobs: crashes that come while others are worked on are counted, and several processes keep to the bounds.
func TestJobs(t *testing.T) {
	if dir := os.Getenv("BACKSIGHT_TEST_CRASHDIR"); dir != "" {
		ticket, err := (&Dir{Path: dir, Crashes: 5, Bytes: 1 << 20, Rate: 1000, Jobs: 2}).Admit("p", time.Now(), os.Getpid())
		if err != nil || ticket == nil {
			t.Skip("counted ", err)
		}
		time.Sleep(20 * time.Millisecond)
		if err := ticket.Write(t.Context(), ".txt", []byte("x")); err != nil {
			t.Fatal(err)
		}
		return // its end ends the ticket
	}
	dir := t.TempDir()
	t.Setenv("BACKSIGHT_TEST_CRASHDIR", dir)
	var all sync.WaitGroup
	for range 24 {
		all.Go(func() {
			if out, err := exec.Command(os.Args[0], "-test.run", "^TestJobs$").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	if n := len(strings.Fields(files(t, dir))); n < 1 || n > 5 {
		t.Errorf("%d reports", n)
	}
	if counts, _ := os.ReadFile(filepath.Join(dir, "crashes.json")); !strings.Contains(string(counts), `"crashes": 24`) {
		t.Errorf("counted %s", counts)
	}
}

// TestLog: what goes wrong is told to the kernel's log, and to the system's where the kernel has none or takes nothing.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	kmsg, socket := filepath.Join(dir, "kmsg"), filepath.Join(dir, "log")
	if err := os.WriteFile(kmsg, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenPacket("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	logTo(kmsg, socket, "one")
	if said, _ := os.ReadFile(kmsg); string(said) != "<3>backsight: one\n" {
		t.Errorf("the kernel was told %q", said)
	}
	for _, none := range []string{filepath.Join(dir, "none"), "/dev/full"} {
		logTo(none, socket, "two"+strings.Repeat("x", 900))
		b := make([]byte, 2000)
		_ = l.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, _, err := l.ReadFrom(b)
		if want := "<11>backsight: two" + strings.Repeat("x", 797); err != nil || string(b[:n]) != want {
			t.Errorf("%s: the system was told %q, %v", none, b[:n], err)
		}
	}
	logTo(kmsg+"/none", socket+"none", "three") // nobody
}

// TestNames: the counts are JSON, and are read again, whatever the program is called.
func TestNames(t *testing.T) {
	d := &Dir{Path: t.TempDir(), Crashes: 5, Bytes: 1 << 20, Rate: 1, Jobs: 1}
	names := []string{"/bin/netd", `a"b\c`, "x\ny\x1b[2J", "\xff\xfe", "ü", `", "crashes": 9`}
	for range 2 {
		for _, name := range names {
			report(t, d, name, 1, "x")
		}
	}
	var list []map[string]any
	counts, _ := os.ReadFile(filepath.Join(d.Path, "crashes.json"))
	if err := json.Unmarshal(counts, &list); err != nil || len(list) != len(names) {
		t.Fatalf("%v: %s", err, counts)
	}
	for i, p := range list {
		if p["crashes"] != 2.0 || p["notReported"] != 1.0 || p["program"] != safe(names[i]) {
			t.Errorf("%s: %v", names[i], p)
		}
	}
}

// TestDamage: counts that somebody damaged begin anew; links in the place of files, and directories of others, are refused.
func TestDamage(t *testing.T) {
	d := &Dir{Path: filepath.Join(t.TempDir(), "a", "b"), Crashes: 5, Bytes: 1 << 20, Rate: 1, Jobs: 1}
	report(t, d, "p", 0, "x")
	counts := filepath.Join(d.Path, "crashes.json")
	one := fmt.Sprintf(line, "p", 1, 0, int64(1_700_000_000), 1)
	for _, damage := range []string{"", "[", `{"program": 1}`, "[" + strings.Repeat("{},", 100) + "{}]", one, "[\n" + one + "\n", "[\n" + one + " \n]\n",
		"[\n" + strings.Repeat(one+",\n", maxPrograms) + one + "\n]\n", strings.Replace("[\n"+one+"\n]\n", "1", "-1", 1)} {
		if err := os.WriteFile(counts, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if !report(t, d, "p", 1, "x") {
			t.Errorf("%.10q: the crash is counted", damage)
		}
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, filepath.Join(d.Path, stem("p", time.Unix(1_700_000_100, 0), 100)+".txt")); err != nil {
		t.Fatal(err)
	}
	ticket, err := d.Admit("p", time.Unix(1_700_000_100, 0), 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Write(t.Context(), ".txt", []byte("x")); err == nil {
		t.Error("a link is followed")
	}
	ticket.End()
	if _, err := os.Lstat(victim); err == nil {
		t.Error("a file elsewhere was written")
	}
	if err := os.Chmod(d.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Admit("p", time.Unix(1_700_000_200, 0), 1); err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("a directory of all: %v", err)
	}
}

// TestFullDisk: where there is no room, the oldest crashes make it; where there is none without them, nothing is left of the attempt.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skip("only root can make a small disk: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	d := &Dir{Path: dir, Crashes: 50, Bytes: 16 << 20, Rate: 100, Jobs: 1}
	for second := range int64(10) {
		if !report(t, d, "p", second, strings.Repeat("x", 20<<10)) {
			t.Errorf("crash %d is only counted", second)
		}
	}
	if got := files(t, dir); got != "crash-1700000007-p-7.txt crash-1700000008-p-8.txt crash-1700000009-p-9.txt" {
		t.Errorf("kept %s", got)
	}
	ticket, err := d.Admit("p", time.Unix(1_700_000_010, 0), 10)
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.End()
	if err := ticket.Write(t.Context(), ".txt", make([]byte, 100<<10)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than the disk holds: %v", err)
	}
	if got := files(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// TestAbandoned: temporary files whose writer was killed are removed once they are old.
func TestAbandoned(t *testing.T) {
	d := &Dir{Path: t.TempDir(), Crashes: 5, Bytes: 1 << 20, Rate: 9, Jobs: 1}
	old := time.Now().Add(-time.Hour)
	for name, when := range map[string]time.Time{".backsight-0123456789abcdef": old, ".backsight-fedcba9876543210": time.Now(), ".backsight-mine": old} {
		path := filepath.Join(d.Path, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	report(t, d, "p", 0, "x")
	if got := files(t, d.Path); got != ".backsight-fedcba9876543210 .backsight-mine crash-1700000000-p-0.txt" {
		t.Errorf("kept %s", got)
	}
}

// FuzzParse: a name is ours only as stem makes them.
func FuzzParse(f *testing.F) {
	f.Add("crash-1700000000-net_d-42.txt")
	f.Add("crash-1-a-b-2.core")
	f.Fuzz(func(t *testing.T, name string) {
		if s, when, ok := parse(name); ok && (when < 0 && !strings.Contains(s, "--") || !strings.HasPrefix(name, s+".") || strings.Count(s, "-") < 3) {
			t.Errorf("%q, %d of %q", s, when, name)
		}
	})
}
