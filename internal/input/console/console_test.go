package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// toy knows reports of one line: "CRASH name".
func toy(archs ...*cpu.Arch) Reader {
	n := 0
	return Reader{Name: "toy", Read: func(_ context.Context, log *Log, at int, _ *input.Env) (*Report, int) {
		name, ok := strings.CutPrefix(log.Line(at), "CRASH ")
		if !ok {
			return nil, at + 1
		}
		n++
		return &Report{Title: name, Arch: archs[(n-1)%len(archs)], Fault: &target.Fault{Name: name}}, at + 1
	}}
}

// TestReportsAreThreads: in the order of the log; the first fault is the capture's.
func TestReportsAreThreads(t *testing.T) {
	arch := &cpu.Arch{Name: "toy"}
	s, err := Format(toy(arch)).Open(context.Background(), input.NewCapture("log", []byte("boot\r\nCRASH a\r\nmore\n\x1b[31mCRASH b\x1b[0m\n")), &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintln(len(snap.Threads), snap.Threads[0].Name, snap.Threads[1].Name, snap.Threads[1].ID, snap.Fault.Name); got != "2 a b 1 a\n" {
		t.Errorf("threads: %s", got)
	}
	if _, err := s.Next(context.Background()); err != io.EOF {
		t.Errorf("behind the last snapshot: %v", err)
	}
}

// TestNoProcessor: a report that a reader cannot use, for nothing tells the processor, does not
// keep another reader from those that follow.
func TestNoProcessor(t *testing.T) {
	guess := Reader{Name: "guess", Read: func(_ context.Context, log *Log, at int, _ *input.Env) (*Report, int) {
		if log.Line(at) != "stack backtrace:" {
			return nil, at + 1
		}
		return &Report{Title: "guess", Issues: []target.Issue{{Text: "no processor"}}}, at + 1
	}}
	log := []byte("stack backtrace:\nCRASH a\n")
	s, err := Format(toy(&cpu.Arch{}), guess).Open(context.Background(), input.NewCapture("log", log), &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil || len(snap.Threads) != 1 || snap.Threads[0].Name != "a" || len(snap.Issues) != 1 {
		t.Errorf("%v, %+v", err, snap)
	}
}

// TestRest: lines that a reader knows as what is left of a report are kept from the others.
func TestRest(t *testing.T) {
	rest := Reader{Name: "rest", Read: func(_ context.Context, log *Log, at int, _ *input.Env) (*Report, int) {
		if log.Line(at) != "REST" {
			return nil, at + 1
		}
		return nil, at + 3
	}}
	s, err := Format(rest, toy(&cpu.Arch{})).Open(context.Background(), input.NewCapture("log", []byte("REST\nCRASH a\nCRASH b\nCRASH c\n")), &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if snap, err := s.Next(context.Background()); err != nil || len(snap.Threads) != 1 || snap.Threads[0].Name != "c" {
		t.Errorf("%v, %+v", err, snap)
	}
}

// TestMaxReports: a log of nothing but reports is read up to a number that follows from its
// length, and the rest is said to be missing.
func TestMaxReports(t *testing.T) {
	log := bytes.Repeat([]byte("CRASH a\n"), reportsFloor+100)
	s, err := Format(toy(&cpu.Arch{})).Open(context.Background(), input.NewCapture("log", log), &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	most := reportsFloor + len(log)/bytesPerReport
	if len(snap.Threads) != most {
		t.Errorf("%d threads, want %d", len(snap.Threads), most)
	}
	want := fmt.Sprintf("%d reports were read, the most for a log of %d bytes; those from line %d on were not", most, len(log), most+1)
	if len(snap.Issues) != 1 || snap.Issues[0].Text != want {
		t.Errorf("issues %v, want %q", snap.Issues, want)
	}
}

// TestProcessorsAreSnapshots: reports of two processors cannot be threads of one program.
func TestProcessorsAreSnapshots(t *testing.T) {
	s, err := Format(toy(&cpu.Arch{}, &cpu.Arch{})).Open(context.Background(), input.NewCapture("log", []byte("CRASH a\nCRASH b\nCRASH c\n")), &input.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for snap, err := s.Next(context.Background()); err == nil; snap, err = s.Next(context.Background()) {
		got = append(got, len(snap.Threads))
	}
	if fmt.Sprint(got) != "[2 1]" {
		t.Errorf("threads of the snapshots: %v", got)
	}
}

// TestNoReport: text without a report is one line of error.
func TestNoReport(t *testing.T) {
	_, err := Format(toy(&cpu.Arch{})).Open(context.Background(), input.NewCapture("notes.txt", []byte("nothing here\n")), &input.Env{})
	if err == nil || !strings.HasPrefix(err.Error(), "notes.txt: offset 0x0: text without a crash report") {
		t.Errorf("error: %v", err)
	}
}

// TestLines: line ends of all systems, noise, lines without end.
func TestLines(t *testing.T) {
	l := NewLog(t.Context(), []byte("one\ntwo\r\nthree\rfour\x00\n\n"+strings.Repeat("x", maxLine+1)))
	var got []string
	for i := range l.Len() {
		got = append(got, l.Line(i))
	}
	want := []string{"one", "two", "three", "four", "", strings.Repeat("x", maxLine), "x"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines %q", got)
	}
}

// TestBehindBlank: empty lines are passed over at once, whichever line was asked for before, and keep their numbers.
func TestBehindBlank(t *testing.T) {
	l := NewLog(t.Context(), []byte("one\n\n\n\r\nfive\n\n"))
	for _, before := range []int{0, 2, 4, 5} {
		for i, want := range []int{0, 3, 3, 4, 4, 6, 6} {
			l.Line(before)
			if got := l.BehindBlank(i); got != want || got < l.Len() && l.Line(got) != []string{"one", "", "", "", "five"}[got] {
				t.Errorf("behind the blank lines from %d on: %d %q, not %d", i, got, l.Line(got), want)
			}
		}
	}
}

// TestBehindFragments: lines of a few letters are passed over at once, too; what stands behind them is a line as ever.
func TestBehindFragments(t *testing.T) {
	lines := []string{"one two", "x", "0a", "abc", "", "x", "four", "y", "y"}
	l := NewLog(t.Context(), []byte(strings.Join(lines, "\n")))
	for _, before := range []int{0, 2, 6, 8} {
		for i, want := range []int{0, 4, 4, 4, 4, 6, 6, 8, 9, 9} {
			l.Line(before)
			got := l.BehindFragments(i)
			if i == 7 {
				got = l.BehindFragments(got) // the last line has no end
				want = 9
			}
			if got != want || got < l.Len() && l.Line(got) != lines[got] || got > 0 && l.Line(got-1) != lines[got-1] {
				t.Errorf("behind the fragments from %d on: %d %q, not %d", i, got, l.Line(got), want)
			}
		}
	}
}

// TestSniff: text is a console's, be there some bytes of noise in front.
func TestSniff(t *testing.T) {
	for head, want := range map[string]bool{"[    0.000000] Linux version": true, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00": false,
		"\x00\xff\x80\x00boot ok\n": true, "": false} {
		if got := sniff([]byte(head)); got != want {
			t.Errorf("%q: text is %v", head, got)
		}
	}
}

// FuzzLog: any bytes are lines, each found once.
func FuzzLog(f *testing.F) {
	f.Add([]byte("a\r\nb\x1b[31mc\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := NewLog(t.Context(), text)
		n := 0
		for i := range l.Len() {
			n += len(l.Line(i))
		}
		if n > len(text) || l.Len() > len(text) {
			t.Errorf("%d lines of %d bytes out of %d", l.Len(), n, len(text))
		}
	})
}

// TestSeveralMessagesInALine: a line with several times of printk is as many lines; a time that is told twice is one.
func TestSeveralMessagesInALine(t *testing.T) {
	for text, want := range map[string][]string{
		"pid: 8 [ 2052.055150][ T1668] Call trace: [ 2052.055152][ T1668] a+0x1/0x2 <4>[ 2052.055154][ T1668] b\nc": {
			"pid: 8 [ 2052.055150][ T1668] Call trace: ", "[ 2052.055152][ T1668] a+0x1/0x2 ", "<4>[ 2052.055154][ T1668] b", "c"},
		"[    1.000000] [    1.000000] a":          {"[    1.000000] [    1.000000] a"},
		"[    1.000000] [<c0012345>] a [toy]":      {"[    1.000000] [<c0012345>] a [toy]"},
		"login: [    1.000000] a\r\n[    2.000000": {"login: [    1.000000] a", "[    2.000000"},
	} {
		log := NewLog(t.Context(), []byte(text))
		var got []string
		for i := range log.Len() {
			got = append(got, log.Line(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestOwner: a log that is surely of one reader's family is not read by those behind that reader, wherever their reports
// seem to stand.
func TestOwner(t *testing.T) {
	arch := &cpu.Arch{Name: "toy"}
	other := Reader{Name: "other", Read: func(_ context.Context, log *Log, at int, _ *input.Env) (*Report, int) {
		if log.Line(at) != "R13: 1" {
			return nil, at + 1
		}
		return &Report{Title: "other", Arch: arch}, at + 1
	}}
	for owned, want := range map[bool]string{true: "a", false: "other"} {
		reader := toy(arch)
		reader.Owns = func(*Log) bool { return owned }
		s, err := Format(reader, other).Open(context.Background(), input.NewCapture("log", []byte("R13: 1\nCRASH a\n")), &input.Env{})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Next(context.Background())
		if err != nil || snap.Threads[0].Name != want || len(snap.Threads) != 1 {
			t.Errorf("owned %v: %+v, %v", owned, snap, err)
		}
	}
}
