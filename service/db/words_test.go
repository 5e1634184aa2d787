package db_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
)

// TestMain runs these tests over each database.
func TestMain(m *testing.M) { os.Exit(dbtest.Run(m)) }

// TestWords: both databases find a text by the same words, phrases and beginnings, in one column and in any; what nobody can have
// written as a search is a search that finds nothing.
func TestWords(t *testing.T) {
	d := dbtest.Open(t)
	texts := []string{"net::Socket::read on_packet", "libfoo.so.1", "AB12CD", "board x\x00y", "the watchdog bit at 12:00 " + strings.Repeat("ü", 3000)}
	args := []any{7}
	for _, s := range texts {
		args = append(args, d.Words(s))
	}
	if _, err := d.Write.Exec("INSERT INTO search (rowid, functions, modules, builds, annotations, log) VALUES ($1, $2, $3, $4, $5, $6)", args...); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		phrase db.Phrase
		want   int
	}{
		{db.Phrase{Text: "on_packet"}, 1},
		{db.Phrase{Text: "packet"}, 0},
		{db.Phrase{Text: "NET::socket::Read"}, 1},
		{db.Phrase{Column: "functions", Text: "net::Socket::read on_packet"}, 1},
		{db.Phrase{Column: "functions", Text: "on_packet net::Socket::read"}, 0},
		{db.Phrase{Column: "modules", Text: "on_packet"}, 0},
		{db.Phrase{Column: "builds", Text: "ab12cd"}, 1},
		{db.Phrase{Column: "builds", Text: "ab12", Begins: true}, 1},
		{db.Phrase{Column: "log", Text: "watchdog b", Begins: true}, 1},
		{db.Phrase{Text: "y"}, 1},
		{db.Phrase{Text: `'); DROP TABLE search; --`}, 0},
		{db.Phrase{Text: `\' & !x | <->`, Begins: true}, 1}, // x
		{db.Phrase{Text: "\xff\x00"}, 0},
	} {
		var args []any
		where := d.Matching([]db.Phrase{c.phrase}, func(v any) string { args = append(args, v); return fmt.Sprint("$", len(args)) })
		var n int
		if err := d.Read.QueryRow("SELECT count(*) FROM search WHERE "+where, args...).Scan(&n); err != nil || n != c.want {
			t.Errorf("%+v: %d, want %d; %v", c.phrase, n, c.want, err)
		}
	}
}

// TestTurns: who reads in a transaction and then writes has seen all that others wrote, of whatever process they are.
func TestTurns(t *testing.T) {
	source := dbtest.Source(t)
	var nodes []*db.DB
	for range 2 {
		d, err := db.Open(t.Context(), source)
		if errors.Is(err, db.ErrBusy) {
			break // SQLite is of one process
		} else if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		nodes = append(nodes, d)
	}
	if _, err := nodes[0].Write.Exec("INSERT INTO nodes (id, seen) VALUES ('n', 0)"); err != nil {
		t.Fatal(err)
	}
	const times = 40
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() {
			err := nodes[i%len(nodes)].Tx(t.Context(), func(tx *sql.Tx) error {
				var n int
				if err := tx.QueryRow("SELECT seen FROM nodes").Scan(&n); err != nil {
					return err
				}
				_, err := tx.Exec("UPDATE nodes SET seen = $1", n+1)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var n int
	if err := nodes[0].Read.QueryRow("SELECT seen FROM nodes").Scan(&n); err != nil || n != times {
		t.Errorf("%d, want %d; %v", n, times, err)
	}
}

// TestText: what devices send is kept, whatever bytes it has.
func TestText(t *testing.T) {
	d := dbtest.Open(t)
	for _, text := range []string{"plain", "with \x00", "\xff\xfe", "日本"} {
		if _, err := d.Write.Exec("INSERT INTO audit (time, action) VALUES ($1, $2)", 1, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
