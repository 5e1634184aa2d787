package main

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/store/s3test"
)

// contents are the digests of all tables of a database.
func contents(t *testing.T, url string) map[string]string {
	t.Helper()
	d, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows, err := d.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		all[table] = ""
	}
	for table := range all {
		var sum string
		if err := d.QueryRow(fmt.Sprintf("SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') FROM %s t", table)).Scan(&sum); err != nil {
			t.Fatal(table, err)
		}
		all[table] = sum
	}
	return all
}

// TestRestore: by README's "Backup", all tables are equal afterwards, and a node of the copies gives each body.
func TestRestore(t *testing.T) {
	objects := t.TempDir()
	postgres, server := dbtest.For(t), s3test.For(t, objects)
	s, h := opened(t, "--data", t.TempDir(), "--workers", "1", "--database", postgres.URL("postgres"), "--store", server.URL("crashes"))
	put(t, h.URL+"/api/v1/captures?device=box", s.key.Key, "x86_64-threads/core.gz")
	put(t, h.URL+"/api/v1/captures?device=box", s.key.Key, "mips-deref/core.gz")
	s.eventually(t, 2, "SELECT count(*) FROM results")
	s.eventually(t, 0, "SELECT count(*) FROM river_job WHERE state IN ('available', 'running')")
	if err := postgres.Run("pg_dump", "-Fc", "-f", "dump", postgres.URL("postgres")); err != nil { // while it is served
		t.Fatal(err)
	}
	h.Close()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	was := contents(t, postgres.URL("postgres"))
	if err := postgres.Run("createdb", "--maintenance-db", postgres.URL("postgres"), "restored"); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Run("pg_restore", "-d", postgres.URL("restored"), "dump"); err != nil {
		t.Fatal(err)
	}
	now := contents(t, postgres.URL("restored"))
	for table, sum := range was {
		if now[table] != sum && table != "river_leader" && table != "nodes" { // who leads and who lives goes on while it is copied
			t.Errorf("%s: %s, was %s", table, now[table], sum)
		}
	}
	if err := os.CopyFS(filepath.Join(objects, "restored"), os.DirFS(filepath.Join(objects, "crashes"))); err != nil {
		t.Fatal(err)
	}
	s, h = opened(t, "--data", t.TempDir(), "--workers", "0", "--database", postgres.URL("restored"), "--store", server.URL("restored"))
	defer func() {
		h.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	for capture := range int64(2) {
		body, err := s.workers.Body(t.Context(), capture+1)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); n < 1000 || err != nil || body.Close() != nil {
			t.Errorf("capture %d: %d bytes, %v", capture+1, n, err)
		}
	}
}
