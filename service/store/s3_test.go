package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/store/s3test"
)

func openS3(t *testing.T, place string, secret []byte) *S3 {
	t.Helper()
	s, err := OpenS3(t.Context(), place, secret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestS3Kept: what was appended together is one object, of which each body is read alone; another process finds them, encrypted or not.
func TestS3Kept(t *testing.T) {
	server := s3test.For(t, t.TempDir())
	long := strings.Repeat("stack ", 50_000)
	for name, secret := range map[string][]byte{"plain": nil, "sealed": []byte(strings.Repeat("k", keySize))} {
		place := server.URL(name)
		refs, err := openS3(t, place, secret).Append(t.Context(), []Body{body("core"), body(long), body("")})
		if err != nil {
			t.Fatal(err)
		}
		s := openS3(t, place, secret)
		for i, want := range []string{"core", long, ""} {
			r, err := s.Open(refs[i])
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(r); string(b) != want || err != nil || r.Close() != nil {
				t.Errorf("%s, body %d: %d bytes, want %d; %v", name, i, len(b), len(want), err)
			}
		}
		if _, err := s.Open(Ref{Segment: 1, Size: 100}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what nobody appended: %v", err)
		}
	}
}

// TestS3Wrong: a body that is not as long as it says, and a store that is not there, are told apart.
func TestS3Wrong(t *testing.T) {
	server := s3test.For(t, t.TempDir())
	s := openS3(t, server.URL("bodies"), nil)
	lying := body("core")
	lying.Size = 100
	if _, err := s.Append(t.Context(), []Body{lying}); err == nil || errors.Is(err, ErrAway) {
		t.Errorf("a body that is shorter than it says: %v", err)
	}
	if err := server.Halt(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), []Body{body("core")}); !errors.Is(err, ErrAway) {
		t.Errorf("no server: %v", err)
	}
	for _, bad := range []string{"s3://", "s3://host", "s3://host/%zz", "https://host/b"} {
		if _, err := OpenS3(t.Context(), bad, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestS3Compact: of an object of which little lives the rest is moved before it goes; one that was written a moment ago stays.
func TestS3Compact(t *testing.T) {
	dir := t.TempDir()
	server := s3test.For(t, dir)
	s := openS3(t, server.URL("bodies"), nil)
	refs, err := s.Append(t.Context(), []Body{body("goes " + strings.Repeat("x", 1000)), body("stays")})
	if err != nil {
		t.Fatal(err)
	}
	now := refs[1]
	live := func(uint64) (map[Ref]Sum, error) { return map[Ref]Sum{refs[1]: body("stays").Sum}, nil }
	moved := func(m map[Ref]Ref) error { now = m[refs[1]]; return nil }
	if err := s.Compact(t.Context(), live, moved); err != nil || now != refs[1] {
		t.Fatalf("%v: a new object was moved to %v", err, now)
	}
	files, err := filepath.Glob(filepath.Join(dir, "bodies", "bodies", "*"))
	if len(files) != 1 || err != nil {
		t.Fatal(files, err)
	}
	if err := os.Chtimes(files[0], time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context(), live, moved); err != nil || now == refs[1] {
		t.Fatalf("%v: an old object stays", err)
	}
	if _, err := s.Open(refs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old object: %v", err)
	}
	r, err := s.Open(now)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); string(b) != "stays" || err != nil || r.Close() != nil {
		t.Errorf("%q %v", b, err)
	}
}

// TestS3Misbehaves: between client and server stands one that refuses, forgets, cuts short or is late now and then. What Append returns
// for is there; what it does not is an error, and so is what cannot be read.
func TestS3Misbehaves(t *testing.T) {
	proxy := s3test.Before(t, s3test.For(t, t.TempDir()))
	s := openS3(t, proxy.URL("bodies"), nil)
	proxy.Set(s3test.FailOnce)
	refs, err := s.Append(t.Context(), []Body{body("core")})
	if err != nil {
		t.Errorf("one answer of 500: %v", err)
	}
	proxy.Set(s3test.Fail)
	if _, err := s.Open(refs[0]); !errors.Is(err, ErrAway) {
		t.Errorf("reads that are answered 500: %v", err)
	}
	if _, err := s.Append(t.Context(), []Body{body("other")}); !errors.Is(err, ErrAway) {
		t.Errorf("answers of 500 only: %v", err)
	}
	proxy.Set(s3test.Lose)
	if _, err := s.Open(refs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reads of what was lost: %v", err)
	}
	proxy.Set(s3test.Cut)
	if r, err := s.Open(refs[0]); err == nil {
		if b, err := io.ReadAll(r); err == nil {
			t.Errorf("a read that is cut short gives %q", b)
		}
	}
	proxy.Set(s3test.Never)
	short, cancel := context.WithTimeout(t.Context(), 2*s3test.Lateness)
	defer cancel()
	if _, err := s.Append(short, []Body{body("other")}); !errors.Is(err, ErrAway) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
	proxy.Set(s3test.Late)
	if _, err := s.Append(t.Context(), []Body{body("late")}); err != nil {
		t.Errorf("a late answer: %v", err)
	}
	proxy.Set(s3test.None)
	if r, err := s.Open(refs[0]); err != nil || r.Close() != nil {
		t.Errorf("afterwards: %v", err)
	}
}
