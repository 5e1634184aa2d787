package main

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/lab/fleet"
	"github.com/backsight/backsight/service/store/s3test"
)

// TestObjects: while S3 is late, answers 500 or does not show what it was given, a sender is answered 201, or 503 and when to come
// again; what was acknowledged has its result as soon as its body can be read.
func TestObjects(t *testing.T) {
	postgres := dbtest.For(t)
	proxy := s3test.Before(t, s3test.For(t, t.TempDir()))
	s, url := served(t, "--workers", "1", "--database", postgres.URL("postgres"), "--store", proxy.URL("crashes"))
	put := func(n int64) *http.Response {
		t.Helper()
		resp, err := http.Post(url+"/api/v1/captures?device=box&key="+s.key.Key, "", bytes.NewReader(fleet.Capture(n)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // its status is all
		_ = resp.Body.Close()
		return resp
	}
	proxy.Set(s3test.Late)
	if resp := put(1); resp.StatusCode != http.StatusCreated {
		t.Errorf("late: %s", resp.Status)
	}
	s.eventually(t, 1, "SELECT count(*) FROM results")
	proxy.Set(s3test.Fail)
	if resp := put(2); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("500: %s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
	}
	proxy.Set(s3test.Lose)
	if resp := put(3); resp.StatusCode != http.StatusCreated {
		t.Errorf("a store that loses reads: %s", resp.Status)
	}
	s.eventually(t, 1, "SELECT count(*) FROM river_job WHERE state <> 'completed' AND errors IS NOT NULL")
	proxy.Set(s3test.None)
	s.eventually(t, 2, "SELECT count(*) FROM results")
	s.eventually(t, 2, "SELECT count(*) FROM captures")
}
