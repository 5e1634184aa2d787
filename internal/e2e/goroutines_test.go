//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// goWaits has goroutines that wait for everything, some of them alike, one that never ran for long and one that has its thread alone.
const goWaits = `package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

//go:noinline
func receive(c chan int) int { return <-c }

//go:noinline
func choose(a, b chan int) {
	select {
	case <-a:
	case b <- 1:
	}
}

func main() {
	c, nobody := make(chan int), (chan int)(nil)
	var m sync.Mutex
	m.Lock()
	go func() { nobody <- 1 }()
	go choose(c, nobody)
	go m.Lock()
	go time.Sleep(time.Hour)
	go func() {
		r, _, _ := os.Pipe()
		r.Read(make([]byte, 1))
	}()
	for range 100 {
		go receive(c)
	}
	go func() { runtime.LockOSThread(); receive(c) }()
	time.Sleep(100 * time.Millisecond)
	println("ready")
	var all sync.WaitGroup
	all.Add(1)
	all.Wait()
}
`

// goroutine is one as JSON has it, or as the runtime prints it.
type goroutine struct {
	ID      int    `json:"id"`
	State   string `json:"state"`
	Parent  int    `json:"parent"`
	Created struct {
		Function string `json:"function"`
	} `json:"created_by"`
}

// stack is a goroutine with the PCs of its frames.
type stack struct {
	goroutine
	pcs []string
}

func (s *stack) String() string {
	return fmt.Sprintf("goroutine %d [%s] %v created by %s in %d", s.ID, s.State, s.pcs, s.Created.Function, s.Parent)
}

// printed are the goroutines that the runtime prints.
func printed(dump string) (list []stack) {
	head := regexp.MustCompile(`^goroutine (\d+) .*\[([^],]*)`)
	by := regexp.MustCompile(`^created by (\S+) in goroutine (\d+)`)
	pc := regexp.MustCompile(` pc=(0x[0-9a-f]+)$`)
	for part := range strings.SplitSeq(dump, "\n\n") {
		var s stack
		for line := range strings.SplitSeq(part, "\n") {
			if m := head.FindStringSubmatch(line); m != nil {
				s.ID, _ = strconv.Atoi(m[1])
				s.State = m[2]
			} else if m := by.FindStringSubmatch(line); m != nil {
				s.Created.Function = m[1]
				s.Parent, _ = strconv.Atoi(m[2])
			} else if m := pc.FindStringSubmatch(line); m != nil {
				s.pcs = append(s.pcs, m[1])
			}
		}
		if s.ID > 0 {
			list = append(list, s)
		}
	}
	return list
}

// found are the goroutines that bt finds.
func found(t *testing.T, out string) (list []stack) {
	t.Helper()
	var report struct {
		Threads []struct {
			Frames []struct {
				Backsight struct {
					PC string `json:"pc"`
				} `json:"backsight"`
			} `json:"frames"`
			Backsight struct {
				Goroutine *goroutine `json:"goroutine"`
			} `json:"backsight"`
		} `json:"threads"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, th := range report.Threads {
		if th.Backsight.Goroutine == nil {
			continue
		}
		s := stack{goroutine: *th.Backsight.Goroutine}
		for _, f := range th.Frames {
			s.pcs = append(s.pcs, "0x"+strings.TrimLeft(strings.TrimPrefix(f.Backsight.PC, "0x"), "0"))
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b stack) int { return a.ID - b.ID })
	return list
}

// waiting starts the program, and returns it when all of its goroutines wait.
func waiting(t *testing.T) (cmd *exec.Cmd, rest io.Reader) {
	t.Helper()
	cmd = exec.Command(buildGo(t, goWaits))
	cmd.Env = append(os.Environ(), "GOTRACEBACK=system")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if _, err := io.ReadFull(said, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// TestGoroutines: of a stripped Go program that runs, every goroutine has what the runtime prints of it: state, frames, who started it.
// Those that are alike are shown once, and a small core has them, too.
func TestGoroutines(t *testing.T) {
	program := command(t)
	cmd, said := waiting(t)
	pid, core := strconv.Itoa(cmd.Process.Pid), filepath.Join(t.TempDir(), "core")
	if _, errs, code := run(t, program, ".", "core", "-p", pid, "-o", core); strings.Contains(errs, "not allowed") {
		t.Skip(errs)
	} else if code != 0 {
		t.Fatal(errs)
	}
	live, _, _ := run(t, program, ".", "bt", "-f", "json", "-p", pid)
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(said)
	if err != nil {
		t.Fatal(err)
	}
	want := printed(string(dump))
	slices.SortFunc(want, func(a, b stack) int { return a.ID - b.ID })
	stored, _, _ := run(t, program, ".", "bt", "-f", "json", core)
	for name, got := range map[string][]stack{"live": found(t, live), "core": found(t, stored)} {
		if len(got) != len(want) || len(want) < 108 {
			t.Fatalf("%s: %d goroutines, the runtime has %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i].String() != want[i].String() {
				t.Errorf("%s: %s\nthe runtime has %s", name, &got[i], &want[i])
			}
		}
	}
	text, _, _ := run(t, program, ".", "bt", core)
	if !strings.Contains(text, " and 92 others [chan receive]\n") || strings.Count(text, "main.receive") != 2 || strings.Contains(text, "\nThread ") {
		t.Errorf("goroutines that are alike:\n%s", text)
	}
	if text, _, _ := run(t, program, ".", "bt", "--goroutines=false", core); strings.Contains(text, "oroutine") && !strings.Contains(text, "\nThread ") {
		t.Errorf("threads of the system:\n%s", text)
	}
	if text, _, _ := run(t, program, ".", "bt", "--thread", "1", core); !strings.HasPrefix(text, "Goroutine 1 [sync.WaitGroup.Wait]\n") {
		t.Errorf("one goroutine:\n%s", text)
	}
	damaged(t, program, core)
}

// damaged reads a core whose memory is damaged anywhere: it ends in order.
func damaged(t *testing.T, program, core string) {
	t.Helper()
	whole, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		bad := bytes.Clone(whole)
		for range 200 {
			bad[len(bad)/4+random.IntN(len(bad)-len(bad)/4)] = byte(random.Uint32())
		}
		file := filepath.Join(t.TempDir(), "damaged")
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := run(t, program, ".", "bt", "-f", "json", file); code != 0 || strings.Contains(errs, "panic") {
			t.Errorf("exit code %d, said %q", code, errs)
		}
	}
}
