package e2e_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/gdbstub"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestRemoteSnapshots: recorded programs of all processors have the same backtraces at a GDB server that has no more than
// their snapshots, for no more than three round trips a frame.
func TestRemoteSnapshots(t *testing.T) {
	cases, err := truth.Cases(recorded.Testdata(t, "truth"), "")
	if err != nil || len(cases) < 15 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	const each = 10
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.Name, "/", "-"), func(t *testing.T) {
			program, ok := recorded.Program(t, &c, "naked")
			if !ok {
				t.Skip("no naked program")
			}
			env := input.Env{Files: opened(t, input.FileOptions{Images: []input.NamedImage{{Path: program}}})}
			s, err := backsight.Open(t.Context(), c.Snapshots(), env)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			frames, trips := 0, 0
			for range each {
				snap, err := s.Next(t.Context())
				if err != nil {
					break
				}
				want := backtrace(t, snap, nil)
				n := remoteEquals(t, snap, env, want)
				frames, trips = frames+len(want.Frames), trips+n
			}
			if frames == 0 || trips > 3*frames {
				t.Errorf("%d reads of memory for %d frames", trips, frames)
			}
		})
	}
}

// remoteEquals compares the backtrace of a snapshot with that of its server, and counts the reads of memory.
func remoteEquals(t *testing.T, snap *target.Snapshot, env input.Env, want backsight.Backtrace) (reads int) {
	t.Helper()
	server := &gdbstub.Server{Snapshot: snap, Features: "qXfer:memory-map:read+;QStartNoAckMode+"}
	server.Answers = map[string][]byte{"qXfer:memory-map:read:": server.MemoryMap()}
	s, err := backsight.OpenRemote(t.Context(), server.Listen(t), env, false)
	if err != nil {
		t.Fatal(err)
	}
	live, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := len(server.Requests())
	got := backtrace(t, live, nil)
	reads = len(server.Requests()) - before
	same := func(a, b unwind.Frame) bool {
		a.Module, b.Module = nil, nil // which each opening makes
		return a == b
	}
	if !slices.EqualFunc(got.Frames, want.Frames, same) || got.Stop != want.Stop {
		t.Errorf("%v %v, want %v %v", got.Frames, got.Stop, want.Frames, want.Stop)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	harmlessRequests(t, server)
	return reads
}

// harmlessRequests: the target is not written to, stepped or given breakpoints, and goes on in the end.
func harmlessRequests(t *testing.T, server *gdbstub.Server) {
	t.Helper()
	all := server.Requests()
	for _, r := range all {
		if strings.ContainsAny(r[:min(1, len(r))], "MXGPZzcCsSkR") || strings.HasPrefix(r, "v") {
			t.Errorf("the server was asked for %q", r)
		}
	}
	if n := len(all); n == 0 || all[n-1] != "D" {
		t.Errorf("the last of %d requests is not to let go", n)
	}
}

// TestRemoteFails: whatever a server does, there is an answer in one line, or as much of the backtrace as there is; what was
// asked for is named, and the target is let go.
func TestRemoteFails(t *testing.T) {
	snap := crashed(t)
	files := opened(t, input.FileOptions{Sysroots: []string{"../../testdata/mips-deref/modules"}, Exe: snap.Modules[0].Image.Path})
	for name, c := range map[string]struct {
		answers map[string][]byte
		want    string
	}{
		"no program":            {map[string][]byte{"?": []byte("W00")}, "no program runs there"},
		"no registers":          {map[string][]byte{"g": []byte("E01")}, `answers "E01" to "g"`},
		"controls in an answer": {map[string][]byte{"?": []byte("\x1b[2J")}, `answers "\x1b[2J" to "?"`},
		"gone":                  {map[string][]byte{"g": nil}, `asked for "g"`},
		"gone before all":       {map[string][]byte{"qSupported": nil}, "EOF"},
		"a description in itself": {map[string][]byte{"qSupported": []byte("qXfer:features:read+"),
			"qXfer:features:read:": []byte(`<target><include href="target.xml"/></target>`)}, ""},
		"a description without an end": {map[string][]byte{"qSupported": []byte("PacketSize=1000;qXfer:features:read+"),
			"qXfer:features:read:": bytes.Repeat([]byte("<a>"), 1000)}, "without an end"},
		"no memory":              {map[string][]byte{"m": []byte("E14")}, ""},
		"gone at the first read": {map[string][]byte{"m": nil}, ""},
	} {
		server := &gdbstub.Server{Snapshot: snap, Answers: c.answers}
		s, err := backsight.OpenRemote(t.Context(), server.Listen(t), input.Env{Files: files}, false)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b") {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		live, err := s.Next(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := backtrace(t, live, nil)
		if len(got.Frames) == 0 {
			t.Errorf("%s: no frame", name)
		}
		r := backsight.Report(t.Context(), live, []backsight.Backtrace{got}, nil)
		said := slices.ContainsFunc(r.Issues, func(i target.Issue) bool { return strings.Contains(i.Text, `asked for "m`) })
		if gone := name == "gone at the first read"; said != gone {
			t.Errorf("%s: %v", name, r.Issues)
		}
		_ = s.Close() // whose errors are those of a server that is gone
	}
}

// TestRemoteKept: a target that is to be kept is not let go.
func TestRemoteKept(t *testing.T) {
	snap := crashed(t)
	server := &gdbstub.Server{Snapshot: snap}
	files := opened(t, input.FileOptions{Exe: snap.Modules[0].Image.Path})
	s, err := backsight.OpenRemote(t.Context(), server.Listen(t), input.Env{Files: files}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if slices.Contains(server.Requests(), "D") {
		t.Error("the target was let go")
	}
}
