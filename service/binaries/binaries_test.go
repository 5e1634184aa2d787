package binaries_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/testdata"
)

func newFolder(t *testing.T, came func(build string)) *binaries.Folder {
	t.Helper()
	dir := t.TempDir()
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return &binaries.Folder{DB: d, Dir: child.Binaries{Dir: filepath.Join(dir, "binaries")}, Most: 1 << 20,
		Came: func(_ context.Context, _ *sql.Tx, build string) (int, error) { came(build); return 0, nil }}
}

// TestAdd: an executable is found by its build ID, as it came and packed; who waits for it is told.
func TestAdd(t *testing.T) {
	server, err := testdata.Demo.ReadFile("x86_64-threads/modules/usr/bin/server")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := packing.Pack(server)
	if err != nil {
		t.Fatal(err)
	}
	var came []string
	f := newFolder(t, func(build string) { came = append(came, build) })
	for _, body := range [][]byte{server, packed} {
		ids, err := f.Add(t.Context(), "../../server", "", bytes.NewReader(body))
		if err != nil || len(ids) != 1 || came[len(came)-1] != ids[0] {
			t.Fatal(ids, came, err)
		}
		if got, err := os.ReadFile(f.Dir.Path(ids[0], "executable")); err != nil || !bytes.Equal(got, server) {
			t.Errorf("another file (%v)", err)
		}
	}
	if _, err := f.Add(t.Context(), "", "abcd", bytes.NewReader(server)); !errors.Is(err, binaries.ErrOther) {
		t.Errorf("another build ID: %v", err)
	}
	var name string
	if err := f.DB.Read.QueryRow("SELECT name FROM binaries").Scan(&name); err != nil || name != "server" {
		t.Errorf("%q %v", name, err)
	}
}

// TestNone: what is no binary leaves nothing.
func TestNone(t *testing.T) {
	f := newFolder(t, func(string) { t.Error("something came") })
	for what, body := range map[string]string{"text": "hello", "empty": "", "cut": "\x7fELF", "symbols": "MODULE Linux\n", "packed": "\x28\xb5\x2f\xfdx"} {
		if _, err := f.Add(t.Context(), "x", "", strings.NewReader(body)); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	long := "MODULE Linux arm 4D0B0C9158B833BE5F953CC7943BF0500 " + strings.Repeat("a", 300) + "\n"
	if _, err := f.Add(t.Context(), "x", "", strings.NewReader(long)); !errors.Is(err, binaries.ErrNone) {
		t.Errorf("a name that no folder takes: %v", err)
	}
	if _, err := f.Add(t.Context(), "x", "", strings.NewReader(strings.Repeat("x", 2<<20))); !errors.Is(err, packing.ErrLarge) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(f.Dir.Dir); len(left) != 0 || err != nil {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestServers: what captures wait for is asked of each server until one has it, once a day, and must be what was asked for.
func TestServers(t *testing.T) {
	server, err := testdata.Demo.ReadFile("x86_64-threads/modules/usr/bin/server")
	if err != nil {
		t.Fatal(err)
	}
	const id = "38413766321f75e0b9e0f5a2a45cece7ebb94e51"
	var came, asked []string
	f := newFolder(t, func(build string) { came = append(came, build) })
	has := func(name string, found ...string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, name+r.URL.Path)
			if !slices.Contains(found, r.URL.Path) {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(server)
		}))
		t.Cleanup(s.Close)
		return s
	}
	first := has("1", "/buildid/abcdef0123456789/executable") // it is another one's
	second := has("2", "/buildid/"+id+"/executable")
	for _, q := range []string{"INSERT INTO projects (id, name, created) VALUES (1, 'p', 0)",
		"INSERT INTO captures (id, name, uniq, project_id, sha256, size, kind, received, status) VALUES (1, 'c', '', 1, '', 1, 'upload', 0, 'done')",
		"INSERT INTO missing (build_id, capture_id, name) VALUES ('" + id + "', 1, 'server'), ('abcdef0123456789', 1, 'x'), ('../../x', 1, 'x')"} {
		if _, err := f.DB.Write.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	s, err := binaries.NewServers(first.URL+"  "+second.URL+"/", f, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(asked)
	if len(asked) != 8 || !slices.Contains(asked, "2/buildid/"+id+"/executable") || len(came) != 1 || came[0] != id {
		t.Errorf("asked %q, came %q; want each of two IDs once of each server, in two kinds, and one that came", asked, came)
	}
	if got, err := os.ReadFile(f.Dir.Path(id, "executable")); err != nil || !bytes.Equal(got, server) {
		t.Errorf("another file (%v)", err)
	}
}
