package web_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/web"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// service is a page with browsers of its users.
type service struct {
	*testing.T
	*httptest.Server
	db    *db.DB
	users *auth.Users
	got   string // what was uploaded
}

func newService(t *testing.T) *service {
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	s := &service{T: t, db: d, users: auth.NewUsers(d, func() time.Time { return now })}
	s.exec("INSERT INTO projects (name, created) VALUES ('boxes', 0)")
	h, err := web.New(web.Config{DB: d, Users: s.users, Receive: s.receive, Bodies: s, BaseURL: "http://boxes.test", Version: "devel",
		Binary:    func(id, kind string) (string, bool) { return "web.go", id == "ab12" && kind == "executable" },
		Reprocess: func(_ context.Context, group, since int64) (int, error) { return 3, nil },
		Regroup:   func(ctx context.Context, p int64) error { _, err := groups.Regroup(ctx, d, p, now); return err },
		Logger:    slog.New(slog.NewTextHandler(t.Output(), nil)), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func (s *service) receive(ctx context.Context, project int64, file string, body io.Reader, device, version string) (string, error) {
	b, err := io.ReadAll(body)
	s.got = fmt.Sprintf("%d %s %q %s %s", project, file, b, device, version)
	return capture(1), err
}

func (s *service) Body(context.Context, int64) ([]byte, error) { return []byte("the body"), nil }

func (s *service) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.db.Write.Exec(query, args...); err != nil {
		s.Fatal(query, err)
	}
}

func capture(n int) string { return fmt.Sprintf("%032x", n) }

// crash writes a capture with its result, and returns its group.
func (s *service) crash(n int, device, version, title, exact, stable string, functions ...string) int64 {
	s.Helper()
	sig := &jsonreport.Signature{Version: 1, Class: "SIGSEGV read", Title: title, Exact: strings.Repeat(exact, 16), Stable: strings.Repeat(stable, 16), Whole: true}
	thread := jsonreport.Thread{ID: 7}
	text := fmt.Sprintf(`{"status":"OK","crash_info":{"type":"SIGSEGV","address":"0x0000000000000040","crashing_thread":0},"threads":[{"thread_id":7,"frames":[{"frame":0,"function":%q,"backsight":{"trust":"certain"}}]}],"backsight":{"version":"devel"}}`, functions[0])
	for i, f := range functions {
		sig.Frames = append(sig.Frames, jsonreport.Signed{Frame: i, Module: "app", Function: f, Start: fmt.Sprint("0x", i+1, "000"), Sure: true})
		thread.Frames = append(thread.Frames, jsonreport.Frame{Number: i, Module: "app", Function: f})
	}
	thread.Own.Signature = sig
	report := &jsonreport.Report{Threads: []jsonreport.Thread{thread}, Crash: jsonreport.Crash{Type: "SIGSEGV", Address: "0x0000000000000040"}}
	packed, err := packing.Pack([]byte(text))
	if err != nil {
		s.Fatal(err)
	}
	page, _ := packing.Pack([]byte("<!DOCTYPE html><title>r</title><p>the page of " + functions[0] + "<script>document.title='ran'</script>"))
	if n%2 == 0 {
		page = nil
	}
	received := db.Milli(now.Add(-time.Duration(n) * time.Hour))
	s.exec(`INSERT INTO captures (id, name, uniq, project_id, sha256, size, kind, device, version, received, status, annotations, log)
VALUES ($1, $2, $3, 1, $3, 9, 'upload', $4, $5, $6, 'done', '{"board":"<b>x</b>"}', 'watchdog bit <script>')`, n, capture(n), []byte(capture(n)), device, version, received)
	var group int64
	err = s.db.Tx(s.Context(), func(tx *sql.Tx) error {
		a, err := groups.Assign(s.Context(), tx, &groups.Crash{Capture: int64(n), Project: 1, Device: device, Version: version, Received: received, Report: report})
		if err != nil {
			return err
		}
		group = a.Group
		_, err = tx.Exec("INSERT INTO results (capture_id, group_id, engine, created, status, exact, stable, title, signal, address, frames, report, page) VALUES ($1, $2, 'devel', 0, 'OK', $3, $4, $5, $6, $7, $8, $9, $10)",
			n, a.Group, a.Exact, a.Stable, a.Title, a.Signal, a.Address, fmt.Sprintf(`["%s"]`, strings.Join(functions, `","`)), packed, page)
		if err == nil {
			_, err = tx.Exec("INSERT INTO search (rowid, functions, modules, builds, annotations, log) VALUES ($1, $2, $3, $4, $5, $6)",
				n, s.db.Words(strings.Join(functions, " ")), s.db.Words("app"), s.db.Words("ab12cd"), s.db.Words("board x"), s.db.Words("watchdog bit"))
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return group
}

// as is a browser of a new user of a role; "" of nobody.
func (s *service) as(role auth.Role) *http.Client {
	s.Helper()
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar}
	if role == "" {
		return c
	}
	path, err := s.users.Invite(s.Context(), auth.User{}, role)
	if err != nil {
		s.Fatal(err)
	}
	code, _ := s.post(c, path, url.Values{"name": {string(role)}, "password": {"correct horse"}})
	if code != 200 {
		s.Fatalf("joined: %d", code)
	}
	return c
}

func (s *service) get(c *http.Client, path string) (int, string) {
	s.Helper()
	r, err := http.NewRequest("GET", s.URL+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	return s.read(c.Do(r))
}

func (s *service) post(c *http.Client, path string, form url.Values) (int, string) {
	s.Helper()
	return s.read(c.PostForm(s.URL+path, form))
}

func (s *service) read(a *http.Response, err error) (int, string) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		s.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// has fails unless a text has all of what is wanted.
func (s *service) has(what, text string, want ...string) {
	s.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			s.Errorf("%s has no %s:\n%s", what, w, text)
		}
	}
}

// fleet lets three crashes of two groups come in.
func (s *service) fleet() (a, b int64) {
	a = s.crash(1, "box1", "2.2", "SIGSEGV in pack ← <i>on_route</i>", "1", "a", "pack", "on_route", "main")
	s.crash(2, "box2", "2.1", "SIGSEGV in pack ← <i>on_route</i>", "1", "a", "pack", "on_route", "main")
	b = s.crash(3, "box2", "2.2", "SIGSEGV in pack ← dispatch", "2", "b", "pack", "on_route", "dispatch", "main")
	return a, b
}

func TestEmpty(t *testing.T) {
	s := newService(t)
	c := s.as(auth.Admin)
	s.post(c, "/admin", url.Values{"do": {"key"}, "note": {"lab"}})
	_, page := s.get(c, "/")
	s.has("the first page", page, "Nothing has come in yet", "curl -T core", "http://boxes.test/api/v1/captures?key=", `type="file"`)
}

func TestGroups(t *testing.T) {
	s := newService(t)
	a, b := s.fleet()
	c := s.as(auth.Viewer)
	code, page := s.get(c, "/groups")
	if s.has("groups", page, "SIGSEGV in pack ← &lt;i&gt;on_route&lt;/i&gt;", "2.1 – 2.2", `<rect x="52"`); code != 200 || strings.Contains(page, "<i>") {
		t.Errorf("%d", code)
	}
	for query, want := range map[string]int{"": 2, "?version=2.1": 1, "?device=box2": 2, "?device=box9": 0, "?text=dispatch": 1, "?text=%25": 0, "?state=resolved": 0, "?state=all&sort=last": 2, "?signal=SIGSEGV": 2, "?page=1": 0, "?assignee=x": 0} {
		if _, page := s.get(c, "/groups"+query); strings.Count(page, `class="row"`) != want {
			t.Errorf("%s: %d groups, want %d", query, strings.Count(page, `class="row"`), want)
		}
	}
	_, csv := s.get(c, "/groups.csv")
	_, json := s.get(c, "/groups.json?version=2.1")
	s.has("CSV", csv, "id,title", "SIGSEGV in pack ← dispatch")
	s.has("JSON", json, `"count":2`, `"last_version":"2.2"`)
	code, page = s.get(c, fmt.Sprintf("/groups/%d", b))
	if s.has("a group", page, "May be one with", fmt.Sprintf(`href="/groups/%d"`, a), "functions alike", "box2", "exact:2222222222222222"); code != 200 || strings.Contains(page, "Merge them") {
		t.Errorf("a viewer merges (%d)", code)
	}
	for _, path := range []string{"/groups/99", "/groups/x", "/captures/none", "/captures/none/page"} {
		if code, page := s.get(c, path); code != 404 {
			t.Errorf("%s: %d %s", path, code, page)
		}
	}
}

func TestTriage(t *testing.T) {
	s := newService(t)
	a, b := s.fleet()
	c := s.as(auth.Triager)
	path := fmt.Sprintf("/groups/%d", a)
	code, page := s.post(c, path, url.Values{"state": {"resolved"}, "resolved_in": {"2.4"}, "assignee": {"triager"}, "notes": {"a <b>note</b>"}, "links": {"https://tracker/1 BUG-1\n"}})
	if s.has("the group", page, `class="state resolved"`, "in 2.4", "a &lt;b&gt;note", `<a href="https://tracker/1"`, "BUG-1", "assigned to triager"); code != 200 {
		t.Errorf("%d", code)
	}
	for _, wrong := range []url.Values{{"state": {"gone"}}, {"assignee": {"nobody at all"}}, {"links": {"javascript:alert(1)"}}} {
		if code, _ := s.post(c, path, wrong); code != 400 {
			t.Errorf("%v: %d", wrong, code)
		}
	}
	s.crash(4, "box4", "2.5", "SIGSEGV in pack", "1", "a", "pack", "on_route", "main")
	_, page = s.get(c, "/groups?state=regressed")
	s.has("regressed groups", page, path)
	var proposal int64
	if err := s.db.Read.QueryRow("SELECT id FROM merges").Scan(&proposal); err != nil {
		t.Fatal(err)
	}
	_, page = s.get(c, "/proposals")
	s.has("proposals", page, "functions alike", "Merge them")
	s.post(c, fmt.Sprintf("/proposals/%d", proposal), url.Values{"do": {"merge"}})
	_, page = s.get(c, fmt.Sprintf("/groups/%d", b))
	s.has("where a merged group leads", page, fmt.Sprintf("group %d", a), "<b>4</b> crashes", "<b>merged</b>")
	if code, _ := s.post(c, path+"/merge", url.Values{"into": {fmt.Sprint(b)}}); code != 400 {
		t.Errorf("merged back: %d", code)
	}
}

func TestCapture(t *testing.T) {
	s := newService(t)
	s.fleet()
	c := s.as(auth.Triager)
	_, page := s.get(c, "/captures/"+capture(1))
	s.has("a capture", page, `<iframe class="report"`, `sandbox="allow-scripts"`, "watchdog bit &lt;script&gt;", "&lt;b&gt;x&lt;/b&gt;", "0x0000000000000040")
	_, page = s.get(c, "/captures/00000000-0000-0000-0000-000000000002")
	s.has("a capture without a page", page, `<span class="name">pack</span>`, "certain")
	a, err := c.Get(s.URL + "/captures/" + capture(1) + "/page")
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if policy := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox allow-scripts; default-src 'none'") {
		t.Errorf("a device's page under %q", policy)
	}
	for path, want := range map[string]string{"/report.json": `"thread_id":7`, "/body": "the body"} {
		_, got := s.get(c, "/captures/"+capture(1)+path)
		s.has(path, got, want)
	}
	_, page = s.get(c, "/compare?c="+capture(1)+"&c="+capture(3))
	s.has("two captures", page, "pack", "What differs as a whole")
	if code, _ := s.get(c, "/compare?c="+capture(1)); code != 400 {
		t.Errorf("one compared: %d", code)
	}
}

func TestSearch(t *testing.T) {
	s := newService(t)
	s.fleet()
	c := s.as(auth.Viewer)
	for query, want := range map[string]int{
		"pack": 3, "dispatch": 1, "disp*": 1, "function:dispatch module:app": 1, "function:box2": 0, "device:box2": 2, "version:2.1": 1, `log:"watchdog bit"`: 3, `"bit watchdog"`: 0,
		"build:ab12cd": 3, "annotation:board": 3, "signal:SIGSEGV": 3, "signal:SIGBUS": 0, "address:0x40": 3, "address:41": 0, "after:2026-03-01": 3, "before:2026-03-01T10:00": 1, "pack device:box1": 1,
		"nothing-here": 0, "a::b": 0, `"`: 3, "pack AND": 0, "*": 0, "NEAR(": 0,
	} {
		code, page := s.get(c, "/search?q="+url.QueryEscape(query))
		if got := strings.Count(page, `class="pick"`); code != 200 || got != want {
			t.Errorf("%s: %d with %d reports, want %d", query, code, got, want)
		}
	}
	for _, query := range []string{"address:zz", "after:yesterday"} {
		if code, _ := s.get(c, "/search?q="+query); code != 400 {
			t.Errorf("%s: %d", query, code)
		}
	}
}

func TestUpload(t *testing.T) {
	s := newService(t)
	s.fleet()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	_ = form.WriteField("project", "boxes")
	_ = form.WriteField("device", "box1")
	_ = form.WriteField("version", "2.1")
	file, _ := form.CreateFormFile("capture", "core.gz")
	_, _ = io.WriteString(file, "ELF")
	form.Close()
	body := b.String()
	for role, want := range map[auth.Role]int{auth.Viewer: 403, auth.Triager: 200} {
		code, page := s.read(s.as(role).Post(s.URL+"/upload", form.FormDataContentType(), strings.NewReader(body)))
		if code != want {
			t.Errorf("%s uploads: %d %s", role, code, page)
		}
	}
	if s.got != `1 core.gz "ELF" box1 2.1` {
		t.Error(s.got)
	}
	if code, _ := s.post(s.as(""), "/upload", nil); code != 401 {
		t.Errorf("nobody uploads: %d", code)
	}
}

func TestRules(t *testing.T) {
	s := newService(t)
	s.fleet()
	c := s.as(auth.Triager)
	code, page := s.get(c, "/rules?text=skip+function+pack%0Askip+function+dispatch")
	if s.has("tried rules", page, "On the last 3 reports", "2 groups would be 1"); code != 200 {
		t.Errorf("%d", code)
	}
	code, page = s.get(c, "/rules?text=skip+x")
	if s.has("wrong rules", page, "line 1:"); code != 400 {
		t.Errorf("%d", code)
	}
	_, page = s.post(c, "/rules", url.Values{"text": {"skip function pack\nskip function dispatch"}})
	s.has("rules that hold", page, "skip function pack", "<b>holds</b>")
	_, page = s.get(c, "/groups")
	s.has("groups anew", page, "SIGSEGV in pack ← &lt;i&gt;on_route")
	if got := strings.Count(page, `class="row"`); got != 1 {
		t.Errorf("%d groups", got)
	}
}

// What each role may not do.
func TestRoles(t *testing.T) {
	s := newService(t)
	a, _ := s.fleet()
	group := fmt.Sprintf("/groups/%d", a)
	browsers := map[auth.Role]*http.Client{}
	for _, role := range auth.Roles() {
		browsers[role] = s.as(role)
	}
	for _, c := range []struct {
		method, path string
		least        auth.Role
	}{
		{"GET", "/groups", auth.Viewer}, {"GET", group, auth.Viewer}, {"GET", "/rules", auth.Viewer}, {"GET", "/missing", auth.Viewer}, {"GET", "/queue", auth.Viewer}, {"GET", "/account", auth.Viewer},
		{"POST", group, auth.Triager}, {"POST", group + "/merge", auth.Triager}, {"POST", "/proposals/1", auth.Triager}, {"POST", "/rules", auth.Triager}, {"GET", "/captures/" + capture(1) + "/body", auth.Triager},
		{"GET", "/admin", auth.Admin}, {"POST", "/admin", auth.Admin}, {"GET", "/audit", auth.Admin}, {"POST", group + "/reprocess", auth.Admin},
	} {
		for _, role := range auth.Roles() {
			var code int
			if c.method == "GET" {
				code, _ = s.get(browsers[role], c.path)
			} else {
				code, _ = s.post(browsers[role], c.path, nil)
			}
			if may := code != http.StatusForbidden; may != role.May(c.least) {
				t.Errorf("a %s asks for %s %s: %d", role, c.method, c.path, code)
			}
		}
		if code, page := s.get(s.as(""), c.path); c.method == "GET" && (code != 200 || !strings.Contains(page, "Log in")) {
			t.Errorf("nobody asks for %s: %d", c.path, code)
		}
	}
}

func TestAdministration(t *testing.T) {
	s := newService(t)
	c := s.as(auth.Admin)
	_, page := s.post(c, "/admin", url.Values{"do": {"invite"}, "role": {"viewer"}})
	s.has("an invitation", page, "http://boxes.test/join/")
	for _, form := range []url.Values{
		{"do": {"keep"}, "days": {"30"}, "bytes": {"0"}, "first": {"5"}, "sample": {"7"}}, {"do": {"again"}, "since": {"2026-01-31"}},
		{"do": {"project"}, "name": {"phones"}}, {"do": {"key"}, "project": {"phones"}, "note": {"<lab>"}},
		{"do": {"webhook"}, "url": {"https://hook.test/x"}, "event": {"new", "spike"}, "budget": {"5"}}, {"do": {"webhook"}, "url": {"mailto:ops@x.test"}, "event": {"regressed"}, "budget": {"5"}},
	} {
		if code, page := s.post(c, "/admin", form); code != 200 {
			t.Errorf("%v: %d %s", form, code, page)
		}
	}
	var key string
	if err := s.db.Read.QueryRow("SELECT key FROM keys LIMIT 1").Scan(&key); err != nil {
		t.Fatal(err)
	}
	if code, page := s.post(c, "/admin", url.Values{"do": {"quota"}, "key": {key}, "captures": {"1234"}, "bytes": {"0"}, "device": {"77"}}); code != 200 {
		t.Errorf("a quota: %d %s", code, page)
	}
	for _, form := range []url.Values{
		{"do": {"quota"}, "key": {key}, "captures": {"-1"}}, {"do": {"keep"}, "days": {"0"}}, {"do": {"again"}, "since": {"yesterday"}}, {"do": {"project"}, "name": {"../x"}}, {"do": {"webhook"}, "url": {"file:///etc/passwd"}, "event": {"new"}, "budget": {"5"}}, {"do": {"webhook"}, "url": {"https://x"}, "event": {"all"}, "budget": {"5"}},
		{"do": {"webhook"}, "url": {"https://x"}, "event": {"new"}}, {"do": {"nothing"}}, {"do": {"user"}, "id": {"1"}, "role": {"viewer"}},
	} {
		if code, _ := s.post(c, "/admin", form); code != 400 {
			t.Errorf("%v: %d", form, code)
		}
	}
	_, page = s.get(c, "/admin")
	s.has("administration", page, "phones", "&lt;lab&gt;", "https://hook.test/x", "new,spike", "0 of 5 today", `value="1234"`, `value="77"`)
	_, page = s.get(c, "/audit")
	s.has("what was done", page, "new webhook", "invite", "new project")
	_, page = s.post(c, "/account", nil)
	s.has("a token", page, `id="token"`)
}

// TestBinaries: programs that are known get binaries by build ID, as of a debuginfod server.
func TestBinaries(t *testing.T) {
	s := newService(t)
	c := s.as(auth.Viewer)
	for path, want := range map[string]int{"/buildid/ab12/executable": 200, "/buildid/ab12/debuginfo": 404, "/buildid/ab/executable": 404, "/buildid/../executable": 404,
		"/buildid/xy/executable": 404, "/buildid/ab12/source": 404} {
		if code, page := s.get(c, path); code != want || code == 200 && !strings.HasPrefix(page, "// Package web") {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	resp, err := http.Get(s.URL + "/buildid/ab12/executable")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // its status is all
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody gets a binary: %s", resp.Status)
	}
}

// Every page: nothing inline, everything from here, no text of a device as markup.
func TestPolicy(t *testing.T) {
	s := newService(t)
	a, _ := s.fleet()
	c := s.as(auth.Admin)
	for _, path := range []string{"/groups", fmt.Sprintf("/groups/%d", a), "/captures/" + capture(1), "/captures/" + capture(2), "/search?q=pack", "/missing", "/queue", "/rules?text=x", "/proposals", "/admin", "/audit", "/account",
		"/compare?c=" + capture(1) + "&c=" + capture(2)} {
		_, page := s.get(c, path)
		for _, bad := range []string{" style=", "<style", " onclick", " onload", "javascript:", "<script>", "http://", "<i>", "<b>x"} {
			if text := strings.ReplaceAll(page, "http://boxes.test", ""); strings.Contains(text, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
		if !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
			t.Errorf("%s is cut: %.200s", path, page)
		}
	}
	a1, err := c.Get(s.URL + "/groups")
	if err != nil {
		t.Fatal(err)
	}
	a1.Body.Close()
	policy := a1.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	for path, want := range map[string]string{"/static/htmx.min.js": "htmx", "/static/app.css": ".brand", "/static/report.css": "--accent", "/static/app.js": "use strict", "/static/icon.svg": "<svg"} {
		_, text := s.get(c, path)
		s.has(path, text, want)
	}
}
