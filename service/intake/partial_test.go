package intake_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/intake"
)

// TestResumed: an upload goes on where it stood, and is a capture when it is whole. Where nodes share a database, each part may come
// to another one.
func TestResumed(t *testing.T) {
	b := newBench(t)
	if dbtest.Postgres() {
		partial, err := intake.NewPartial(b.db, "")
		if err != nil {
			t.Fatal(err)
		}
		node := &intake.Server{DB: b.db, Inbox: b.intake.Inbox, Spools: b.intake.Spools, Keys: intake.NewKeys(b.db), Partial: partial, Log: b.intake.Log}
		one, other := b.intake.Handler(), node.Handler()
		var n atomic.Int64
		b.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			[]http.Handler{one, other}[n.Add(1)%2].ServeHTTP(w, r)
		})
	}
	const path = "/api/v1/captures/crash-1?key=good&device=d&total=10"
	for _, step := range []struct {
		method, query, body string
		status              int
		offset              string
	}{
		{"HEAD", "", "", 200, "offset 0"},
		{"PUT", "&offset=0", "0123", 202, "offset 4"},
		{"HEAD", "", "", 200, "offset 4"},
		{"PUT", "&offset=2", "x", 409, "offset 4"},
		{"PUT", "&offset=4", "456789x", 413, ""},
		{"HEAD", "", "", 200, "offset 4"},
		{"PUT", "&offset=11", "", 400, ""},
	} {
		if status, answer := b.send(t, step.method, path+step.query, []byte(step.body)); status != step.status || !strings.HasSuffix(answer, step.offset) {
			t.Errorf("%s %s %q: %d %q, want %d %s", step.method, step.query, step.body, status, answer, step.status, step.offset)
		}
	}
	const other = "/api/v1/captures/crash-2?key=good&device=d&total=10"
	b.send(t, "PUT", other+"&offset=0", []byte("01234"))
	if !dbtest.Postgres() {
		b.tail(t) // as power that went may leave it
	}
	status, answer := b.send(t, "PUT", other+"&offset=5", []byte("56789"))
	if row, got := b.newest(t, described); status != 201 || row != "d|||upload" || got != "0123456789" {
		t.Errorf("%d %s: %s %q", status, answer, row, got)
	}
	if status, answer := b.send(t, "HEAD", other, nil); status != 200 || !strings.HasSuffix(answer, "offset 0") {
		t.Errorf("what is taken is still there: %d %s", status, answer)
	}
}

// tail puts zeros behind what there is of uploads that are not whole.
func (b *bench) tail(t *testing.T) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(b.dir, "partial", "*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, path := range list {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(make([]byte, 20))
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
