package kernellog

import (
	"context"
	"math/rand"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// TestCutAnywhere: a log that begins or ends anywhere gives what is left of its report.
func TestCutAnywhere(t *testing.T) {
	for _, c := range oopses {
		lines := strings.Split(strings.TrimSpace(c.log), "\n")
		for i := range lines {
			for _, part := range []string{strings.Join(lines[:i], "\n"), strings.Join(lines[i:], "\n")} {
				if n := strings.Count(threadsOf(t, part), "\n"); n > 1 {
					t.Errorf("%s cut at line %d: %d reports", c.name, i, n)
				}
			}
		}
		if got := threadsOf(t, strings.Join(lines[:len(lines)*3/4], "\n")); !strings.HasPrefix(got, c.title+"|leaf!") {
			t.Errorf("%s without its end: %s", c.name, got)
		}
	}
}

// TestCutIsSaid: a log that ends within a report says so.
func TestCutIsSaid(t *testing.T) {
	log := oopses[0].log
	for part, want := range map[string]int{log: 0, log[:strings.Index(log, " top+")+len(" top+0x58/0x90 [toy]")]: 1} {
		if got := issuesOf(t, part, target.IssueCapture); len(got) != want {
			t.Errorf("%d lines: %v, want %d issues", strings.Count(part, "\n"), got, want)
		}
	}
}

// TestLostLetters: a console that loses letters gives no more reports and no other chain,
// only a shorter one.
func TestLostLetters(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for _, c := range oopses {
		known := map[string]bool{}
		for _, s := range strings.Fields(c.want) {
			known[strings.Trim(s, "!?.")] = true
		}
		whole := 0
		for range 200 {
			at := rnd.Intn(len(c.log))
			got := threadsOf(t, c.log[:at]+c.log[at+1:])
			if strings.Contains(got, c.want) {
				whole++
			}
		}
		if whole < 120 {
			t.Errorf("%s: %d of 200 logs without one letter have the whole chain", c.name, whole)
		}
	}
}

// TestFlood: what reports may cost is bounded, whatever they claim.
func TestFlood(t *testing.T) {
	log := "Call trace:\nel0_svc+0x1/0x2\n" + strings.Repeat(" a+0x1/0x2\n", 2*maxListed)
	s := snapshots(t, log)
	if n := len(s[0].Threads[0].Listed); n != maxListed {
		t.Errorf("%d entries, want %d", n, maxListed)
	}
	log = "Oops[#1]:\nepc   : c00a5020 leaf+0x20/0x2c\n$28   : 817e6000 817e7cb8 005c7888 c00a506c\nStack :" +
		strings.Repeat(" 00000000 00000001 00000002 00000003 00000004 00000005 00000006 00000007\n", maxStackWords)
	s = snapshots(t, log)
	if n := len(s[0].Threads[0].Memory.Segments()[0].Data); n > 4*maxStackWords {
		t.Errorf("%d bytes of stack", n)
	}
}

// TestUnknownProcessor: reports of which nobody knows the processor have the frames that are listed, and that is said once, however
// many they are.
func TestUnknownProcessor(t *testing.T) {
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{})}
	for _, n := range []int{1, 6000} {
		log := strings.Repeat("CPU: 2 PID: 15 Comm: sh Not tainted 4.1.12+ #5\nCall Trace:\n toy+0x1/0x2\n", n)
		s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", []byte(log)), env)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Next(context.Background())
		if err != nil || snap.Arch.Name != "unknown" || len(snap.Issues) == 0 || snap.Threads[0].Listed[0].Symbol != "toy" ||
			!strings.HasPrefix(snap.Issues[0].Text, "the log does not tell the processor of a kernel's report, stack: CPU 2 PID 15 sh") {
			t.Errorf("%d reports: %v, %d threads", n, err, len(snap.Threads))
		}
	}
}

// FuzzLog: no log breaks the reader, and a report has lines of its own.
func FuzzLog(f *testing.F) {
	for _, c := range oopses {
		f.Add(c.log)
	}
	f.Add("task:a state:S pid:1\nCall Trace:\n[<0>] a+0x1/0x2\n")
	f.Add(mips24)
	for log := range wrapped {
		f.Add(log)
	}
	f.Add("CPU: 0 PID: 7 Comm: a\nNot tainted 2.6.9 #1\nCall Trace:<ffffffff80214c5b>{:a:b+107} <ffffffff8026a5c4>{c+68}\n <<EOE>>  <IRQ>  [<ffffffff8026a5c4>] ?\nd+0x1/0x2\n[a]\n")
	f.Add("> Call Trace:\n>  a lib/a.c:7 [inline]\n>  b+0x1/0x2 lib/a.c:8\n>  ? c (a.c:1 (discriminator 2) b.c:2) d\n> [snip]\n> RIP  [<ffffffff8026a5c4>] d+0x1/0x2\n")
	f.Add("a               D    0     7      2 0x80000000\nCall Trace:\n a+0x1/0x2\nWARNING: kernel stack regs at 0 in a:7 has bad 'bp' value 0\nLost 7 message(s)!\n b+0x1/0x2\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := scan(console.NewLog(t.Context(), []byte(text)))
		for i, r := range s.records {
			if r.from >= r.to || i > 0 && s.records[i-1].from >= r.from {
				t.Errorf("report %d: lines %d to %d", i, r.from, r.to)
			}
		}
		for _, snap := range snapshots(t, text) {
			for i := range snap.Threads {
				if n := len(snap.Threads[i].Listed); n > maxListed+2 {
					t.Errorf("thread %d lists %d frames", i, n)
				}
			}
		}
	})
}
