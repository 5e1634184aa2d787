package console

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
)

// blocks knows reports from "BEGIN name" to "END"; those whose names begin with a letter and a slash are of one program: "p/1".
func blocks(arch *cpu.Arch) Reader {
	return Reader{Name: "blocks", Read: func(_ context.Context, log *Log, at int, _ *input.Env) (*Report, int) {
		name, ok := strings.CutPrefix(log.Line(at), "BEGIN ")
		if !ok {
			return nil, at + 1
		}
		r := &Report{Title: name, Arch: arch}
		if program, _, several := strings.Cut(name, "/"); several {
			r.Space = program
		}
		for at++; at < log.Len(); at++ {
			if log.Line(at) == "END" {
				return r, at + 1
			}
		}
		return r, at
	}}
}

// opened is a stream of the reports that blocks knows.
func opened(t *testing.T, log io.Reader) input.Stream {
	t.Helper()
	env := &input.Env{Formats: []input.Format{Format(blocks(&cpu.Arch{}))}, Files: input.NewFiles(input.FileOptions{})}
	t.Cleanup(func() { env.Files.Close() })
	s, err := env.OpenReader(t.Context(), "log", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// counter counts what was read of a log that never ends.
type counter struct {
	text []byte // again and again
	n    int
}

func (c *counter) Read(p []byte) (int, error) {
	n := copy(p, c.text[c.n%len(c.text):])
	c.n += n
	return n, nil
}

// TestReadAhead counts what is read of a log of reports before some are given: no more than is looked at together, however long the log
// goes on.
func TestReadAhead(t *testing.T) {
	const buffered = 64 << 10
	log := &counter{text: []byte("BEGIN x\n" + strings.Repeat("a line of the report\n", 100) + "END\nnothing\n")}
	s := opened(t, log)
	if log.n > wholeLog+buffered {
		t.Errorf("%d bytes were read before the first reports are given", log.n)
	}
	for given := 0; given < 16<<20; {
		snap, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		given += len(snap.Threads) * len(log.text)
		if log.n-given > wholeLog+buffered || snap.Threads[0].ID != (given/len(log.text)-len(snap.Threads)) {
			t.Fatalf("%d bytes were read, reports of %d given; thread %d", log.n, given, snap.Threads[0].ID)
		}
	}
}

// TestCutNowhere: however a log is cut into portions, each report is given once, and the threads of one program together.
func TestCutNowhere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var log bytes.Buffer
	var want []string
	for n := 0; log.Len() < 12<<20; n++ {
		lines, threads := r.IntN(200), 1
		switch r.IntN(200) {
		case 0: // larger than a portion
			lines = portion / 10
		case 1:
			threads = r.IntN(3000)
		}
		for k := range threads {
			name := fmt.Sprint(n)
			if threads > 1 {
				name = fmt.Sprintf("p%d/%d", n, k)
			}
			want = append(want, name)
			fmt.Fprintf(&log, "BEGIN %s\n%sEND\n", name, strings.Repeat("a line\n", lines))
		}
		log.WriteString(strings.Repeat("no line of a report\n", r.IntN(20)*r.IntN(400)))
	}
	programs := map[any]bool{}
	s := opened(t, &log)
	var got []string
	for {
		snap, err := s.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range snap.Threads {
			got = append(got, th.Name)
		}
		if program, _, several := strings.Cut(snap.Threads[0].Name, "/"); several {
			if programs[program] {
				t.Errorf("program %s is in two snapshots", program)
			}
			programs[program] = true
		}
	}
	slices.Sort(got) // programs have snapshots of their own
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d reports, not %d", len(got), len(want))
	}
}

// TestReadingBreaksOff: where a log cannot be read on, its last snapshot says so.
func TestReadingBreaksOff(t *testing.T) {
	text := strings.Repeat("BEGIN x\nEND\n", wholeLog/10)
	s := opened(t, io.MultiReader(strings.NewReader(text), broken{}))
	var last []string
	for {
		snap, err := s.Next(t.Context())
		if err != nil {
			break
		}
		last = nil
		for _, issue := range snap.Issues {
			last = append(last, issue.Text)
		}
	}
	if want := fmt.Sprintf("log: offset %#x: ends here: no more", len(text)); len(last) == 0 || last[len(last)-1] != want {
		t.Errorf("%q, want %q", last, want)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("no more") }
