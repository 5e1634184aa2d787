package store

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// TestS3Misbehaves: between client and server stands one that refuses, forgets or cuts short now and then. What Append returns for
// is there; what it does not is an error.
func TestS3Misbehaves(t *testing.T) {
	server := s3test.For(t, t.TempDir())
	var bad atomic.Pointer[string]
	none := ""
	bad.Store(&none)
	proxy := misbehaving(t, server.Address(), &bad)
	s := openS3(t, s3test.URL(strings.TrimPrefix(proxy.URL, "http://"), "bodies"), nil)
	set := func(what string) { bad.Store(&what) }
	set("500 once")
	refs, err := s.Append(t.Context(), []Body{body("core")})
	if err != nil {
		t.Errorf("one answer of 500: %v", err)
	}
	for _, how := range []string{"500", "404"} {
		set(how)
		if _, err := s.Open(refs[0]); err == nil {
			t.Errorf("reads that are answered %s", how)
		}
	}
	set("500")
	if _, err := s.Append(t.Context(), []Body{body("other")}); !errors.Is(err, ErrAway) {
		t.Errorf("answers of 500 only: %v", err)
	}
	set("cut")
	if r, err := s.Open(refs[0]); err == nil {
		if b, err := io.ReadAll(r); err == nil {
			t.Errorf("a read that is cut short gives %q", b)
		}
	}
	set("")
	if r, err := s.Open(refs[0]); err != nil || r.Close() != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// misbehaving is a proxy that does what a text says: answers 500 or 404, for once, cuts answers short.
func misbehaving(t *testing.T, address string, bad *atomic.Pointer[string]) *httptest.Server {
	none := ""
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host // the signature is of the name that was asked
	}}
	through.ModifyResponse = func(r *http.Response) error {
		if *bad.Load() == "cut" && r.Request.Method == http.MethodGet {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), failing{}), r.Body}
		}
		return nil
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // what ReverseProxy cuts an answer short by
		switch *bad.Load() {
		case "500 once":
			bad.Store(&none)
			http.Error(w, "", http.StatusInternalServerError)
		case "500":
			http.Error(w, "", http.StatusInternalServerError)
		case "404":
			w.WriteHeader(http.StatusNotFound)
		default:
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy
}

// failing is a connection that ends.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
