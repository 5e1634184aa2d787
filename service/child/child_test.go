package child_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/child"
	"golang.org/x/sys/unix"
)

// TestMain is the program that Runner starts, too; BAD says what a capture makes of it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Command {
		var after func()
		switch os.Getenv("BAD") {
		case "panic":
			panic("index out of range")
		case "silence":
			os.Exit(0)
		case "hang":
			time.Sleep(time.Hour)
		case "nosy":
			after = nosy
		}
		err := child.Main(context.Background(), os.Stdin, os.Stdout)
		if after != nil {
			after()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// nosy tries what a child must not.
func nosy() {
	fail := func(err error, what string) {
		if err == nil {
			fmt.Fprintln(os.Stderr, what)
			os.Exit(1)
		}
	}
	f, err := os.Create("written")
	if err == nil {
		_, err = f.WriteString("x")
	}
	fail(err, "it wrote a file")
	_, err = net.Dial("tcp", os.Getenv("LISTENS"))
	fail(err, "it reaches who listens")
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX, unix.AF_NETLINK} {
		if _, err := unix.Socket(family, unix.SOCK_DGRAM, 0); !errors.Is(err, unix.EPERM) {
			fail(nil, fmt.Sprintf("a socket of family %d: %v", family, err))
		}
	}
	fail(exec.Command("/bin/true").Run(), "it ran a program")
	if err := unix.Kill(os.Getppid(), 0); !errors.Is(err, unix.EPERM) {
		fail(nil, fmt.Sprintf("its parent is within reach: %v", err))
	}
	if err := unix.Tgkill(os.Getppid(), os.Getppid(), 0); !errors.Is(err, unix.EPERM) {
		fail(nil, fmt.Sprintf("its parent's thread is within reach: %v", err))
	}
}

func runner(t *testing.T, env ...string) *child.Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &child.Runner{Exe: exe, Env: env, Temp: t.TempDir(), Binaries: child.Binaries{Dir: t.TempDir()}, Memory: child.DefaultMemory, Time: child.DefaultTime}
}

const oops = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
	"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n"

// TestSame: the same capture gives the same bytes, in both forms, and leaves nothing behind.
func TestSame(t *testing.T) {
	r := runner(t)
	var first child.Result
	for i := range 2 {
		got, err := r.Run(t.Context(), strings.NewReader(oops), "console.log")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		} else if !bytes.Equal(got.JSON, first.JSON) || !bytes.Equal(got.Page, first.Page) {
			t.Error("other bytes")
		}
	}
	if !bytes.Contains(first.JSON, []byte(`"status": "OK"`)) || !bytes.Contains(first.JSON, []byte("console.log")) || !bytes.Contains(first.Page, []byte("<html")) {
		t.Errorf("%.300s\n%.100s", first.JSON, first.Page)
	}
	if left, err := os.ReadDir(r.Temp); len(left) != 0 || err != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestNothing: what is no capture has a report that says so.
func TestNothing(t *testing.T) {
	got, err := runner(t).Run(t.Context(), strings.NewReader("\x00\x01nothing"), "x")
	if err != nil || !bytes.Contains(got.JSON, []byte(`"status": "ERROR`)) {
		t.Errorf("%v: %.300s", err, got.JSON)
	}
}

// TestReported: a report that a device has made is the result; one that is cut short is none.
func TestReported(t *testing.T) {
	r := runner(t)
	first, err := r.Run(t.Context(), strings.NewReader(oops), "console.log")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Run(t.Context(), bytes.NewReader(first.JSON), "report.json"); err != nil || !bytes.Equal(again.JSON, first.JSON) {
		t.Errorf("%v: another report", err)
	}
	if cut, err := r.Run(t.Context(), bytes.NewReader(first.JSON[:len(first.JSON)/2]), "report.json"); err != nil || !bytes.Contains(cut.JSON, []byte("ERROR")) {
		t.Errorf("%v: %.100s", err, cut.JSON)
	}
}

// TestDied: a child that dies is told from what failed around it.
func TestDied(t *testing.T) {
	for bad, want := range map[string]string{"panic": "panic: index out of range", "silence": "it wrote nothing", "hang": "it took too long"} {
		r := runner(t, "BAD="+bad)
		r.Time = 0
		_, err := r.Run(t.Context(), strings.NewReader(oops), "x")
		var died *child.Died
		if !errors.As(err, &died) || !strings.Contains(died.Why, want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
	r := runner(t)
	r.Exe = filepath.Join(t.TempDir(), "none")
	if _, err := r.Run(t.Context(), strings.NewReader(oops), "x"); errors.As(err, new(*child.Died)) || err == nil {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestHardened: a child neither writes files nor reaches who listens on this machine, has no socket, and runs and signals nobody.
func TestHardened(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no network: ", err)
	}
	defer l.Close()
	r := runner(t, "BAD=nosy", "LISTENS="+l.Addr().String())
	if _, err := r.Run(t.Context(), strings.NewReader(oops), "x"); err != nil {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	b := child.Binaries{Dir: "/b"}
	for _, c := range [][2]string{
		{b.Path("ab12", "executable"), "/b/ab12/executable"},
		{b.SymbolPath("app.pdb", "AB1", "app.sym"), "/b/symbols/app.pdb/AB1/app.sym"},
		{b.SymbolPath("../..", "..", `a/b\c:d`), "/b/symbols/_../_/a_b_c_d"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}
