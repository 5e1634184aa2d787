package db_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/service/db"
)

func open(t *testing.T, path string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func count(t *testing.T, d *db.DB, query string) (n int) {
	t.Helper()
	if err := d.Read.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const project = "INSERT INTO projects (name, created) VALUES ($1, 0)"

// TestOneProcess: two on one file starve each other's workers.
func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?.db")
	d := open(t, path)
	if _, err := db.Open(t.Context(), path); !errors.Is(err, db.ErrBusy) {
		t.Errorf("a second opening: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

func TestDurability(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "busy_timeout": "10000", "foreign_keys": "1"} {
		var got string
		if err := d.Write.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", pragma, got, err, want)
		}
	}
}

func TestTx(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	stop := errors.New("stop")
	err := d.Tx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec(project, "half"); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) || count(t, d, "SELECT count(*) FROM projects") != 0 {
		t.Errorf("%v: an undone transaction left something", err)
	}
	if _, err := d.Read.Exec(project, "by a reader"); err == nil {
		t.Error("a reader writes")
	}
}

// TestCopy restores a copy that was made while another connection wrote.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, "x.db"))
	write := func(name string) {
		if err := d.Tx(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec(project, name); return err }); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	copied := filepath.Join(dir, "copy.db")
	if err := db.Copy(t.Context(), filepath.Join(dir, "x.db"), copied); err != nil {
		t.Fatal(err)
	}
	write("after")
	if n := count(t, open(t, copied), "SELECT count(*) FROM projects"); n != 1 {
		t.Errorf("the copy has %d projects, want 1", n)
	}
}

// TestSearch: a function's name is one word, and a capture's words can go.
func TestSearch(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	for _, s := range []string{
		"INSERT INTO search (rowid, functions, log) VALUES (7, 'net::Socket::read on_packet', 'watchdog bit')",
		"INSERT INTO search (rowid, functions) VALUES (8, 'on_packet')",
		"DELETE FROM search WHERE rowid = 8",
	} {
		if _, err := d.Write.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
	for query, want := range map[string]int{`functions:"net::Socket::read"`: 1, "on_packet": 1, "packet": 0, "log:watchdog": 1} {
		var n int
		if err := d.Read.QueryRow("SELECT count(*) FROM search WHERE search MATCH $1", query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d (%v), want %d", query, n, err, want)
		}
	}
}
