package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
	"github.com/klauspost/compress/zstd"
)

// echo is a format whose captures begin with "echo"; its snapshot's command is
// the capture's text, its issue the way the capture broke off.
func echo(stream bool) Format {
	return Format{
		Name:  "echo",
		Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("echo")) },
		Open: func(ctx context.Context, src *Capture, _ *Env) (Stream, error) {
			var data []byte
			var err error
			if stream {
				data, err = io.ReadAll(src.Stream())
			} else {
				data, err = src.Bytes(ctx)
			}
			s := &target.Snapshot{Command: string(data)}
			if err != nil {
				s.Issues = append(s.Issues, target.Issue{Text: err.Error()})
			}
			return one{s}, nil
		},
	}
}

func env(formats ...Format) *Env { return &Env{Formats: formats} }

type one struct{ s *target.Snapshot }

func (o one) Next(context.Context) (*target.Snapshot, error) { return o.s, nil }
func (o one) Close() error                                   { return nil }

func zipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.Bytes()
}

func zstandard(s string) []byte {
	z, _ := zstd.NewWriter(nil)
	return z.EncodeAll([]byte(s), nil)
}

// TestOpenSeesThroughCompression: as a stream and as a whole, by content.
func TestOpenSeesThroughCompression(t *testing.T) {
	text := "echo " + strings.Repeat("text and \x00\x00 more, ", 20_000) + strings.Repeat("\x00", 1<<20) + "end"
	for name, data := range map[string][]byte{"plain": []byte(text), "gzip": zipped(text), "zstd": zstandard(text)} {
		path := place(t, t.TempDir(), "capture", data)
		for _, stream := range []bool{true, false} {
			s, err := env(echo(stream)).Open(context.Background(), path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			snap, _ := s.Next(context.Background())
			if snap.Command != text || len(snap.Issues) > 0 {
				t.Errorf("%s, stream %v: %d bytes of %d, issues %q", name, stream, len(snap.Command), len(text), snap.Issues)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
		}
	}
}

// TestOpenReader: what can be read once only is streamed, or kept in a
// temporary file that Close deletes.
func TestOpenReader(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, data := range [][]byte{[]byte("echo 123"), zipped("echo 123")} {
		for _, stream := range []bool{true, false} {
			s, err := env(echo(stream)).OpenReader(context.Background(), "-", bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if snap, _ := s.Next(context.Background()); snap.Command != "echo 123" || len(snap.Issues) > 0 {
				t.Errorf("%q, issues %q", snap.Command, snap.Issues)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestSpillIsBounded: of a stream that is longer than the bound, what came before is
// there, and the issue says why no more is.
func TestSpillIsBounded(t *testing.T) {
	e := env(echo(false))
	e.MaxSpill = 1000
	for _, text := range []string{"echo" + strings.Repeat("x", 996), "echo" + strings.Repeat("x", 100_000), "echo" + strings.Repeat("\x00", 100_000)} {
		s, err := e.OpenReader(context.Background(), "upload", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Next(context.Background())
		if err != nil || len(snap.Command) != 1000 || !strings.HasPrefix(text, snap.Command) {
			t.Errorf("%d bytes of %d: %v", len(snap.Command), len(text), err)
		}
		if want := "upload: offset 0x3e8: ends here: longer than the bound of 1000 bytes"; len(text) > 1000 && (len(snap.Issues) != 1 || snap.Issues[0].Text != want) {
			t.Errorf("issues %q, want %q", snap.Issues, want)
		} else if len(text) == 1000 && len(snap.Issues) > 0 {
			t.Errorf("issues %q", snap.Issues)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// endless is an upload that never ends; it is cancelled after some reads.
type endless struct {
	reads  int
	cancel func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads == 5000 {
		e.cancel()
	}
	return copy(p, "echo"), nil
}

// TestCancelledUpload: the end of the context ends the copy of a stream.
func TestCancelledUpload(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	up := &endless{cancel: cancel}
	s, err := env(echo(false)).OpenReader(ctx, "upload", up)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, _ := s.Next(context.Background())
	if up.reads != 5000 || len(snap.Issues) != 1 || !strings.HasSuffix(snap.Issues[0].Text, "context canceled") {
		t.Errorf("%d reads, issues %q", up.reads, snap.Issues)
	}
}

// TestTruncatedCompression: what came before the break is there, and the break is an issue, once.
func TestTruncatedCompression(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString("echo" + string(rune('a'+i*i%23)))
	}
	data := zipped(text.String())
	path := place(t, t.TempDir(), "capture", data[:len(data)/2])
	s, err := env(echo(false)).Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := s.Next(context.Background())
	if err := s.Close(); err != nil {
		t.Errorf("the break is said twice: %v", err)
	}
	if n := len(snap.Command); n < 10_000 || !strings.HasPrefix(text.String(), snap.Command) || len(snap.Issues) != 1 {
		t.Errorf("%d bytes, issues %q", n, snap.Issues)
	}
}

// TestRefusedWhereCut: a format finds nothing in the beginning of a capture, and the error says that the
// rest is missing: of a log, the crash report is most often the end.
func TestRefusedWhereCut(t *testing.T) {
	f := echo(false)
	f.Open = func(ctx context.Context, src *Capture, _ *Env) (Stream, error) {
		if _, err := src.Bytes(ctx); err == nil {
			t.Error("the capture is whole")
		}
		return nil, src.Unrecognised("text without a crash report")
	}
	data := zipped("echo" + strings.Repeat("booting\n", 10_000))
	path := place(t, t.TempDir(), "log.gz", data[:len(data)-20])
	_, err := env(f).Open(t.Context(), path)
	var e *Error
	if err == nil || !errors.As(err, &e) || !errors.Is(err, ErrUnrecognised) ||
		!strings.HasPrefix(err.Error(), path+": offset 0x0: text without a crash report; the capture ends at 0x") {
		t.Errorf("%v", err)
	}
}

// TestOpenRefuses: one clear line that names the file and the reason.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ path, want string }{
		{dir, "a directory, no capture"},
		{os.DevNull, "not a regular file"},
		{dir + "/absent", "no such file"},
		{place(t, dir, "empty", nil), "empty file"},
		{place(t, dir, "emptygz", zipped("")), "empty file"},
		{place(t, dir, "badgz", []byte("\x1f\x8b garbage")), "damaged compression"},
		{place(t, dir, "badzst", []byte("\x28\xb5\x2f\xfd garbage")), "damaged compression"},
		{place(t, dir, "lfs", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")), "a pointer of Git LFS, not the file: git lfs pull"},
		{place(t, dir, "other", []byte("something else")), "not a known capture format"},
	} {
		s, err := env(echo(false)).Open(context.Background(), tt.path)
		var e *Error
		if s != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), tt.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", tt.path, err, tt.want)
		}
	}
}

// TestNoSize: /proc and tracefs tell 0 for the size of files that have text all the same.
func TestNoSize(t *testing.T) {
	const path = "/proc/self/status"
	if st, err := os.Stat(path); err != nil || st.Size() != 0 {
		t.Skip(path, "is not here")
	}
	if _, err := env(echo(false)).Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not a known capture format") {
		t.Errorf("%v", err)
	}
}

// TestUnmapped: a file that cannot be mapped is read where a format asks for it, and is of no use to
// formats that want all of it. /proc has such files.
func TestUnmapped(t *testing.T) {
	const path = "/proc/self/status"
	if _, err := os.Stat(path); err != nil {
		t.Skip(path, "is not here")
	}
	c, err := openUnmapped(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	line := make([]byte, 5)
	if _, err := c.ReaderAt().ReadAt(line, 0); err != nil || string(line) != "Name:" || string(c.Head[:5]) != "Name:" {
		t.Errorf("read %q, head %q, %v", line, c.Head[:5], err)
	}
	if data, err := c.Bytes(t.Context()); data != nil || err == nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if NewCapture("x", nil).ReaderAt() != nil {
		t.Error("bytes in memory are a file")
	}
}
