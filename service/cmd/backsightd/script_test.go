package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/service/lab/fleet"
)

// TestScript: the script for devices sends the captures in a folder, offers what has a signature, and keeps what is not taken.
func TestScript(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "od"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no ", tool)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := fleet.Start(t.Context(), t.TempDir(), []string{asService + "=1"}, exe, "--workers", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if err := fleet.Known(t.Context(), s, "ab"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"new.log": "new", "known.log": "known", "known.log.sig": "-\tab\tSIGSEGV\ttitle\tcore\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(key string) ([]byte, error) {
		cmd := exec.Command("sh", "../../contrib/send-crashes.sh", s.Base, key, dir, "stb", "2.4")
		cmd.Env = append(cmd.Environ(), "TRIES=1")
		return cmd.CombinedOutput()
	}
	if out, err := run("wrong"); err == nil {
		t.Errorf("a wrong key: %s", out)
	}
	if out, err := run(s.Key); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("left: %v %v", left, err)
	}
	resp, err := http.Get(s.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil || !bytes.Contains(text.Bytes(), []byte(`backsight_captures_total{kind="upload"} 1`)) {
		t.Errorf("%v: one capture is to be taken, and one counted", err)
	}
}
