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
		Open: func(_ context.Context, src *Source, _ *Env) (Stream, error) {
			var data []byte
			var err error
			if stream {
				data, err = io.ReadAll(src.Stream())
			} else {
				data, err = src.Bytes()
			}
			s := &target.Snapshot{Command: string(data)}
			if err != nil {
				s.Issues = append(s.Issues, err.Error())
			}
			return one{s}, nil
		},
	}
}

type one struct{ s *target.Snapshot }

func (o one) Next() (*target.Snapshot, error) { return o.s, nil }
func (o one) Close() error                    { return nil }

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
			s, err := Open(context.Background(), path, []Format{echo(stream)}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			snap, _ := s.Next()
			if snap.Command != text || len(snap.Issues) > 0 {
				t.Errorf("%s, stream %v: %d bytes of %d, issues %q", name, stream, len(snap.Command), len(text), snap.Issues)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
		}
	}
}

// TestStandardInput: what can be read once only is streamed, or kept in a
// temporary file that Close deletes.
func TestStandardInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, data := range [][]byte{[]byte("echo 123"), zipped("echo 123")} {
		for _, stream := range []bool{true, false} {
			src, err := newStream("-", bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			s, err := dispatch(context.Background(), src, []Format{echo(stream)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if snap, _ := s.Next(); snap.Command != "echo 123" || len(snap.Issues) > 0 {
				t.Errorf("%q, issues %q", snap.Command, snap.Issues)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestTruncatedCompression: what came before the break is there.
func TestTruncatedCompression(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		text.WriteString("echo" + string(rune('a'+i*i%23)))
	}
	data := zipped(text.String())
	path := place(t, t.TempDir(), "capture", data[:len(data)/2])
	s, err := Open(context.Background(), path, []Format{echo(false)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	snap, _ := s.Next()
	if n := len(snap.Command); n < 10_000 || !strings.HasPrefix(text.String(), snap.Command) || len(snap.Issues) != 1 {
		t.Errorf("%d bytes, issues %q", n, snap.Issues)
	}
}

// TestOpenRefuses: one clear line that names the file and the reason.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ path, want string }{
		{dir, "not a regular file"},
		{os.DevNull, "not a regular file"},
		{dir + "/absent", "no such file"},
		{place(t, dir, "empty", nil), "empty file"},
		{place(t, dir, "emptygz", zipped("")), "empty file"},
		{place(t, dir, "badgz", []byte("\x1f\x8b garbage")), "damaged compression"},
		{place(t, dir, "badzst", []byte("\x28\xb5\x2f\xfd garbage")), "damaged compression"},
		{place(t, dir, "other", []byte("something else")), "not a known capture format"},
	} {
		s, err := Open(context.Background(), tt.path, []Format{echo(false)}, nil)
		var e *Error
		if s != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), tt.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", tt.path, err, tt.want)
		}
	}
}
