package intake_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/intake"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
)

// nobody has no jobs done.
type nobody struct{}

func (nobody) Insert(context.Context, *sql.Tx, []int64) error { return nil }

type bench struct {
	*httptest.Server
	db       *db.DB
	store    store.Store
	intake   *intake.Server
	consoles *intake.Consoles
	dir      string
}

// Bounds of the tests' service.
const mostPacked, mostRaw, memory = 50 << 10, 200 << 10, 256 << 10

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	d, err := db.Open(context.Background(), dbtest.Source(t))
	if err != nil {
		t.Fatal(err)
	}
	disk, err := store.OpenDisk(filepath.Join(dir, "bodies"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"INSERT INTO projects (id, name, created, keep_first, keep_sample) VALUES (1, 'p', 0, 2, 0)",
		"INSERT INTO keys (key, project_id, created) VALUES ('good', 1, 0)",
		"INSERT INTO keys (key, project_id, created, day_captures) VALUES ('few', 1, 0, 1)",
		"INSERT INTO keys (key, project_id, created, device_day) VALUES ('perdevice', 1, 0, 1)",
		"INSERT INTO keys (key, project_id, created, revoked) VALUES ('old', 1, 0, 5)"} {
		if _, err := d.Write.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	in := inbox.New(d, disk, nobody{})
	spools := intake.NewSpools(dir, memory, mostPacked, mostRaw)
	offers, err := intake.NewOffers(d)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := intake.NewPartial(d, filepath.Join(dir, "partial"))
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := intake.NewPieces(filepath.Join(dir, "pieces"), 20<<20)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	b := &bench{dir: dir, db: d, store: disk, consoles: intake.NewConsoles(intake.TakeLog(in, spools), log)}
	folder := &binaries.Folder{DB: d, Dir: child.Binaries{Dir: filepath.Join(dir, "binaries")}, Most: 1 << 20,
		Came: func(context.Context, *sql.Tx, string) (int, error) { return 0, nil }}
	b.intake = &intake.Server{DB: d, Inbox: in, Spools: spools, Keys: intake.NewKeys(d), Binaries: folder, Partial: partial, Pieces: pieces, Offers: offers,
		Consoles: b.consoles, Log: log}
	b.Server = httptest.NewServer(b.intake.Handler())
	t.Cleanup(func() {
		b.Server.Close()
		if b.consoles != nil {
			_ = b.consoles.Close()
		}
		in.Close()
		_, _ = disk.Close(), d.Close()
	})
	return b
}

// send sends a request, and returns what was answered.
func (b *bench) send(t testing.TB, method, path string, body []byte, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, b.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if at := resp.Header.Get("Upload-Offset"); at != "" {
		text = append(text, " offset "+at...)
	}
	return resp.StatusCode, string(text)
}

// newest is the newest capture: its columns, and its body without packing.
func (b *bench) newest(t testing.TB, columns string) (row string, body string) {
	t.Helper()
	var sum []byte
	err := b.db.Read.QueryRow("SELECT "+columns+", sha256 FROM captures ORDER BY id DESC LIMIT 1").Scan(&row, &sum)
	if err != nil {
		t.Fatal(err)
	}
	var at, form string
	if err := b.db.Read.QueryRow("SELECT ref, packing FROM blobs WHERE sha256 = $1", sum).Scan(&at, &form); err != nil {
		t.Fatal(err)
	}
	ref, err := store.ParseRef(at)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.store.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	u, err := packing.Reader(form, r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(u)
	if got := sha256.Sum256(text); err != nil || !bytes.Equal(got[:], sum) {
		t.Errorf("a body of another sum (%v)", err)
	}
	return row, string(text)
}

func (b *bench) count(t testing.TB, query string) (n int) {
	t.Helper()
	if err := b.db.Read.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(query, err)
	}
	return n
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // into memory
	_ = w.Close()
	return b.Bytes()
}

const described = "device || '|' || product || '|' || version || '|' || kind"

func TestPlain(t *testing.T) {
	b := newBench(t)
	large := strings.Repeat("0123456789", mostRaw/10)
	for _, c := range []struct {
		method, query, body string
		packed              []byte
		header              string
		status              int
		want                string
	}{
		{"PUT", "device=box1&product=stb&version=2.4", "core", nil, "", 201, "box1|stb|2.4|upload"},
		{"POST", "device=two%0a", "core2", gzipped("core2"), "gzip", 201, "two|||upload"},
		{"POST", "", "core.gz", gzipped("core.gz"), "", 201, "|||upload"}, // told by its bytes
		{"POST", "", large, nil, "", 201, "|||upload"},
		{"POST", "", "", []byte(large + "x"), "", 413, ""},
		{"POST", "", "", gzipped(large + "x"), "", 413, ""},
		{"POST", "", "", gzipped(strings.Repeat("\x00", 100<<20)), "", 413, ""}, // a bomb
		{"POST", "", "", []byte("no gzip"), "gzip", 400, ""},
		{"POST", "", "", []byte("x"), "br", 400, ""},
		{"POST", "", "", []byte{}, "", 400, ""},
		{"POST", "", "\x1f\x8b\x08damaged", nil, "", 201, "|||upload"}, // a capture that is cut short stays as it is
	} {
		body := c.packed
		if body == nil {
			body = []byte(c.body)
		}
		status, answer := b.send(t, c.method, "/api/v1/captures?key=good&"+c.query, body, "Content-Encoding", c.header)
		if status != c.status {
			t.Errorf("%.20q: %d %s, want %d", c.body, status, answer, c.status)
			continue
		}
		if status != http.StatusCreated {
			continue
		}
		if row, got := b.newest(t, described); row != c.want || got != c.body {
			t.Errorf("%.20q: %q %.20q, want %q", c.body, row, got, c.want)
		}
	}
}

// TestKeys: who shows no key, a wrong or a revoked one, is refused; a key may be shown in the ways of all senders.
func TestKeys(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		path    string
		headers []string
		status  int
	}{
		{"/api/v1/captures", nil, 401},
		{"/api/v1/captures?key=bad", nil, 403},
		{"/api/v1/captures?key=old", nil, 403},
		{"/api/v1/captures", []string{"X-Backsight-Key", "good"}, 201},
		{"/api/v1/captures", []string{"Authorization", "Bearer good"}, 201},
		{"/api/1/minidump/", []string{"X-Sentry-Auth", "Sentry sentry_version=7, sentry_key=good, sentry_client=x"}, 200},
		{"/api/1/minidump/?sentry_key=good", nil, 200},
		{"/api/v0/chunks/S1", []string{"Memfault-Project-Key", "bad"}, 403},
	} {
		if status, answer := b.send(t, "POST", c.path, []byte("MDMP"), c.headers...); status != c.status {
			t.Errorf("%s %v: %d %s, want %d", c.path, c.headers, status, answer, c.status)
		}
	}
}

// TestQuota: what is above a quota is told so to those who understand, and dropped where it is not understood.
func TestQuota(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/api/v1/captures?key=few&device=1", 201}, {"/api/v1/captures?key=few&device=2", 429}, {"/api/1/minidump/?sentry_key=few", 200},
		{"/api/v1/captures?key=perdevice&device=1", 201}, {"/api/v1/captures?key=perdevice&device=1", 429}, {"/api/v1/captures?key=perdevice&device=2", 201},
	} {
		if status, _ := b.send(t, "POST", c.path, []byte(c.path)); status != c.status {
			t.Errorf("%s: %d, want %d", c.path, status, c.status)
		}
	}
	resp, err := b.Client().Post(b.URL+"/api/v1/captures?key=few", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // its headers are all
	left := 24*60*60 - time.Now().Unix()%(24*60*60)
	if after, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64); err != nil || after < left-60 || after > left+60*60 {
		t.Errorf("again after %d s (%v), want the first hour of the next day, in %d s", after, err, left)
	}
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 3 {
		t.Errorf("%d captures, want 3", n)
	}
}

// part is a part of a form.
type part struct{ name, file, text string }

func formOf(parts ...part) (body []byte, kind string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		create := w.CreateFormField
		if p.file != "" {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, p.file) }
		}
		to, err := create(p.name)
		if err == nil {
			_, _ = io.WriteString(to, p.text) // into memory
		}
	}
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// TestCrashpad: the form of Crashpad's handler and of Breakpad's sender; the answer is the report's id.
func TestCrashpad(t *testing.T) {
	b := newBench(t)
	form := func(dump string) ([]byte, string) {
		return formOf(part{"guid", "", "box-7"}, part{"prod", "", "Player"}, part{"ver", "", "1.2.3"}, part{"ptype", "", "<script>"},
			part{"log", "app.log", "before it crashed"}, part{"upload_file_minidump", "a.dmp", dump})
	}
	for _, c := range []struct{ path, encoding, want string }{
		{"/submit?key=good", "", "box-7|Player|1.2.3|minidump"},
		{"/submit/good?product=URL&version=9", "gzip", "box-7|URL|9|minidump"},
		{"/api/1/minidump/?sentry_key=good", "gzip", "box-7|Player|1.2.3|minidump"},
	} {
		sent, kind := form("MDMP " + c.path)
		if c.encoding == "gzip" {
			sent = gzipped(string(sent))
		}
		status, answer := b.send(t, "POST", c.path, sent, "Content-Type", kind, "Content-Encoding", c.encoding)
		row, got := b.newest(t, described)
		if status != 200 || len(answer) != 36 || row != c.want || got != "MDMP "+c.path {
			t.Errorf("%s: %d %q: %q %q, want %q", c.path, status, answer, row, got, c.want)
		}
	}
	body, kind := form("MDMP")
	row, _ := b.newest(t, "annotations || file || log")
	if !strings.Contains(row, `"ptype":"\u003cscript\u003e"`) || !strings.HasSuffix(row, "a.dmpbefore it crashed") {
		t.Errorf("%s", row)
	}
	for what, body := range map[string][]byte{"cut": body[:len(body)-30], "no form": []byte("x"), "none": {}} {
		if status, _ := b.send(t, "POST", "/submit?key=good", body, "Content-Type", kind); status != 400 && status != 408 {
			t.Errorf("%s: %d", what, status)
		}
	}
}

// TestEnvelope: of Sentry's envelopes the attached capture is kept, with what the event says.
func TestEnvelope(t *testing.T) {
	b := newBench(t)
	const id = "9ec79c33ec9942ab8353589fcb2e04dc"
	event := `{"release":"player@3.1","user":{"id":"box-9"},"environment":"field","tags":{"chip":"bcm"}}`
	attachment := fmt.Sprintf("{\"type\":\"attachment\",\"length\":9,\"filename\":\"c\",\"attachment_type\":\"event.minidump\"}\nMDMP\nbody\n{\"type\":\"event\",\"length\":%d}\n%s\n", len(event), event)
	head := `{"event_id":"` + id + `"}` + "\n"
	for _, encoding := range []string{"", "gzip"} {
		body := []byte(head + attachment)
		if encoding != "" {
			body = gzipped(string(body))
		}
		status, answer := b.send(t, "POST", "/api/42/envelope/?sentry_key=good", body, "Content-Encoding", encoding)
		row, got := b.newest(t, described+" || annotations")
		if status != 200 || !strings.Contains(answer, id) || got != "MDMP\nbody" || !strings.HasPrefix(row, "box-9|player|3.1|envelope") || !strings.Contains(row, `"chip":"bcm"`) {
			t.Errorf("%q: %d %s: %s %q", encoding, status, answer, row, got)
		}
	}
	if n := b.count(t, "SELECT count(*) FROM captures"); n != 1 {
		t.Errorf("an envelope that is sent again is %d captures", n)
	}
	for what, c := range map[string]struct {
		body   string
		status int
	}{
		"no capture": {head + "{\"type\":\"session\"}\n{}\n", 200}, "empty": {"", 400}, "no header": {"x\n", 400}, "no item": {head + "x\n", 400},
		"cut":       {head + `{"type":"attachment","length":900,"attachment_type":"event.minidump"}` + "\nMDMP", 408},
		"less than": {head + `{"type":"attachment","length":-1}` + "\nMDMP", 400},
	} {
		if status, answer := b.send(t, "POST", "/api/42/envelope/?sentry_key=good", []byte(c.body)); status != c.status {
			t.Errorf("%s: %d %s, want %d", what, status, answer, c.status)
		}
	}
}

// TestOffers: of a known group all but the first are counted; of an unknown one so many are asked for, and the others come later.
func TestOffers(t *testing.T) {
	b := newBench(t)
	for _, q := range []string{"INSERT INTO groups (id, project_id, signature, title, kept, count, first_seen, last_seen) VALUES (5, 1, 'stable:ab', 't', 1, 7, 0, 0)",
		"INSERT INTO group_signatures (project_id, signature, group_id) VALUES (1, 'stable:ab', 5)"} {
		if _, err := b.db.Write.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(body string) map[string]any {
		status, answer := b.send(t, "POST", "/api/v1/offers?key=good", []byte(body))
		var m map[string]any
		if err := json.Unmarshal([]byte(answer), &m); status != 200 || err != nil {
			t.Fatal(status, answer, err)
		}
		return m
	}
	const known = `{"exact":"00","stable":"ab","device":"d","version":"2"}`
	for i, want := range []string{"send", "known", "known"} {
		if got := ask(known)["answer"]; got != want {
			t.Errorf("offer %d: %v, want %s", i, got, want)
		}
	}
	if got := fmt.Sprint(ask("[" + known + `,{"device":"x"}]`)["answers"]); got != "[known send]" {
		t.Errorf("%s", got)
	}
	if n := b.count(t, "SELECT count FROM groups"); n != 10 {
		t.Errorf("%d crashes are counted, want 10", n)
	}
	got := map[any]int{}
	for range 30 {
		got[ask(`{"exact":"cd"}`)["answer"]]++
	}
	if got["send"] != 20 || got["later"] != 10 {
		t.Errorf("%v", got)
	}
	if status, _ := b.send(t, "POST", "/api/v1/offers?key=good", []byte("{")); status != 400 {
		t.Errorf("no offer: %d", status)
	}
}

// TestSymupload follows symupload's protocol with what it looks for in the answers.
func TestSymupload(t *testing.T) {
	b := newBench(t)
	const symbols = "MODULE Linux arm 4D0B0C9158B833BE5F953CC7943BF0500 app\nINFO CODE_ID 910C0B4D\nPUBLIC 10 0 main\n"
	const status = "/v1/symbols/app/4D0B0C9158B833BE5F953CC7943BF0500:checkStatus?key=good"
	if code, answer := b.send(t, "GET", status, nil); code != 200 || !strings.Contains(answer, `"status": "MISSING"`) {
		t.Fatal(code, answer)
	}
	_, answer := b.send(t, "POST", "/v1/uploads:create?key=good", nil)
	_, url, _ := strings.Cut(answer, `"uploadUrl": "`)
	url, _, _ = strings.Cut(url, `"`)
	_, key, _ := strings.Cut(answer, `"uploadKey": "`)
	key, _, _ = strings.Cut(key, `"`)
	path, ok := strings.CutPrefix(url, b.URL)
	if !ok || key == "" {
		t.Fatal(answer)
	}
	if code, answer := b.send(t, "PUT", path, []byte(symbols)); code != 200 {
		t.Fatal(code, answer)
	}
	complete := `{ symbol_id: {debug_file: "app", debug_id: "4D0B"}}`
	if code, _ := b.send(t, "POST", "/v1/uploads/"+key+":complete?key=good", []byte(complete)); code != 400 {
		t.Errorf("no JSON: %d", code)
	}
	complete = `{"symbol_id": {"debug_file": "app", "debug_id": "4D0B0C9158B833BE5F953CC7943BF0500"}, "symbol_upload_type": "BREAKPAD"}`
	if code, answer := b.send(t, "POST", "/v1/uploads/"+key+":complete?key=good", []byte(complete)); code != 200 || !strings.Contains(answer, `"result": "OK"`) {
		t.Errorf("%d %s", code, answer)
	}
	if code, answer := b.send(t, "GET", status, nil); code != 200 || !strings.Contains(answer, `"status": "FOUND"`) {
		t.Error(code, answer)
	}
	if n := b.count(t, "SELECT count(*) FROM binaries WHERE build_id IN ('4d0b0c9158b833be5f953cc7943bf0500', '910c0b4d')"); n != 2 {
		t.Errorf("%d rows of binaries, want 2", n)
	}
	if code, _ := b.send(t, "PUT", "/api/v1/binaries?key=good", []byte("no binary")); code != 400 {
		t.Errorf("no binary: %d", code)
	}
}
