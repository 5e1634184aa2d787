package intake_test

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/intake"
	"github.com/backsight/backsight/service/store"
)

// wire stands between the service and PostgreSQL, and lets through what it is told to.
type wire struct {
	net.Listener
	mu    sync.Mutex
	delay time.Duration
	cut   bool
	open  []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	t.Cleanup(func() { _ = l.Close(); w.set(0, true) })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(from, to)
		}
	}()
	return w
}

// set has what passes wait, or no connection live.
func (w *wire) set(delay time.Duration, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay, w.cut = delay, cut
	if cut {
		for _, c := range w.open {
			_ = c.Close()
		}
		w.open = nil
	}
}

func (w *wire) join(from net.Conn, address string) {
	to, err := net.Dial("tcp", address)
	w.mu.Lock()
	if err != nil || w.cut {
		_ = from.Close()
		w.mu.Unlock()
		return
	}
	w.open = append(w.open, from, to)
	w.mu.Unlock()
	go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		delay := w.delay
		w.mu.Unlock()
		time.Sleep(delay)
		if _, wrote := to.Write(buffer[:n]); err != nil || wrote != nil {
			_ = to.Close()
			return
		}
	}
}

type noJobs struct{}

func (noJobs) Insert(ctx context.Context, _ *sql.Tx, _ []int64) error { return ctx.Err() }

func halt(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAway: while PostgreSQL is slow, cut off, without a connection left or read only, a sender is answered 201 in time, or 503 and
// when to come again; afterwards all is as before, and what was acknowledged is there once.
func TestAway(t *testing.T) {
	if dbtest.Postgres() {
		return // it has a server of its own, and has run
	}
	server := dbtest.For(t)
	straight, err := url.Parse(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, straight.Host)
	admin, err := sql.Open("pgx", straight.String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	exec := func(s string) {
		if _, err := admin.Exec(s); err != nil {
			if _, err = admin.Exec(s); err != nil { // the connection had ended
				t.Fatal(s, err)
			}
		}
	}
	exec("CREATE ROLE service LOGIN")
	exec("GRANT ALL ON SCHEMA public TO service")
	through := *straight
	through.Host, through.User = w.Addr().String(), url.User("service")
	d, err := db.Open(t.Context(), through.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, s := range []string{"INSERT INTO projects (name, created) VALUES ('p', 0)", "INSERT INTO keys (key, project_id, created) VALUES ('k', 1, 0)"} {
		if _, err := d.Write.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := store.OpenDisk(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := inbox.New(d, disk, noJobs{})
	defer in.Close()
	h := httptest.NewServer((&intake.Server{DB: d, Inbox: in, Spools: intake.NewSpools(t.TempDir(), 1<<20, 1<<20, 1<<20), Keys: intake.NewKeys(d),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}).Handler())
	defer h.Close()
	acked := 0
	put := func(text string) int {
		resp, err := http.Post(h.URL+"/api/v1/captures?key=k", "", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // its status is all
		if resp.StatusCode == http.StatusCreated {
			acked++
		} else if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q", text, resp.Status, resp.Header.Get("Retry-After"))
		}
		return resp.StatusCode
	}
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'backsightd'"
	for _, c := range []struct {
		name     string
		do, undo func()
		want     int
	}{
		{"slow", func() { w.set(20*time.Millisecond, false) }, func() { w.set(0, false) }, http.StatusCreated},
		{"cut off", func() { w.set(0, true) }, func() { w.set(0, false) }, http.StatusServiceUnavailable},
		{"connections that end", func() { exec(end) }, func() {}, 0},
		{"no connection left", func() { exec("ALTER ROLE service CONNECTION LIMIT 0"); exec(end) },
			func() { exec("ALTER ROLE service CONNECTION LIMIT -1") }, http.StatusServiceUnavailable},
		{"read only", func() { exec("ALTER ROLE service SET default_transaction_read_only = on"); exec(end) },
			func() { exec("ALTER ROLE service RESET default_transaction_read_only"); exec(end) }, http.StatusServiceUnavailable},
		{"crashed", func() { halt(t, server.Halt("immediate")) }, func() { halt(t, server.Begin()) }, http.StatusServiceUnavailable},
	} {
		c.do()
		if got := put(c.name); c.want != 0 && got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		c.undo()
		for late := time.Now().Add(10 * time.Second); put(c.name+", afterwards") != http.StatusCreated; {
			if time.Now().After(late) {
				t.Fatalf("%s: it does not come back", c.name)
			}
		}
	}
	var n int
	exec("SELECT 1")
	if err := admin.QueryRow("SELECT count(*) FROM captures").Scan(&n); err != nil || n < acked {
		t.Errorf("%d captures of %d that were acknowledged; %v", n, acked, err)
	}
}
