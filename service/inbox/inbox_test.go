package inbox_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/store"
)

// jobs is a queue that keeps the numbers in a table, so that they are of the transaction.
type jobs struct{ err error }

func (q *jobs) Insert(ctx context.Context, tx *sql.Tx, captures []int64) error {
	for _, id := range captures {
		if _, err := tx.Exec("INSERT INTO jobs VALUES ($1)", id); err != nil {
			return err
		}
	}
	return q.err
}

type bench struct {
	*inbox.Inbox
	db    *db.DB
	store store.Store
	queue *jobs
}

func newBench(t *testing.T, reserve int64) *bench {
	t.Helper()
	dir := t.TempDir()
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenDisk(filepath.Join(dir, "bodies"), store.Options{Reserve: reserve})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"CREATE TABLE jobs (id INTEGER)", "INSERT INTO projects (id, name, created) VALUES (1, 'p', 0)",
		"INSERT INTO groups (id, project_id, signature, title, first_seen, last_seen) VALUES (5, 1, 'stable:1', 't', 0, 0)"} {
		if _, err := d.Write.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	b := &bench{db: d, store: s, queue: &jobs{}}
	b.Inbox = inbox.New(d, s, b.queue)
	t.Cleanup(func() { b.Close(); _ = s.Close(); _ = d.Close() })
	return b
}

func arrival(device, text string) *inbox.Arrival {
	return &inbox.Arrival{Key: inbox.Key{Key: "k", Project: 1}, Kind: "upload", Device: device, Size: int64(len(text)),
		Body: store.Body{Sum: sha256.Sum256([]byte(text)), Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}}
}

func (b *bench) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := b.db.Read.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(query, err)
	}
	return n
}

// TestOnce: equal bodies are kept once; the same device's is the same capture, with the same name; another's is another one.
func TestOnce(t *testing.T) {
	b := newBench(t, 0)
	var names []string
	for _, device := range []string{"one", "one", "two"} {
		name, err := b.Add(arrival(device, "core"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if names[0] != names[1] || names[1] == names[2] || len(names[0]) != 32 {
		t.Errorf("names %q", names)
	}
	if captures, jobs, blobs := b.count(t, "SELECT count(*) FROM captures"), b.count(t, "SELECT count(*) FROM jobs"), b.count(t, "SELECT count(*) FROM blobs"); captures != 2 || jobs != 2 || blobs != 1 {
		t.Errorf("%d captures, %d jobs, %d bodies; want 2, 2, 1", captures, jobs, blobs)
	}
}

// TestTogether: many senders at once, of equal and of different bodies; each has its row, its job and its body.
func TestTogether(t *testing.T) {
	b := newBench(t, 0)
	const senders = 300
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			if _, err := b.Add(arrival(fmt.Sprint("device", i), fmt.Sprint("body", i/2))); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := b.Count([]groups.Count{{Project: 1, Group: 5, Signature: "stable:1", Device: fmt.Sprint("device", i/3), Version: "1"}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for query, want := range map[string]int{
		"SELECT count(*) FROM captures":                    senders,
		"SELECT count(*) FROM jobs":                        senders,
		"SELECT count(*) FROM blobs":                       senders / 2,
		"SELECT captures FROM usage WHERE key = 'k'":       senders,
		"SELECT count FROM groups WHERE id = 5":            senders,
		"SELECT devices FROM groups WHERE id = 5":          senders / 3,
		"SELECT sum(count) FROM group_counts":              senders,
		"SELECT sum(count) FROM group_devices":             senders,
		"SELECT count(*) FROM groups WHERE last_seen <> 0": 1,
	} {
		if n := b.count(t, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}

// TestFull: nothing of what was refused is there.
func TestFull(t *testing.T) {
	b := newBench(t, 1<<60)
	if _, err := b.Add(arrival("d", "core")); !errors.Is(err, store.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 0 {
		t.Errorf("%d captures of what was refused", n)
	}
}

// TestNotHalf: a job that cannot be made leaves no capture, and one sender's broken body no harm to the others.
func TestNotHalf(t *testing.T) {
	b := newBench(t, 0)
	b.queue.err = errors.New("no queue")
	if _, err := b.Add(arrival("d", "core")); err == nil {
		t.Error("a capture without a job")
	}
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 0 {
		t.Errorf("%d captures without a job", n)
	}
	b.queue.err = nil
	bad := arrival("bad", "body")
	bad.Body.Size = 100
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := b.Add(arrival("d", fmt.Sprint("core", i))); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := b.Add(bad); err == nil {
		t.Error("a body shorter than it says was taken")
	}
	all.Wait()
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 20 {
		t.Errorf("%d captures, want 20", n)
	}
}
