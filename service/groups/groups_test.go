package groups_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/groups"
)

// fleet is a database with one project, and crashes that come in.
type fleet struct {
	*testing.T
	db   *db.DB
	next int64
}

const day = int64(24 * 60 * 60 * 1000)

func newFleet(t *testing.T) *fleet {
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	f := &fleet{T: t, db: d}
	f.exec("INSERT INTO projects (id, name, created) VALUES (1, 'boxes', 0)")
	return f
}

func (f *fleet) exec(query string, args ...any) {
	f.Helper()
	if _, err := f.db.Write.Exec(query, args...); err != nil {
		f.Fatal(query, err)
	}
}

// one is the only value of a query, as text.
func (f *fleet) one(query string, args ...any) (s string) {
	f.Helper()
	if err := f.db.Read.QueryRow(query, args...).Scan(&s); err != nil {
		f.Fatal(query, err)
	}
	return s
}

func (f *fleet) tx(do func(*sql.Tx) error) {
	f.Helper()
	if err := f.db.Tx(context.Background(), do); err != nil {
		f.Fatal(err)
	}
}

// crash lets a capture come in whose report has the functions, innermost first, and writes its result as the worker does.
func (f *fleet) crash(device, version string, at int64, exact, stable string, functions ...string) groups.Assigned {
	f.Helper()
	f.next++
	f.exec("INSERT INTO captures (id, name, uniq, project_id, sha256, size, kind, device, version, received, status) VALUES ($1, $2, $3, 1, $3, 1, 'upload', $4, $5, $6, 'done')",
		f.next, fmt.Sprint(f.next), []byte{byte(f.next)}, device, version, at)
	return f.assign(f.next, 0, device, version, at, reported(exact, stable, functions...))
}

func (f *fleet) assign(capture, again int64, device, version string, at int64, r *jsonreport.Report) (a groups.Assigned) {
	f.Helper()
	f.tx(func(tx *sql.Tx) (err error) {
		a, err = groups.Assign(context.Background(), tx, &groups.Crash{Capture: capture, Project: 1, Device: device, Version: version, Received: at, Report: r, Again: again})
		if err == nil {
			_, err = tx.Exec("INSERT INTO results (capture_id, group_id, engine, created, status, exact, stable, title) VALUES ($1, $2, 'devel', 0, 'OK', $3, $4, $5)"+
				" ON CONFLICT (capture_id) DO UPDATE SET group_id = $2, exact = $3, stable = $4", capture, a.Group, a.Exact, a.Stable, a.Title)
		}
		return err
	})
	return a
}

// reported is a report of a crash with keys of 16 equal digits.
func reported(exact, stable string, functions ...string) *jsonreport.Report {
	s := &jsonreport.Signature{Version: 1, Class: "SIGSEGV null-pointer read", Title: "SIGSEGV reading NULL in " + strings.Join(functions[:min(3, len(functions))], " ← "),
		Exact: strings.Repeat(exact, 16), Stable: strings.Repeat(stable, 16), Whole: true}
	t := jsonreport.Thread{}
	for i, name := range functions {
		module, function, ok := strings.Cut(name, "!")
		if !ok {
			module, function = "app", name
		}
		s.Frames = append(s.Frames, jsonreport.Signed{Frame: i, Module: module, Function: function, Start: fmt.Sprintf("0x%x", 0x1000*(i+1)), Sure: true})
		t.Frames = append(t.Frames, jsonreport.Frame{Number: i, Module: module, Function: function})
	}
	s.Title = strings.ReplaceAll(s.Title, "lib!", "")
	t.Own.Signature = s
	r := &jsonreport.Report{Status: "OK", Threads: []jsonreport.Thread{t}, Crash: jsonreport.Crash{Type: "SIGSEGV", Address: "0x0"}}
	return r
}

// The same place is the same group, the same functions of another build too; another crash is another.
func TestAssign(t *testing.T) {
	f := newFleet(t)
	a := f.crash("box1", "2.1", day, "1", "a", "pack", "on_route", "main")
	b := f.crash("box2", "2.1", 2*day, "1", "a", "pack", "on_route", "main")
	c := f.crash("box2", "2.2", 3*day, "2", "a", "pack", "on_route", "main")
	d := f.crash("box3", "2.2", 3*day, "3", "b", "write_log", "flush", "main")
	if !a.New || b.New || c.New || !d.New || a.Group != b.Group || a.Group != c.Group || a.Group == d.Group {
		t.Errorf("groups %d %d %d %d", a.Group, b.Group, c.Group, d.Group)
	}
	if strings.Join(a.Frames, " ") != "pack on_route main" || a.Exact != "1111111111111111" || a.Signal != "SIGSEGV" || a.Address != "0x0" {
		t.Errorf("%+v", a)
	}
	const all = "SELECT count || ' ' || devices || ' ' || first_version || '…' || last_version || ' ' || (first_seen / 86400000) || '–' || (last_seen / 86400000) FROM groups WHERE id = $1"
	if got := f.one(all, a.Group); got != "3 2 2.1…2.2 1–3" {
		t.Error(got)
	}
	if got := f.one("SELECT group_concat(kind || group_id) FROM group_events"); got != fmt.Sprintf("new%d,new%d", a.Group, d.Group) {
		t.Error(got)
	}
	f.crash("box4", "2.0", 0, "1", "a", "pack", "on_route", "main") // arrived first, backtraced last
	if got := f.one(all, a.Group); got != "4 3 2.0…2.2 0–3" {
		t.Error(got)
	}
}

// What has no frame that is sure enough goes by what happened, to which program.
func TestUnsigned(t *testing.T) {
	f := newFleet(t)
	main := 0
	r := &jsonreport.Report{Crash: jsonreport.Crash{Type: "SIGBUS"}, Main: &main, Modules: []jsonreport.Module{{Name: "/bin/netd"}}}
	a := f.assign(f.crash("", "", day, "1", "a", "f").Group, 0, "", "", day, r)
	if a.Title != "SIGBUS in netd (no frame is sure enough)" || a.Exact != "" || f.one("SELECT devices FROM groups WHERE id = $1", a.Group) != "0" {
		t.Errorf("%+v", a)
	}
}

// A report made anew moves the crash, and only once.
func TestAgain(t *testing.T) {
	f := newFleet(t)
	a := f.crash("box1", "2.1", day, "1", "a", "pack", "main")
	for range 2 {
		b := f.assign(1, a.Group, "box1", "2.1", day, reported("2", "b", "word", "pack", "main"))
		if got := f.one("SELECT group_concat(count || '/' || devices) FROM (SELECT * FROM groups ORDER BY id) g"); got != "0/0,1/1" {
			t.Errorf("counts %s", got)
		}
		a = b
	}
}

// A group that was resolved comes back in the version that has the remedy or a later one, not in earlier ones.
func TestRegressed(t *testing.T) {
	f := newFleet(t)
	a := f.crash("box1", "2.1", day, "1", "a", "pack", "main")
	f.exec("INSERT INTO webhooks (project_id, url, secret, events, day_budget, created) VALUES (1, 'https://x', 's', 'regressed', 1, 0)")
	for _, c := range []struct {
		resolved, version string
		want              bool
	}{
		{"2.4", "2.3", false}, {"2.4", "2.4", true}, {"2.4", "2.10", true}, {"2.4", "2.4-rc1", false}, {"", "1.0", true},
		{"blue", "green", true}, {"blue", "2.1", false}, {"2.4", "", false},
	} {
		f.exec("UPDATE groups SET state = 'resolved', resolved_in = $1", c.resolved)
		if got := f.crash("box1", c.version, day, "1", "a", "pack", "main"); got.Regressed != c.want || got.Group != a.Group {
			t.Errorf("resolved in %q, came in %q: %t", c.resolved, c.version, got.Regressed)
		}
		if state := f.one("SELECT state FROM groups"); (state == groups.Regressed) != c.want {
			t.Errorf("state %s", state)
		}
	}
	if got := f.one("SELECT group_concat(event || ' ' || body) FROM deliveries"); got != "regressed 2.4" {
		t.Errorf("the budget of one a day: %s", got)
	}
}

// Offers of which no body was sent count, in their group and its devices.
func TestCounted(t *testing.T) {
	f := newFleet(t)
	a := f.crash("box1", "2.1", day, "1", "a", "pack", "main")
	for _, device := range []string{"box1", "box2", "box2"} {
		f.tx(func(tx *sql.Tx) error {
			return groups.Offered(t.Context(), f.db, tx, []groups.Count{{Project: 1, Group: a.Group, Signature: "exact:1111111111111111", Device: device, Version: "2.1", When: day, N: 5}})
		})
	}
	if got := f.one("SELECT count || ' ' || devices FROM groups"); got != "16 2" {
		t.Error(got)
	}
}

// What is alike is proposed with the sentence why; taken, all goes over, and what comes then.
func TestMerge(t *testing.T) {
	f := newFleet(t)
	a := f.crash("box1", "2.1", day, "1", "a", "pack", "on_route", "dispatch", "main")
	b := f.crash("box2", "2.2", 2*day, "2", "b", "pack", "on_route", "dispatch_v2", "main")
	f.crash("box3", "2.2", 2*day, "3", "c", "other", "on_route", "dispatch_v2", "main")
	if got := f.one("SELECT group_concat(group_id || '→' || into_id || ' ' || why) FROM merges"); got != fmt.Sprintf("%d→%d 3 of 4 functions alike: pack ← on_route ← main", b.Group, a.Group) {
		t.Error(got)
	}
	var keys []string
	f.tx(func(tx *sql.Tx) (err error) {
		keys, err = groups.Merge(t.Context(), tx, b.Group, a.Group, 3*day, 7)
		return err
	})
	for _, key := range keys {
		if err := groups.Follow(t.Context(), f.db, key, b.Group, a.Group); err != nil {
			t.Fatal(err)
		}
	}
	if c := f.crash("box4", "2.3", 3*day, "4", "b", "pack", "on_route", "dispatch_v2", "main"); c.Group != a.Group {
		t.Errorf("the next is in group %d", c.Group)
	}
	if got := f.one("SELECT count || ' ' || devices || ' ' || last_version FROM groups WHERE id = $1", a.Group); got != "3 3 2.3" {
		t.Error(got)
	}
	if got := f.one("SELECT count(*) FROM results WHERE group_id = $1", b.Group); got != "0" {
		t.Errorf("%s results stayed", got)
	}
	err := f.db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := groups.Merge(t.Context(), tx, b.Group, a.Group, 0, 0)
		return err
	})
	if err != groups.ErrSame {
		t.Errorf("merged twice: %v", err)
	}
}

// Rules are tried out, taken, and taken back: groups split and join, counts go with them.
func TestRegroup(t *testing.T) {
	f := newFleet(t)
	for range 2 {
		f.crash("box1", "1", day, "1", "a", "lib!fatal", "pack", "main")
	}
	f.crash("box2", "1", day, "2", "a", "lib!fatal", "unpack", "main")
	f.crash("box3", "1", day, "3", "c", "lib!abort_now", "unpack", "main")
	rules, err := groups.ParseRules("# what ends the program\nskip module lib\n")
	if err != nil {
		t.Fatal(err)
	}
	tried, err := groups.Try(t.Context(), f.db.Read, 1, rules)
	if err != nil || tried.Results != 4 || tried.Before != 2 || tried.After != 2 || tried.Moved != 2 || tried.Changes[0].Title != "SIGSEGV reading NULL in unpack ← main" {
		t.Errorf("%+v %v", tried, err)
	}
	const counts = "SELECT group_concat(title || ' ' || count || '/' || devices, '; ') FROM (SELECT * FROM groups WHERE count > 0 ORDER BY count DESC, id) g"
	for _, step := range []struct{ rules, want string }{
		{"skip module lib", "SIGSEGV reading NULL in pack ← main 2/1; SIGSEGV reading NULL in unpack ← main 2/2"},
		{"", "SIGSEGV reading NULL in fatal ← pack ← main 3/2; SIGSEGV reading NULL in abort_now ← unpack ← main 1/1"},
	} {
		f.tx(func(tx *sql.Tx) error {
			_, err := groups.Take(t.Context(), tx, 1, step.rules, 0, 7)
			return err
		})
		for again := range 2 {
			moved, err := groups.Regroup(t.Context(), f.db, 1, time.Unix(0, 0))
			if err != nil || (moved > 0) == (again > 0) {
				t.Errorf("%q: %d keys went over (%v)", step.rules, moved, err)
			}
		}
		if got := f.one(counts); got != step.want {
			t.Errorf("%q: %s", step.rules, got)
		}
		if got := f.one("SELECT count(*) FROM groups g WHERE count <> (SELECT count(*) FROM results r WHERE r.group_id = g.id)"); got != "0" {
			t.Errorf("%s groups have other results than they count", got)
		}
	}
}

func TestSpikes(t *testing.T) {
	f := newFleet(t)
	steady := f.crash("box1", "1", day, "1", "a", "f", "main").Group
	rising := f.crash("box1", "1", day, "2", "b", "g", "main").Group
	count := func(group, when, n int64) {
		f.tx(func(tx *sql.Tx) error {
			return groups.Offered(t.Context(), f.db, tx, []groups.Count{{Project: 1, Group: group, Signature: "x", When: when, N: n}})
		})
	}
	for i := range int64(7) {
		count(steady, (10+i)*day, 30)
		count(rising, (10+i)*day, 5)
	}
	count(steady, 17*day, 40)
	count(rising, 17*day, 40)
	for range 2 {
		f.tx(func(tx *sql.Tx) error { return groups.Spikes(t.Context(), tx, time.UnixMilli(17*day+1)) })
	}
	if got := f.one("SELECT group_concat(group_id || ' ' || detail) FROM group_events WHERE kind = 'spike'"); got != fmt.Sprintf("%d 40 today, 5.0 a day before", rising) {
		t.Error(got)
	}
}

// The keys that rules make of a chain are those of the definition: without a function to skip, the report's own.
func TestKeysOfReport(t *testing.T) {
	const dir = "../../testdata/x86_64-threads/"
	session, err := backsight.NewSession(backsight.Config{Files: input.FileOptions{DebugDirs: []string{dir}, Sysroots: []string{dir + "modules"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for r, err := range session.Reports(t.Context(), dir+"core.gz") {
		if err != nil {
			t.Fatal(err)
		}
		var own *jsonreport.Report
		if err := jsonreport.Each(t.Context(), bytes.NewReader(render.AppendJSON(nil, r, render.Style{})), func(r *jsonreport.Report) error { own = r; return nil }); err != nil {
			t.Fatal(err)
		}
		rules, _ := groups.ParseRules("skip function visit")
		all, _ := groups.Of(own, &groups.Rules{})
		left, _ := groups.Of(own, rules)
		if want := own.Named().Own.Signature.Stable; all.Group != "stable:"+want || left.Group == all.Group || left.Own != all.Own {
			t.Errorf("%+v, %+v, want %s", all, left, want)
		}
		if left.Title != "SIGSEGV reading NULL in tree_walk ← indexer" {
			t.Error(left.Title)
		}
	}
}
