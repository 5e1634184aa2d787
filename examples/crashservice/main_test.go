package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

const testdata = "../../testdata/mips-deref/"

// post uploads a capture to a service of its own.
func post(t *testing.T, body string) (status int, answer string) {
	t.Helper()
	s, err := newService(testdata + "modules")
	if err != nil {
		t.Fatal(err)
	}
	defer s.files.Close()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// TestUpload: a core file, as curl sends it, is answered with the crash.
func TestUpload(t *testing.T) {
	core, err := os.ReadFile(testdata + "core.gz")
	if err != nil {
		t.Fatal(err)
	}
	status, answer := post(t, string(core))
	var c crash
	if err := json.Unmarshal([]byte(answer), &c); status != http.StatusOK || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, answer)
	}
	if c.Signal != "SIGSEGV" || len(c.Frames) != 12 || c.Frames[0].Function != "pack" || !c.Frames[0].Sure {
		t.Errorf("%+v", c)
	}
}

// TestNoCore: what is no core file is refused with the reason.
func TestNoCore(t *testing.T) {
	for _, body := range []string{"", "hello", "\x7fELF", "\x1f\x8b"} {
		if status, answer := post(t, body); status != http.StatusUnprocessableEntity || !strings.HasPrefix(answer, "core: ") {
			t.Errorf("%q: status %d, %s", body, status, answer)
		}
	}
}
