package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/store/s3test"
)

// opened is a service of flags, and where it is.
func opened(t *testing.T, flags ...string) (*service, *httptest.Server) {
	t.Helper()
	c, _, err := parse("serve", flags, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s, httptest.NewServer(s.handler(http.NotFoundHandler()))
}

// TestMigrate: what one machine has goes to PostgreSQL and S3, although the move is broken off again and again; the same key then sends to a
// node, which knows the group, finds the capture's words, has its binary, and does what was waiting.
func TestMigrate(t *testing.T) {
	postgres, objects := dbtest.For(t), s3test.For(t, t.TempDir())
	dir := t.TempDir()
	s, h := opened(t, "--data", dir, "--workers", "1")
	put(t, h.URL+"/api/v1/captures?device=box", s.key.Key, "x86_64-threads/core.gz")
	put(t, h.URL+"/api/v1/binaries?file=server", s.key.Key, "x86_64-threads/modules/usr/bin/server")
	s.eventually(t, 1, "SELECT count(*) FROM results")
	s.eventually(t, 0, "SELECT count(*) FROM river_job WHERE state IN ('available', 'running')")
	h.Close()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s, h = opened(t, "--data", dir, "--workers", "0")
	put(t, h.URL+"/api/v1/captures?device=other", s.key.Key, "x86_64-threads/core.gz")
	h.Close()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	shared := []string{"--database", postgres.URL("postgres"), "--store", objects.URL("crashes")}
	move := func(ctx context.Context) error {
		return run(ctx, append([]string{"migrate", "--data", dir}, shared...), io.Discard, io.Discard)
	}
	for patience := 20 * time.Millisecond; patience < 400*time.Millisecond; patience += 60 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_ = move(ctx) // it is broken off
		cancel()
	}
	for range 2 { // the second time there is nothing to do
		if err := move(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s, h = opened(t, append(shared, "--data", t.TempDir(), "--workers", "1")...)
	defer func() {
		h.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	s.eventually(t, 2, "SELECT count(*) FROM results")
	s.eventually(t, 1, "SELECT count(*) FROM groups WHERE count = 2")
	s.eventually(t, 0, "SELECT count(*) FROM missing WHERE name = 'server'")
	s.eventually(t, 2, "SELECT count(*) FROM search WHERE "+s.db.Matching([]db.Phrase{{Column: "modules", Text: "server"}},
		func(v any) string { return "'" + strings.ReplaceAll(v.(string), "'", "''") + "'" }))
	put(t, h.URL+"/api/v1/captures?device=third", s.key.Key, "x86_64-threads/core.gz")
	s.eventually(t, 3, "SELECT count(*) FROM results")
	s.eventually(t, 1, "SELECT count(*) FROM blobs")
}

// TestMigrateTaken: a database that is in use is not moved to.
func TestMigrateTaken(t *testing.T) {
	postgres, objects := dbtest.For(t), s3test.For(t, t.TempDir())
	shared := []string{"--database", postgres.URL("postgres"), "--store", objects.URL("crashes")}
	s, h := opened(t, append(shared, "--data", t.TempDir(), "--workers", "0")...)
	put(t, h.URL+"/api/v1/captures?device=box", s.key.Key, "x86_64-threads/core.gz")
	h.Close()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), append([]string{"migrate", "--data", t.TempDir()}, shared...), io.Discard, io.Discard); err == nil {
		t.Error("two services were made one")
	}
}
