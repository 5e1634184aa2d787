package worker_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
	"github.com/backsight/backsight/service/worker"
)

// TestMain is the program that backtraces, too. A capture that says so kills it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Command {
		if b, err := os.ReadFile("capture"); err != nil || strings.Contains(string(b), "poison") {
			panic("poisoned")
		}
		if err := child.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(dbtest.Run(m))
}

type bench struct {
	*worker.Workers
	inbox *inbox.Inbox
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenDisk(filepath.Join(dir, "bodies"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write.Exec("INSERT INTO projects (id, name, created, keep_first, keep_sample) VALUES (1, 'p', 0, 3, 2)"); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Config{DB: d, Store: s, Engine: "test", Workers: 2, Log: slog.New(slog.DiscardHandler),
		Runner: &child.Runner{Exe: exe, Temp: t.TempDir(), Binaries: child.Binaries{Dir: t.TempDir()}, Memory: child.DefaultMemory, Time: child.DefaultTime}})
	if err == nil {
		err = w.Start(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{w, inbox.New(d, s, w)}
	t.Cleanup(func() {
		b.inbox.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := errors.Join(w.Stop(ctx), s.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// add has a capture of a device arrive.
func (b *bench) add(t *testing.T, device, text string) {
	t.Helper()
	_, err := b.inbox.Add(&inbox.Arrival{Key: inbox.Key{Key: "k", Project: 1}, Kind: "upload", File: "console.log", Device: device, Version: "1.0", Size: int64(len(text)),
		Body: store.Body{Sum: sha256.Sum256([]byte(text)), Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	if err := b.DB.Read.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(query, err)
	}
	return n
}

// idle waits until no job is left.
func (b *bench) idle(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); b.count(t, "SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'discarded', 'cancelled')") > 0; {
		if time.Now().After(end) {
			t.Fatal("jobs do not end")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const oops = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
	"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n"

// TestResults: equal crashes are of one group, what is no capture has a result as well, and all are found by their words.
func TestResults(t *testing.T) {
	b := newBench(t)
	b.add(t, "one", oops)
	b.add(t, "two", oops)
	b.add(t, "two", "\x00\x01no capture")
	b.idle(t)
	for query, want := range map[string]int{
		"SELECT count(*) FROM results": 3,
		"SELECT count(*) FROM groups":  2,
		"SELECT count FROM groups g JOIN results r ON r.group_id = g.id WHERE capture_id = 1": 2,
		"SELECT count(*) FROM captures WHERE status = 'done'":                                 2,
		"SELECT count(*) FROM captures WHERE status = 'failed' AND reason <> ''":              1,
	} {
		if n := b.count(t, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
	for phrase, want := range map[db.Phrase]int{{Column: "annotations", Text: "two"}: 2, {Column: "functions", Text: "f"}: 2, {Column: "log", Text: "f"}: 0} {
		var args []any
		query := b.DB.Matching([]db.Phrase{phrase}, func(v any) string { args = append(args, v); return "$1" })
		if n := b.count(t, "SELECT count(*) FROM search WHERE "+query, args...); n != want {
			t.Errorf("%v: %d, want %d", phrase, n, want)
		}
	}
	var packed []byte
	if err := b.DB.Read.QueryRow("SELECT report FROM results WHERE capture_id = 1").Scan(&packed); err != nil {
		t.Fatal(err)
	}
	if report, err := packing.Unpack(packed, 1<<20); err != nil || !strings.Contains(string(report), `"function": "f"`) {
		t.Errorf("%v: %.300s", err, report)
	}
}

// TestPoison: a capture that kills its process three times is put aside with the reason, and has a result.
func TestPoison(t *testing.T) {
	b := newBench(t)
	b.add(t, "one", oops+"poison")
	b.idle(t)
	if n := b.count(t, "SELECT count(*) FROM captures WHERE status = 'aside' AND deaths = 3 AND reason LIKE '%poisoned%'"); n != 1 {
		t.Error("not put aside")
	}
	if n := b.count(t, "SELECT count(*) FROM results WHERE status LIKE 'ERROR%'"); n != 1 {
		t.Error("no result")
	}
}

// TestSample: of a group's many crashes the first bodies stay, and a sample; every crash is counted and has its row.
func TestSample(t *testing.T) {
	b := newBench(t)
	const crashes, first, sample = 12, 3, 2
	for i := range crashes {
		b.add(t, fmt.Sprint("device", i), oops+fmt.Sprint("eth0: link up ", i, "\n"))
	}
	b.idle(t)
	for query, want := range map[string]int{
		"SELECT count FROM groups":                             crashes,
		"SELECT devices FROM groups":                           crashes,
		"SELECT count(*) FROM results":                         crashes,
		"SELECT count(*) FROM captures WHERE kept = 1":         first + sample,
		"SELECT count(*) FROM results WHERE report IS NULL":    crashes - first - sample,
		"SELECT count(*) FROM blobs":                           first + sample,
		"SELECT kept FROM groups":                              first + sample,
		"SELECT count(*) FROM captures WHERE status <> 'done'": 0,
	} {
		if n := b.count(t, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}

// TestAgain: done again, a capture has one result and is counted once; a binary that comes starts those that wait for it.
func TestAgain(t *testing.T) {
	b := newBench(t)
	b.add(t, "one", oops)
	b.idle(t)
	n, err := b.Reprocess(t.Context(), 0, 0)
	if n != 1 || err != nil {
		t.Errorf("%d captures again, %v", n, err)
	}
	b.idle(t)
	err = b.DB.Tx(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT INTO missing (build_id, capture_id, name) VALUES ('ab', 1, 'lib.so')"); err != nil {
			return err
		}
		n, err := b.Came(t.Context(), tx, "ab")
		if n != 1 {
			t.Errorf("%d captures waited", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.idle(t)
	for query, want := range map[string]int{"SELECT count(*) FROM results": 1, "SELECT count FROM groups": 1, "SELECT kept FROM groups": 1,
		"SELECT count(*) FROM missing": 0, "SELECT count(*) FROM river_job WHERE state = 'completed'": 3} {
		if n := b.count(t, query); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}
