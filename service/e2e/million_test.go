package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/web"
)

// scale is how large the fleet of TestMillion is.
const (
	results, groupCount, deviceCount, days = 1_000_000, 5_000, 100_000, 90
	functionCount, moduleCount, wordCount  = 20_000, 300, 20_000
)

var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleet is what crashes are made of: every group has its functions, and crashes of a few versions.
type fleet struct {
	*rand.Rand
	db     *db.DB
	tx     *sql.Tx
	counts map[[3]int]int // group, day, version
	boxes  map[[2]int]int // group, device
}

// group is a group of a crash: few have most of the crashes.
func (f *fleet) group() int { return int(math.Pow(f.Float64(), 3)*groupCount) + 1 }

func functionOf(n int) string { return fmt.Sprintf("fn_%05d", n%functionCount) }

func versionOf(n int) string { return fmt.Sprintf("2.%d", n) }

func address(group int) string { return fmt.Sprintf("0x%016x", group*0x40) }

func (f *fleet) exec(query string, args ...any) error {
	_, err := f.tx.Exec(query, args...)
	return err
}

// row is what a row of a table has, by the names of its columns.
type row map[string]any

// insert writes rows, all columns of which are here with their types.
func (f *fleet) insert(table string, rows []row, columns ...string) error {
	list, err := db.Rows(rows)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range columns {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, name)
	}
	into := strings.Join(names, ", ")
	return f.exec("INSERT INTO "+table+" ("+into+") SELECT "+into+" FROM "+f.db.Table("$1", columns...), list)
}

// frames are the functions of a group's crashes.
func frames(group int) (list []string) {
	for i := range 8 {
		list = append(list, functionOf(group*31+i*i*977))
	}
	return list
}

// rows are those of captures.
type rows struct{ captures, results, search []row }

// capture adds one capture with its result.
func (r *rows) capture(f *fleet, n int) {
	g, device, day := f.group(), f.IntN(deviceCount), n*days/results
	version := min(39, day/3+f.IntN(5))
	received := today.Add(time.Duration(n-results) * (days * 24 * time.Hour / results))
	f.counts[[3]int{g, int(db.Day(received)), version}]++
	f.boxes[[2]int{g, device}]++
	name := fmt.Sprintf("%032x", n)
	r.captures = append(r.captures, row{"id": n, "name": name, "uniq": name, "project_id": 1, "sha256": "0", "size": 200000, "kind": "upload",
		"device": fmt.Sprintf("box%06d", device), "product": "box", "version": versionOf(version), "received": db.Milli(received), "status": "done",
		"annotations": "{}", "log": "the last lines before it\n", "kept": min(1, max(0, 1-n%keptOf))})
	chain := frames(g)
	r.results = append(r.results, row{"capture_id": n, "group_id": g, "engine": "devel", "created": 0, "status": "OK", "exact": fmt.Sprintf("%016x", g),
		"stable": fmt.Sprintf("%016x", g), "title": "SIGSEGV in " + chain[0], "signal": signalOf(g), "address": address(g),
		"frames": `["` + strings.Join(chain, `","`) + `"]`})
	words := make([]string, 24)
	for i := range words {
		words[i] = fmt.Sprintf("w%05d", int(math.Pow(f.Float64(), 2)*wordCount))
	}
	r.search = append(r.search, row{"rowid": n, "functions": f.db.Words(strings.Join(chain, " ")),
		"modules": f.db.Words(fmt.Sprintf("netd lib%03d.so libc.so.6", g%moduleCount)), "builds": f.db.Words(fmt.Sprintf("%040x %040x", g, version)),
		"annotations": f.db.Words(fmt.Sprintf("board b%d", g%7)), "log": f.db.Words(strings.Join(words, " "))})
}

// keptOf is of how many captures one has its report.
const keptOf = 10

// write writes captures, and the report of each of which there is one.
func (r *rows) write(f *fleet, first, last int, report []byte) error {
	return errors.Join(
		f.insert("captures", r.captures, "id BIGINT", "name TEXT", "uniq BYTEA", "project_id BIGINT", "sha256 BYTEA", "size BIGINT", "kind TEXT", "device TEXT", "product TEXT",
			"version TEXT", "received BIGINT", "status TEXT", "annotations TEXT", "log TEXT", "kept BIGINT"),
		f.insert("results", r.results, "capture_id BIGINT", "group_id BIGINT", "engine TEXT", "created BIGINT", "status TEXT", "exact TEXT", "stable TEXT", "title TEXT",
			"signal TEXT", "address TEXT", "frames TEXT"),
		f.insert("search", r.search, "rowid BIGINT", "functions TSVECTOR", "modules TSVECTOR", "builds TSVECTOR", "annotations TSVECTOR", "log TSVECTOR"),
		f.exec("UPDATE results SET report = $1, page = $1 WHERE capture_id BETWEEN $2 AND $3 AND capture_id % $4 = 0", report, first, last, keptOf))
}

func signalOf(group int) string {
	return []string{"SIGSEGV", "SIGSEGV", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"}[group%6]
}

// fill makes the fleet's database.
func fill(t *testing.T, d *db.DB) {
	f := &fleet{Rand: rand.New(rand.NewPCG(1, 2)), db: d, counts: map[[3]int]int{}, boxes: map[[2]int]int{}}
	blob, err := packing.Pack([]byte(`{"status":"OK","threads":[` + strings.Repeat(`{"thread_id":7,"frames":[{"frame":0,"function":"f","backsight":{"trust":"certain"}}]},`, 20) + `{}]}`))
	if err != nil {
		t.Fatal(err)
	}
	do := func(what func() error) {
		t.Helper()
		if err := d.Tx(t.Context(), func(tx *sql.Tx) error {
			f.tx = tx
			return what()
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !d.Postgres() {
		for _, pragma := range []string{"cache_size = -400000", "synchronous = OFF"} {
			if _, err := d.Write.Exec("PRAGMA " + pragma); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(f.groups)
	const step = 20_000
	for from := 1; from <= results; from += step {
		do(func() error {
			r := &rows{}
			for n := from; n < from+step; n++ {
				r.capture(f, n)
			}
			return r.write(f, from, from+step-1, blob)
		})
	}
	do(f.totals)
}

// groups writes the groups.
func (f *fleet) groups() error {
	if err := f.exec("INSERT INTO projects (id, name, created) VALUES (1, 'boxes', 0)"); err != nil {
		return err
	}
	var groups, keys []row
	for g := 1; g <= groupCount+1; g++ {
		groups = append(groups, row{"id": g, "project_id": 1, "signature": fmt.Sprint("stable:", g), "title": "SIGSEGV in " + strings.Join(frames(g)[:3], " ← "),
			"signal": signalOf(g), "first_seen": 0, "last_seen": 0})
		keys = append(keys, row{"project_id": 1, "signature": fmt.Sprintf("exact:%016x", g), "group_id": g,
			"chain": `{"exact":"x","class":"SIGSEGV","frames":[{"function":"` + strings.Join(frames(g), `"},{"function":"`) + `"}]}`})
	}
	return errors.Join(
		f.insert("groups", groups, "id BIGINT", "project_id BIGINT", "signature TEXT", "title TEXT", "signal TEXT", "first_seen BIGINT", "last_seen BIGINT"),
		f.insert("group_signatures", keys, "project_id BIGINT", "signature TEXT", "group_id BIGINT", "chain TEXT"))
}

// totals writes what is counted of groups.
func (f *fleet) totals() error {
	var counts, boxes []row
	for k, n := range f.counts {
		counts = append(counts, row{"group_id": k[0], "day": k[1], "product": "box", "version": versionOf(k[2]), "signature": fmt.Sprintf("exact:%016x", k[0]), "count": n})
	}
	for k, n := range f.boxes {
		boxes = append(boxes, row{"group_id": k[0], "device": fmt.Sprintf("box%06d", k[1]), "signature": fmt.Sprintf("exact:%016x", k[0]), "count": n,
			"first_seen": db.Milli(today), "last_seen": db.Milli(today)})
	}
	if err := f.insert("group_counts", counts, "group_id BIGINT", "day BIGINT", "product TEXT", "version TEXT", "signature TEXT", "count BIGINT"); err != nil {
		return err
	}
	for list := range slices.Chunk(boxes, 50_000) {
		if err := f.insert("group_devices", list, "group_id BIGINT", "device TEXT", "signature TEXT", "count BIGINT", "first_seen BIGINT", "last_seen BIGINT"); err != nil {
			return err
		}
	}
	for _, s := range []string{
		`UPDATE groups SET count = coalesce((SELECT sum(count) FROM group_counts c WHERE c.group_id = groups.id), 0), devices = (SELECT count(*) FROM group_devices c WHERE c.group_id = groups.id)`,
		`UPDATE groups SET first_seen = coalesce((SELECT min(day) FROM group_counts c WHERE c.group_id = groups.id), 0) * 86400000, last_seen = coalesce((SELECT max(day) FROM group_counts c WHERE c.group_id = groups.id), 0) * 86400000,
first_version = '2.0', last_version = '2.39'`,
		`INSERT INTO missing (build_id, capture_id, name) SELECT 'abcdef' || (capture_id / 10 % 50), capture_id, 'libfoo.so' FROM results WHERE capture_id % 10 = 0`,
		"ANALYZE",
	} {
		if err := f.exec(s); err != nil {
			return err
		}
	}
	return nil
}

// TestMillion measures each page and searches over a million results. BACKSIGHT_MILLION is the folder of its database, or the URL of one
// of PostgreSQL, whose tables are filled if they are not there yet (some minutes, 2 GB).
func TestMillion(t *testing.T) {
	dir := os.Getenv("BACKSIGHT_MILLION")
	if dir == "" {
		t.Skip("takes minutes, and a clock: set BACKSIGHT_MILLION=DIR or a URL")
	}
	path := dir
	if !strings.Contains(dir, "://") {
		path = filepath.Join(dir, "million.db")
	}
	d, err := db.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var there int
	if err := d.Read.QueryRow("SELECT count(*) FROM projects").Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there == 0 {
		fill(t, d)
	}
	now := func() time.Time { return today }
	users := auth.NewUsers(d, now)
	h, err := web.New(web.Config{DB: d, Users: users, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	invitation, err := users.Invite(t.Context(), auth.User{}, auth.Admin)
	if err != nil {
		t.Fatal(err)
	}
	session, err := users.Join(context.Background(), strings.TrimPrefix(invitation, "/join/"), fmt.Sprint("u", time.Now().UnixNano()), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	m := &measured{t, h, session}
	pick := rand.New(rand.NewPCG(3, 4))
	for i, kind := range searches() {
		m.page(fmt.Sprintf("search %d, such as %s", i, kind(pick)), 20, func() string { return "/search?q=" + url.QueryEscape(kind(pick)) })
	}
	m.page("search", 200, func() string { return "/search?q=" + url.QueryEscape(search(pick)) })
	for name, path := range map[string]func() string{
		"groups": func() string { return "/groups" }, "groups, last": func() string { return "/groups?sort=last&state=all" }, "groups, page 20": func() string { return "/groups?page=20" },
		"groups of a version": func() string { return "/groups?version=2." + fmt.Sprint(pick.IntN(40)) }, "groups of a device": func() string { return fmt.Sprintf("/groups?device=box%06d", pick.IntN(deviceCount)) },
		"groups, title": func() string { return "/groups?text=" + functionOf(pick.IntN(functionCount)) }, "the largest group": func() string { return "/groups/1" },
		"a group": func() string { return fmt.Sprint("/groups/", 1+pick.IntN(groupCount)) }, "a capture": func() string { return fmt.Sprintf("/captures/%032x", 1+pick.IntN(results)) },
		"comparison": func() string {
			return fmt.Sprintf("/compare?c=%032x&c=%032x", 10*(1+pick.IntN(results/10)), 10*(1+pick.IntN(results/10)))
		},
		"missing": func() string { return "/missing" }, "queue": func() string { return "/queue" }, "proposals": func() string { return "/proposals" },
		"rules": func() string { return "/rules" }, "rules, tried": func() string { return "/rules?text=skip+function+fn_0001*" }, "admin": func() string { return "/admin" }, "CSV": func() string { return "/groups.csv?state=all" },
	} {
		m.page(name, 20, path)
	}
}

// searches are the kinds of searches that people make.
func searches() []func(*rand.Rand) string {
	return []func(*rand.Rand) string{
		func(r *rand.Rand) string { return functionOf(r.IntN(functionCount)) },
		func(r *rand.Rand) string { return "function:" + functionOf(r.IntN(functionCount)) + " module:netd" },
		func(r *rand.Rand) string { return fmt.Sprintf("module:lib%03d.so", r.IntN(moduleCount)) },
		func(r *rand.Rand) string { return fmt.Sprintf("build:%040x", 1+r.IntN(groupCount)) },
		func(r *rand.Rand) string { return "address:" + address(1+r.IntN(groupCount)) },
		func(r *rand.Rand) string { return "signal:SIGFPE" },
		func(r *rand.Rand) string { return "signal:SIGSEGV version:2.7" },
		func(r *rand.Rand) string { return fmt.Sprintf("device:box%06d", r.IntN(deviceCount)) },
		func(r *rand.Rand) string { return fmt.Sprintf("log:w%05d", r.IntN(wordCount)) },
		func(r *rand.Rand) string { return fmt.Sprintf("w%04d*", r.IntN(wordCount/10)) },
		func(r *rand.Rand) string { return "after:2026-01-10 before:2026-01-12" },
		func(r *rand.Rand) string { return fmt.Sprintf("fn_%04d* after:2026-02-20", r.IntN(functionCount/10)) },
		func(r *rand.Rand) string { return "netd" },
		func(r *rand.Rand) string { return "netd device:box000007" },
		func(r *rand.Rand) string { return "annotation:b3 version:2.0" },
		func(r *rand.Rand) string { return "signal:SIGNONE" },
		func(r *rand.Rand) string { return "netd signal:SIGNONE" },
		func(r *rand.Rand) string { return "version:9.9" },
		func(r *rand.Rand) string { return "netd before:2025-12-10" },
	}
}

func search(r *rand.Rand) string { kinds := searches(); return kinds[r.IntN(len(kinds))](r) }

type measured struct {
	*testing.T
	h       http.Handler
	session string
}

// page asks for pages, and tells how long they take.
func (m *measured) page(name string, n int, path func() string) {
	var took []time.Duration
	slowest, size := "", 0
	for range n {
		p := path()
		r := httptest.NewRequest("GET", p, nil)
		r.AddCookie(&http.Cookie{Name: "backsight", Value: m.session})
		w := httptest.NewRecorder()
		from := time.Now()
		m.h.ServeHTTP(w, r)
		one := time.Since(from)
		if w.Code != http.StatusOK {
			m.Errorf("%s: %d", p, w.Code)
		}
		if len(took) == 0 || one > slices.Max(took) {
			slowest = p
		}
		took = append(took, one)
		size = w.Body.Len()
	}
	slices.Sort(took)
	m.Logf("%-32s median %6.1f ms, 95 %% %6.1f ms, most %6.1f ms (%s), %d kB", name, ms(took[n/2]), ms(took[n*95/100]), ms(took[n-1]), slowest, size/1000)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
