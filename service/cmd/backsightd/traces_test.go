package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected is a collector of OpenTelemetry that remembers spans by their names.
type collected struct {
	mu    sync.Mutex
	spans map[string][]string // and what capture each is of, "" for none
}

// ServeHTTP implements http.Handler.
func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request collector.ExportTraceServiceRequest
	unpacked, err := gzip.NewReader(r.Body)
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(unpacked); err == nil {
			err = proto.Unmarshal(b, &request)
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				capture := ""
				for _, a := range span.Attributes {
					if a.Key == "backsight.capture" {
						capture = a.Value.GetStringValue()
					}
				}
				c.spans[span.Name] = append(c.spans[span.Name], capture)
			}
		}
	}
}

// TestTraces: a collector is told of a capture's request, of its job, of the process that backtraced it, and of the store; those of
// the capture say its name. A collector that is not there is no harm.
func TestTraces(t *testing.T) {
	all := &collected{spans: map[string][]string{}}
	h := httptest.NewServer(all)
	t.Cleanup(h.Close)
	for _, url := range []string{h.URL, "http://127.0.0.1:1"} {
		c, _, err := parse("serve", []string{"--data", filepath.Join(t.TempDir(), "data"), "--otlp", url + "/v1/traces"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		s, err := open(t.Context(), c, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewServer(s.handler(http.NotFoundHandler()))
		put(t, h.URL+"/api/v1/captures?device=box", s.key.Key, "x86_64-threads/core.gz")
		s.eventually(t, 1, "SELECT count(*) FROM results")
		var name string
		if err := s.db.Read.QueryRow("SELECT name FROM captures").Scan(&name); err != nil {
			t.Fatal(err)
		}
		h.Close()
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if url != "http://127.0.0.1:1" && (!slices.Contains(all.spans["intake PUT /api/v1/captures"], name) || !slices.Contains(all.spans["job"], name)) {
			t.Errorf("no spans of %s: %v", name, all.spans)
		}
	}
	for _, span := range []string{"store append", "store open", "child"} {
		if len(all.spans[span]) == 0 {
			t.Errorf("no span %q: %v", span, all.spans)
		}
	}
}
