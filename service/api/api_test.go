package api_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/groups"
	"github.com/backsight/backsight/service/packing"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// service is the API over a database with two groups.
type service struct {
	*testing.T
	db     *db.DB
	data   *api.Data
	server *api.Server
	mux    http.Handler
	tokens map[auth.Role]string
}

func newService(t *testing.T) *service {
	d, err := db.Open(t.Context(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	clock := func() time.Time { return now }
	s := &service{T: t, db: d, data: api.NewData(d, clock), tokens: map[auth.Role]string{}}
	s.server = &api.Server{Data: s.data, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	mux, users := http.NewServeMux(), auth.NewUsers(d, clock)
	s.server.Add(mux)
	s.mux = users.Known(mux)
	for _, role := range auth.Roles() {
		path, err := users.Invite(t.Context(), auth.User{}, role)
		if err != nil {
			t.Fatal(err)
		}
		if s.tokens[role], err = users.Join(t.Context(), strings.TrimPrefix(path, "/join/"), string(role), "correct horse"); err != nil {
			t.Fatal(err)
		}
	}
	s.exec("INSERT INTO projects (id, name, created) VALUES (1, 'boxes', 0)")
	s.crash(1, "1", "a", "pack", "on_route", "main")
	s.crash(2, "2", "b", "pack", "on_route", "dispatch", "main")
	s.exec("INSERT INTO missing (build_id, capture_id, name) VALUES ('ab12', 1, 'libfoo.so')")
	return s
}

func (s *service) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.db.Write.Exec(query, args...); err != nil {
		s.Fatal(query, err)
	}
}

func (s *service) one(query string, args ...any) (text string) {
	s.Helper()
	if err := s.db.Read.QueryRow(query, args...).Scan(&text); err != nil {
		s.Fatal(query, err)
	}
	return text
}

func (s *service) crash(n int, exact, stable string, functions ...string) {
	s.Helper()
	sig := &jsonreport.Signature{Class: "SIGSEGV", Title: "SIGSEGV in " + strings.Join(functions, " ← "), Exact: strings.Repeat(exact, 16), Stable: strings.Repeat(stable, 16), Whole: true}
	for i, f := range functions {
		sig.Frames = append(sig.Frames, jsonreport.Signed{Frame: i, Module: "app", Function: f, Sure: true})
	}
	thread := jsonreport.Thread{}
	thread.Own.Signature = sig
	packed, err := packing.Pack([]byte(`{"status":"OK","threads":[]}`))
	if err != nil {
		s.Fatal(err)
	}
	s.exec(`INSERT INTO captures (id, name, uniq, project_id, sha256, size, kind, device, version, received, status, annotations) VALUES ($1, $2, $3, 1, $3, 9, 'upload', 'box1', '2.1', $4, 'done', '{"board":"x"}')`,
		n, fmt.Sprintf("%032x", n), fmt.Append(nil, n), db.Milli(now))
	err = s.db.Tx(s.Context(), func(tx *sql.Tx) error {
		a, err := groups.Assign(s.Context(), tx, &groups.Crash{Capture: int64(n), Project: 1, Device: "box1", Version: "2.1", Received: db.Milli(now),
			Report: &jsonreport.Report{Threads: []jsonreport.Thread{thread}, Crash: jsonreport.Crash{Type: "SIGSEGV"}}})
		if err == nil {
			_, err = tx.Exec("INSERT INTO results (capture_id, group_id, engine, created, status, exact, title, signal, report) VALUES ($1, $2, 'devel', 0, 'OK', $3, $4, 'SIGSEGV', $5)", n, a.Group, a.Exact, a.Title, packed)
		}
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *service) ask(role auth.Role, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.tokens[role])
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

// TestDescription: every route is described and every description has a route; requests and answers are as described.
func TestDescription(t *testing.T) {
	s := newService(t)
	doc, err := openapi3.NewLoader().LoadFromData(s.ask(auth.Viewer, "GET", "/api/v2/openapi.yaml", "").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+path] = true
		}
	}
	for _, route := range s.server.Routes() {
		if !described[route.Pattern] {
			t.Errorf("%s is not described", route.Pattern)
		}
		delete(described, route.Pattern)
	}
	for route := range described {
		t.Errorf("%s is described and is nowhere", route)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/api/v2/projects", "", 200},
		{"GET", "/api/v2/groups", "", 200}, {"GET", "/api/v2/groups?limit=1&state=all&sort=last&version=2.1", "", 200}, {"GET", "/api/v2/groups?project=none", "", 404},
		{"GET", "/api/v2/groups/1", "", 200}, {"GET", "/api/v2/groups/99", "", 404},
		{"PATCH", "/api/v2/groups/1", `{"state":"resolved","resolved_in":"2.4","assignee":"admin","notes":"n","links":[{"url":"https://t/1"}]}`, 200},
		{"PATCH", "/api/v2/groups/1", `{"assignee":"nobody at all"}`, 400}, {"PATCH", "/api/v2/groups/99", `{"notes":"n"}`, 404},
		{"GET", "/api/v2/merges", "", 200}, {"POST", "/api/v2/merges/99", `{"take":false}`, 404}, {"POST", "/api/v2/merges/1", `{"take":false}`, 200},
		{"GET", "/api/v2/captures/00000000-0000-0000-0000-000000000001", "", 200}, {"GET", "/api/v2/captures/x", "", 404},
		{"GET", "/api/v2/captures/00000000000000000000000000000001/report", "", 200}, {"GET", "/api/v2/captures/x/report", "", 404},
		{"GET", "/api/v2/search?q=device:box1", "", 200}, {"GET", "/api/v2/search?q=address:zz", "", 400}, {"GET", "/api/v2/search?q=none-such", "", 200},
		{"GET", "/api/v2/missing", "", 200}, {"GET", "/api/v2/queue", "", 200},
		{"POST", "/api/v2/rules/try", `{"text":"skip function pack"}`, 200}, {"POST", "/api/v2/rules/try", `{"text":"what"}`, 400},
		{"PUT", "/api/v2/rules", `{"text":"skip function pack"}`, 200}, {"PUT", "/api/v2/rules", `{"text":"what"}`, 400}, {"GET", "/api/v2/rules", "", 200},
		{"POST", "/api/v2/groups/1/merge", `{"into":2}`, 200}, {"POST", "/api/v2/groups/1/merge", `{"into":1}`, 400},
	} {
		w := s.ask(auth.Admin, c.method, c.path, c.body)
		what := c.method + " " + c.path
		if w.Code != c.code {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, c.code, w.Body)
			continue
		}
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		route, params, err := router.FindRoute(r)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		asked[c.method+" "+route.Path] = true
		in := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: w.Code, Header: w.Header(), Options: &openapi3filter.Options{IncludeResponseStatus: true}}
		if err := openapi3filter.ValidateResponse(t.Context(), out.SetBodyBytes(w.Body.Bytes())); err != nil {
			t.Errorf("%s: %v\n%s", what, err, w.Body)
		}
	}
	for _, route := range s.server.Routes() {
		if !asked[route.Pattern] {
			t.Errorf("nothing asks %s", route.Pattern)
		}
	}
}

// What each role may not ask for.
func TestRoles(t *testing.T) {
	s := newService(t)
	for _, route := range s.server.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.NewReplacer("{id}", "1", "{name}", "x").Replace(path)
		for _, role := range auth.Roles() {
			if code := s.ask(role, method, path, "no JSON").Code; (code == http.StatusForbidden) == role.May(route.Least) {
				t.Errorf("a %s asks %s: %d", role, route.Pattern, code)
			}
		}
		if code := s.ask("", method, path, "").Code; code != http.StatusUnauthorized {
			t.Errorf("nobody asks %s: %d", route.Pattern, code)
		}
	}
}

// TestWebhook: what is told is signed; what is refused is told again, later each time, and given up in the end.
func TestWebhook(t *testing.T) {
	s := newService(t)
	var bodies []string
	code := http.StatusServiceUnavailable
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if want := api.Sign(s.one("SELECT secret FROM webhooks"), r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), b); r.Header.Get("webhook-signature") != want {
			t.Errorf("signed %s, want %s", r.Header.Get("webhook-signature"), want)
		}
		bodies = append(bodies, string(b))
		w.WriteHeader(code)
	}))
	defer hook.Close()
	if err := s.data.NewWebhook(t.Context(), auth.User{}, api.Webhook{Project: 1, URL: hook.URL, Events: "new,spike", Budget: 2}); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"3", "4", "5"} {
		s.crash(10+i, key, key, "f"+key, "main")
	}
	clock := now
	teller := &api.Teller{DB: s.db, Base: "https://boxes.test/", Now: func() time.Time { return clock }}
	tell := func(want int) {
		t.Helper()
		bodies = nil
		if err := teller.Tell(t.Context()); err != nil || len(bodies) != want {
			t.Errorf("at %v %d were told, want %d (%v)", clock, len(bodies), want, err)
		}
	}
	tell(2) // of three: the budget
	tell(0)
	clock = clock.Add(time.Minute)
	tell(2)
	clock = clock.Add(time.Minute)
	tell(0)
	clock = clock.Add(time.Minute)
	code = http.StatusNoContent
	tell(2)
	var told struct {
		Type string
		Data struct{ Title, URL, Says string }
	}
	if err := json.Unmarshal([]byte(bodies[0]), &told); err != nil || told.Type != "group.new" || !strings.HasPrefix(told.Data.URL, "https://boxes.test/groups/") || !strings.HasSuffix(told.Data.Says, "is new, in 2.1") {
		t.Errorf("%s %v", bodies[0], err)
	}
	tell(0)
	s.exec("UPDATE deliveries SET state = 'waiting', attempts = 8, due = 0")
	code = http.StatusFound
	tell(2)
	if got := s.one("SELECT group_concat(state || ' ' || answer) FROM deliveries"); got != "failed 302 Found,failed 302 Found" {
		t.Error(got)
	}
}

// The signature is that of Standard Webhooks 1.0, by the example of its reference libraries.
func TestSign(t *testing.T) {
	if got := api.Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

// TestMail sends to a server that writes down what it is told.
func TestMail(t *testing.T) {
	s := newService(t)
	server := newMailServer(t)
	if err := s.data.NewWebhook(t.Context(), auth.User{}, api.Webhook{Project: 1, URL: "mailto:ops@x.test", Events: "new", Budget: 5}); err != nil {
		t.Fatal(err)
	}
	s.crash(10, "3", "c", "f\r\nBcc: x@x", "main")
	teller := &api.Teller{DB: s.db, Base: "https://boxes.test", Now: func() time.Time { return now }}
	if err := teller.Tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.one("SELECT state || ' ' || answer FROM deliveries"); got != "waiting no mail server is configured" {
		t.Error(got)
	}
	teller.Mail = api.Mail{Host: server.addr, From: "backsight@x.test"}
	s.exec("UPDATE deliveries SET due = 0")
	if err := teller.Tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := <-server.got
	if got := s.one("SELECT state FROM deliveries"); got != "sent" || !strings.Contains(text, "RCPT TO:<ops@x.test>") || !strings.Contains(text, "Subject: =?utf-8?q?SIGSEGV_in_f") || strings.Contains(text, "\nBcc:") {
		t.Errorf("%s\n%s", got, text)
	}
}

// Exact bytes of a report are given back.
func TestReportBytes(t *testing.T) {
	s := newService(t)
	w := s.ask(auth.Viewer, "GET", "/api/v2/captures/00000000000000000000000000000001/report", "")
	if !bytes.Contains(w.Body.Bytes(), []byte(`{"status":"OK","threads":[]}`)) {
		t.Error(w.Body)
	}
}
