package retention_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/retention"
	"github.com/backsight/backsight/service/store"
)

type bench struct {
	*db.DB
	store *store.Disk
	dir   string
}

func newBench(t *testing.T, keep string) *bench {
	t.Helper()
	dir := t.TempDir()
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenDisk(filepath.Join(dir, "bodies"), store.Options{SegmentSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = d.Close() })
	b := &bench{d, s, dir}
	b.exec(t, "INSERT INTO projects (id, name, created, "+keep+") VALUES (1, 'p', 0, 10)")
	b.exec(t, "INSERT INTO groups (id, project_id, signature, title, count, kept, first_seen, last_seen) VALUES (1, 1, 's', 't', 9, 30, 0, 0)")
	return b
}

func (b *bench) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := b.Write.Exec(query, args...); err != nil {
		t.Fatal(query, err)
	}
}

func (b *bench) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := b.Read.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(query, err)
	}
	return n
}

// add has a capture of a number, received so many days ago.
func (b *bench) add(t *testing.T, id int, now time.Time, days int) {
	t.Helper()
	text := strings.Repeat(fmt.Sprint(id), 100)
	sum := sha256.Sum256([]byte(text))
	refs, err := b.store.Append(t.Context(), []store.Body{{Sum: sum, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}})
	if err != nil {
		t.Fatal(err)
	}
	b.exec(t, "INSERT INTO blobs (sha256, ref, size, stored, packing, created) VALUES ($1, $2, 100, 100, '', 0)", sum[:], refs[0].String())
	b.exec(t, "INSERT INTO captures (id, name, uniq, project_id, sha256, size, kind, received, status) VALUES ($1, $2, $3, 1, $4, 100, 'upload', $5, 'done')",
		id, fmt.Sprint(id), []byte{byte(id)}, sum[:], db.Milli(now.AddDate(0, 0, -days)))
	b.exec(t, "INSERT INTO results (capture_id, group_id, engine, created, status, report) VALUES ($1, 1, 'e', 0, 'OK', 'r')", id)
}

// TestAge: what is too old goes with its result; the group's count stays.
func TestAge(t *testing.T) {
	b, now := newBench(t, "keep_days"), time.Now()
	b.add(t, 1, now, 11)
	b.add(t, 2, now, 9)
	if err := retention.Expire(t.Context(), b.DB, now); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"SELECT group_concat('' || id) FROM captures": 2, "SELECT count(*) FROM results": 1, "SELECT count(*) FROM blobs": 1, "SELECT count FROM groups": 9} {
		if n := b.count(t, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}

// TestSize: of what is too much the oldest bodies go; rows of results stay.
func TestSize(t *testing.T) {
	b, now := newBench(t, "keep_bytes"), time.Now()
	for id := 1; id <= 30; id++ {
		b.add(t, id, now, 40-id)
	}
	b.exec(t, "UPDATE projects SET keep_bytes = 500")
	if err := retention.Expire(t.Context(), b.DB, now); err != nil {
		t.Fatal(err)
	}
	if n := b.count(t, "SELECT count(*) FROM results"); n != 30 {
		t.Errorf("%d results", n)
	}
	if size := b.count(t, "SELECT sum(stored) FROM blobs"); size > 500 {
		t.Errorf("%d bytes", size)
	}
	if kept := b.count(t, "SELECT count(*) FROM captures WHERE kept = 1"); kept != b.count(t, "SELECT kept FROM groups") {
		t.Errorf("%d bodies are kept; the group says otherwise", kept)
	}
	if b.count(t, "SELECT kept FROM captures WHERE id = 1") != 0 || b.count(t, "SELECT count(*) FROM results WHERE report IS NULL AND capture_id = 1") != 1 {
		t.Error("the oldest is kept")
	}
}

// TestCompact: segments that nobody keeps go, and the bodies that stay are read as before.
func TestCompact(t *testing.T) {
	b, now := newBench(t, "keep_days"), time.Now()
	for id := 1; id <= 8; id++ {
		b.add(t, id, now, id*2)
	}
	if err := retention.Expire(t.Context(), b.DB, now); err != nil {
		t.Fatal(err)
	}
	before, err := b.store.Size()
	if err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(b.dir, "bodies", "segment-*"))
	if err != nil || len(segments) < 3 {
		t.Fatal(segments, err)
	}
	for _, path := range segments {
		if err := os.Chtimes(path, now.Add(-time.Hour), now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := retention.Compact(t.Context(), b.DB, b.store); err != nil {
		t.Fatal(err)
	}
	if after, err := b.store.Size(); err != nil || after >= before {
		t.Errorf("%d bytes, %d before (%v)", after, before, err)
	}
	var at string
	if err := b.Read.QueryRow("SELECT ref FROM blobs ORDER BY ref LIMIT 1").Scan(&at); err != nil {
		t.Fatal(err)
	}
	ref, err := store.ParseRef(at)
	if err != nil {
		t.Fatal(err)
	}
	body, err := b.store.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); len(text) != 100 || err != nil {
		t.Errorf("%q %v", text, err)
	}
}
