package intake_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"
)

func sha(b []byte) string {
	sum := sha1.Sum(b)
	return hex.EncodeToString(sum[:])
}

// pieces is a form as sentry-cli sends it: a part a piece, by its SHA-1, every other one packed.
func pieces(t testing.TB, list ...[]byte) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, p := range list {
		name, packed := "file", bytes.Clone(p)
		if i%2 == 1 {
			var z bytes.Buffer
			to := gzip.NewWriter(&z)
			_, err := to.Write(p)
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			name, packed = "file_gzip", z.Bytes()
			if err != nil {
				t.Fatal(err)
			}
		}
		part, err := w.CreateFormFile(name, sha(p))
		if err == nil {
			_, err = part.Write(packed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

const chunkUpload, assembleDifs = "/api/0/organizations/any/chunk-upload/", "/api/0/projects/any/app/files/difs/assemble/"

// TestSentryCLI follows sentry-cli's upload of debug files: how, what is missing, the pieces, and what became of the files.
func TestSentryCLI(t *testing.T) {
	b := newBench(t)
	const token = "Bearer good"
	if code, answer := b.send(t, "GET", chunkUpload, nil, "Authorization", token); code != 200 || !strings.Contains(answer, `"hashAlgorithm": "sha1"`) ||
		!strings.Contains(answer, b.URL+chunkUpload) {
		t.Fatal(code, answer)
	}
	symbols := []byte("MODULE Linux arm 4D0B0C9158B833BE5F953CC7943BF0500 app\n" + strings.Repeat("PUBLIC 10 0 main\n", 50))
	none := []byte("no binary at all")
	first, second := symbols[:100], symbols[100:]
	ask := fmt.Sprintf(`{%q:{"name":"app","debug_id":"4d0b0c91-58b8-33be-5f95-3cc7943bf050","chunks":[%q,%q]},%q:{"name":"x","chunks":[%q]}}`,
		sha(symbols), sha(first), sha(second), sha(none), sha(none))
	type state struct {
		State         string
		MissingChunks []string
		Detail        string
		Dif           struct{ ObjectName, SHA1, DebugID string }
	}
	assemble := func() (map[string]state, int) {
		code, answer := b.send(t, "POST", assembleDifs, []byte(ask), "Authorization", token)
		var of map[string]state
		if err := json.Unmarshal([]byte(answer), &of); err != nil {
			t.Fatal(code, answer, err)
		}
		return of, code
	}
	if of, code := assemble(); code != 200 || of[sha(symbols)].State != "not_found" || len(of[sha(symbols)].MissingChunks) != 2 {
		t.Errorf("%d %v: two pieces are missing", code, of)
	}
	body, kind := pieces(t, first, second, none)
	if code, answer := b.send(t, "POST", chunkUpload, body, "Authorization", token, "Content-Type", kind); code != 200 {
		t.Fatal(code, answer)
	}
	for range 2 { // whoever asks again is told the same
		of, code := assemble()
		if got := of[sha(symbols)]; code != 200 || got.State != "ok" || got.Dif.ObjectName != "app" || got.Dif.SHA1 != sha(symbols) {
			t.Errorf("%d %v: the file is whole", code, of)
		}
		if got := of[sha(none)]; got.State != "error" || got.Detail == "" {
			t.Errorf("%v: what is no binary is an error that says so", of)
		}
	}
	if n := b.count(t, "SELECT count(*) FROM binaries WHERE build_id = '4d0b0c9158b833be5f953cc7943bf0500'"); n != 1 {
		t.Errorf("%d rows of binaries, want 1", n)
	}
}

// TestSentryCLIRefuses: pieces that are not what they are called, too many, or more than there is room for.
func TestSentryCLIRefuses(t *testing.T) {
	b := newBench(t)
	one := []byte("piece")
	body, kind := pieces(t, one)
	many := make([][]byte, 17)
	for i := range many {
		many[i] = fmt.Append(nil, i)
	}
	tooMany, kindOfMany := pieces(t, many...)
	large, kindOfLarge := pieces(t, make([]byte, 8<<20+1))
	for name, c := range map[string]struct {
		body []byte
		kind string
		want int
	}{
		"another name": {bytes.Replace(body, []byte(sha(one)), []byte(sha(nil)), 1), kind, 400},
		"a path":       {bytes.Replace(body, []byte(sha(one)), []byte("../../../etc/passwd"), 1), kind, 400},
		"no form":      {body, "text/plain", 400},
		"too many":     {tooMany, kindOfMany, 400},
		"too large":    {large, kindOfLarge, 413},
	} {
		if code, answer := b.send(t, "POST", chunkUpload+"?key=good", c.body, "Content-Type", c.kind); code != c.want {
			t.Errorf("%s: %d %s, want %d", name, code, answer, c.want)
		}
	}
	for _, ask := range []string{"{", `{"../x":{"chunks":[]}}`, fmt.Sprintf(`{%q:{"chunks":["../../passwd"]}}`, sha(one))} {
		if code, answer := b.send(t, "POST", assembleDifs+"?key=good", []byte(ask)); code != 400 {
			t.Errorf("%s: %d %s, want 400", ask, code, answer)
		}
	}
}
