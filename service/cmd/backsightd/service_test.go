package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/testdata"
)

// served is a service within this process, and where it is.
func served(t *testing.T, flags ...string) (*service, string) {
	t.Helper()
	c, _, err := parse("serve", append(flags, "--data", filepath.Join(t.TempDir(), "data")), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler(http.NotFoundHandler()))
	t.Cleanup(func() {
		h.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s, h.URL
}

// put sends a file of the demonstration.
func put(t *testing.T, url, key, name string) {
	t.Helper()
	b, err := testdata.Demo.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Backsight-Key", key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, err := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated || err != nil {
		t.Fatal(name, resp.Status, string(said), err)
	}
}

// eventually waits until a query counts so many.
func (s *service) eventually(t *testing.T, want int, query string) {
	t.Helper()
	got := 0
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := s.db.Read.QueryRow(query).Scan(&got); err != nil {
			t.Fatal(query, err)
		}
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %d, want %d", query, got, want)
		}
	}
}

// TestMissing: a core without its program waits for it, and is backtraced again when the program comes: one result, one crash.
func TestMissing(t *testing.T) {
	s, url := served(t)
	put(t, url+"/api/v1/captures?device=box", s.key.Key, "x86_64-threads/core.gz")
	s.eventually(t, 1, "SELECT count(*) FROM results")
	s.eventually(t, 1, "SELECT count(*) FROM missing WHERE name = 'server'")
	put(t, url+"/api/v1/binaries?file=server", s.key.Key, "x86_64-threads/modules/usr/bin/server")
	s.eventually(t, 1, "SELECT count(*) FROM binaries WHERE name = 'server'")
	s.eventually(t, 0, "SELECT count(*) FROM missing WHERE name = 'server'")
	s.eventually(t, 2, "SELECT count(*) FROM river_job WHERE state = 'completed'")
	s.eventually(t, 1, "SELECT count(*) FROM results")
	s.eventually(t, 1, "SELECT sum(count) FROM groups")
	s.eventually(t, 1, "SELECT count(*) FROM search WHERE search MATCH 'modules:server'")
}

// TestHealth: the service says whether it lives, is ready and what it has done; a disk that is full is not ready.
func TestHealth(t *testing.T) {
	for reserve, want := range map[string]int{"0": http.StatusOK, "4611686018427387904": http.StatusServiceUnavailable} {
		s, url := served(t, "--reserve", reserve, "--workers", "0")
		if err := s.gauge(t.Context()); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": want, "/metrics": http.StatusOK} {
			resp, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close() // it was read
			if resp.StatusCode != want || err != nil || path == "/metrics" && !strings.Contains(string(b), "backsight_waiting 0\n") {
				t.Errorf("reserve %s, %s: %s, want %d", reserve, path, resp.Status, want)
			}
		}
	}
}

// TestBackup follows CONFIGURATION.md: bodies and binaries, the database, and the former again, while the service takes captures. The
// copy is a service with all that was there, down to the bytes.
func TestBackup(t *testing.T) {
	s, url := served(t, "--workers", "0")
	put(t, url+"/api/v1/captures?device=a", s.key.Key, "x86_64-threads/core.gz")
	put(t, url+"/api/v1/binaries?file=server", s.key.Key, "x86_64-threads/modules/usr/bin/server")
	to := filepath.Join(t.TempDir(), "copy")
	copied := func() {
		t.Helper()
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", s.config.path("bodies"), s.config.path("binaries"), to).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	copied()
	put(t, url+"/api/v1/captures?device=b", s.key.Key, "mips-deref/core.gz")
	if err := run(t.Context(), []string{"backup", "--data", s.config.data, filepath.Join(to, "backsight.db")}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	put(t, url+"/api/v1/captures?device=later", s.key.Key, "mips-deref/core.gz")
	copied()
	c, _, err := parse("serve", []string{"--data", to}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again, err := open(t.Context(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	again.eventually(t, 2, "SELECT count(*) FROM captures")
	again.eventually(t, 2, "SELECT count(*) FROM results")
	again.eventually(t, 0, "SELECT count(*) FROM missing WHERE name = 'server'")
	if again.key.Key != s.key.Key {
		t.Error("devices' key is another one")
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("BACKSIGHTD_LISTEN", ":1")
	c, _, err := parse("serve", []string{"--data", "d", "--tls-cert", "c", "--tls-key", "k"}, io.Discard)
	if err != nil || c.listen != ":1" || c.url != "https://:1" {
		t.Errorf("%+v %v", c, err)
	}
	for _, bad := range [][]string{{}, {"--data", "d", "--tls-cert", "x"}, {"--data", "d", "--memory", "0"}, {"--data", "d", "--log", "x"}, {"--data", "d", "--what"}} {
		if _, _, err := parse("serve", bad, io.Discard); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
