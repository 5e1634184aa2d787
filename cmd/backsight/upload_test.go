//go:build !small

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const signedReport = `{"status":"OK","threads":[{"frames":[],"backsight":{"signature":{"exact":"e1","stable":"s1"}}}]}`

// TestUpload: a crash that the service knows is not sent, one that it wants is, and one that it wants later is offered again.
func TestUpload(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl")
	}
	for _, c := range []struct{ answers, want string }{
		{"known", "offer;"},
		{"send", "offer;report;"},
		{"later known", "offer;offer;"},
		{"later broken send", "offer;offer;offer;report;"},
	} {
		answers, got := strings.Fields(c.answers), ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			switch {
			case err != nil || r.URL.Query().Get("key") != "k":
				t.Errorf("%v %s", err, r.URL)
			case strings.HasSuffix(r.URL.Path, "/api/v1/captures"):
				if got += "report;"; string(body) != signedReport {
					t.Errorf("another report: %s", body)
				}
			default:
				if got += "offer;"; !strings.Contains(string(body), `"exact":"e1"`) || !strings.Contains(string(body), `"product":"stb"`) {
					t.Errorf("%s", body)
				}
				if answers[0] == "broken" {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				fmt.Fprintf(w, `{"answer": %q}`, answers[0])
				answers = answers[1:]
			}
		}))
		u, err := newUpload(s.URL + "/?key=k&product=stb")
		if err != nil {
			t.Fatal(err)
		}
		u.pause = time.Millisecond
		if err := u.send(t.Context(), []byte(signedReport)); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.answers, got, err, c.want)
		}
		s.Close()
	}
	if _, err := newUpload("crashes.example"); err == nil {
		t.Error("no URL was taken")
	}
}
