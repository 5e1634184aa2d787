package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

const testdata = "../../testdata/mips-deref/"

// role, set in the environment, has the test's binary be one of the processes that read: this program, or
// one that never ends.
const role = "CRASHSERVICE_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "read":
		main()
	case "hang":
		time.Sleep(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

// small are limits that a test reaches soon.
func small() limits {
	return limits{parallel: 1, queue: 3, uploads: 30, memory: 96, upload: 1, unpacked: 1 << 10,
		time: time.Minute, transfer: time.Minute, silence: time.Minute}
}

// start serves with processes of a role.
func start(t *testing.T, l limits, as string) (s *service, address string) {
	t.Helper()
	t.Setenv(role, as)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s = newService(l, self, l.reader(testdata+"modules")...)
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.server()
	server.Start()
	t.Cleanup(server.Close)
	return s, server.Listener.Addr().String()
}

// post uploads a core until ctx ends.
func post(ctx context.Context, address string, core []byte) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", bytes.NewReader(core))
	if err != nil {
		return 0, "", err
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	return w.StatusCode, string(body), err
}

// refused posts a core that is answered with a status and a text.
func refused(t *testing.T, address string, core []byte, status int, text string) {
	t.Helper()
	got, answer, err := post(t.Context(), address, core)
	if err != nil || got != status || !strings.Contains(answer, text) {
		t.Errorf("status %d, want %d, %q: %s%v", got, status, text, answer, err)
	}
}

// answered posts the core of testdata, as curl sends it.
func answered(t *testing.T, address string) {
	t.Helper()
	core, err := os.ReadFile(testdata + "core.gz")
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := post(t.Context(), address, core)
	if err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, answer)
	}
	var c crash
	if err := json.Unmarshal([]byte(answer), &c); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if c.Signal != "SIGSEGV" || len(c.Frames) != 12 || c.Frames[0].Function != "pack" || !c.Frames[0].Sure {
		t.Errorf("%+v", c)
	}
}

// await waits until so many uploads have a place.
func (s *service) await(t *testing.T, n int) {
	t.Helper()
	for range 3000 {
		if len(s.places) == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d uploads have a place, want %d", len(s.places), n)
}

// TestUpload: a core file is answered with the crash.
func TestUpload(t *testing.T) {
	_, address := start(t, small(), "read")
	answered(t, address)
}

// TestNoCore: what is no core file is refused with the reason, and so is more than one may send.
func TestNoCore(t *testing.T) {
	_, address := start(t, small(), "read")
	for _, body := range []string{"", "hello", "\x7fELF", "\x1f\x8b"} {
		refused(t, address, []byte(body), http.StatusUnprocessableEntity, "core: ")
	}
	refused(t, address, make([]byte, 1<<20+1), http.StatusRequestEntityTooLarge, "core: more than 1 MiB")
}

// TestBombs: uploads that unpack to a thousand times their size cost the process that reads them the memory that it
// may have at most, and the next core is answered. A console's text is read in portions.
func TestBombs(t *testing.T) {
	_, address := start(t, small(), "read")
	for _, c := range []struct{ begin, piece, why string }{
		{"boot\n", "\n", "text without a crash report"},
		{`{"arch":"mips-be","threads":[{}`, ",{}", "takes more than 96 MiB of memory"},
	} {
		refused(t, address, bomb(c.begin, c.piece, 512), http.StatusUnprocessableEntity, c.why)
		answered(t, address)
	}
}

// bomb is gzip of some text and a piece that repeats for some MiB.
func bomb(begin, piece string, size int) []byte {
	member := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.WriteString(w, text) // to memory
		_ = w.Close()
		return b.Bytes()
	}
	return append(member(begin), bytes.Repeat(member(strings.Repeat(piece, 1<<20/len(piece))), size)...)
}

// TestIdle: clients that begin an upload and go on with nothing, as those that send no request at all, lose their
// connection; meanwhile others are answered.
func TestIdle(t *testing.T) {
	l := small()
	l.silence = 2 * time.Second
	_, address := start(t, l, "read")
	for i := range 40 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n\x7fELF")
		}
		defer func() {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.ReadAll(c); err != nil && os.IsTimeout(err) {
				t.Errorf("client %d still has a connection", i)
			}
		}()
	}
	answered(t, address) // meanwhile
}

// TestClientGone: with the client goes the process that reads its core, and the core that waits is no more read.
func TestClientGone(t *testing.T) {
	s, address := start(t, small(), "hang")
	ctx, leave := context.WithCancel(t.Context())
	for range 2 {
		go post(ctx, address, []byte("core"))
	}
	s.await(t, 2)
	leave()
	s.await(t, 0) // ServeHTTP returns once the process has ended
}

// TestTime: a process that does not end is ended.
func TestTime(t *testing.T) {
	l := small()
	l.time = 50 * time.Millisecond
	_, address := start(t, l, "hang")
	refused(t, address, []byte("core"), http.StatusUnprocessableEntity, "core: to read it takes more than 50ms")
}

// TestFull: who finds no place is told when to come again, and keeps none of the places that there are.
func TestFull(t *testing.T) {
	s, address := start(t, small(), "hang")
	ctx, leave := context.WithCancel(t.Context())
	for range cap(s.places) {
		go post(ctx, address, []byte("core"))
	}
	s.await(t, cap(s.places))
	w, err := http.Post("http://"+address+"/", "", strings.NewReader("core"))
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.StatusCode, w.Header)
	}
	leave()
	s.await(t, 0)
}
