package intake_test

import (
	"net/http"
	"net/url"
	"testing"
)

// FuzzEnvelope and FuzzForm: whatever comes is answered, and never as the service's own failure.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte("{\"event_id\":\"9ec7\"}\n{\"type\":\"attachment\",\"length\":4,\"attachment_type\":\"event.minidump\"}\nMDMP\n{\"type\":\"event\"}\n{\"release\":\"a@1\"}\n"))
	f.Add([]byte("{}\n{\"type\":\"attachment\",\"filename\":\"a.log\"}\nline\n"))
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if status, answer := b.send(t, "POST", "/api/1/envelope/?sentry_key=good", body); status >= http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
	})
}

func FuzzForm(f *testing.F) {
	body, kind := formOf(part{"guid", "", "box-7"}, part{"sentry", "", `{"release":"x"}`}, part{"l", "a.log", "text"}, part{"upload_file_minidump", "a.dmp", "MDMP"})
	f.Add(body, kind)
	f.Add(body[:len(body)/2], kind)
	f.Add([]byte("--b\r\n\r\n--b--"), "multipart/form-data; boundary=b")
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		for _, c := range kind {
			if c < ' ' || c > '~' {
				return
			}
		}
		if status, answer := b.send(t, "POST", "/submit?key=good", body, "Content-Type", kind); status >= http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
	})
}

func FuzzOffers(f *testing.F) {
	f.Add([]byte(`[{"exact":"a","stable":"b"},{}]`))
	f.Add([]byte(`{"exact":null}`))
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if status, answer := b.send(t, "POST", "/api/v1/offers?key=good", body); status >= http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// FuzzPieces: parts of debug files, and the wish to make files of them.
func FuzzPieces(f *testing.F) {
	piece := []byte("MODULE Linux arm 4D0B app")
	body, kind := pieces(f, piece, piece)
	f.Add(body, kind, []byte(`{"`+sha(piece)+`":{"name":"app","chunks":["`+sha(piece)+`"]}}`))
	f.Add(body[:len(body)/2], kind, []byte(`{"":{}}`))
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte, kind string, ask []byte) {
		for _, c := range kind {
			if c < ' ' || c > '~' {
				return
			}
		}
		if status, answer := b.send(t, "POST", chunkUpload+"?key=good", body, "Content-Type", kind); status == http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
		if status, answer := b.send(t, "POST", assembleDifs+"?key=good", ask); status == http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// FuzzChunkRequests and FuzzLogs: what Memfault's SDK and consoles send, in any parts.
func FuzzChunkRequests(f *testing.F) {
	f.Add([]byte{0x48, 0x01, 0x02, 0x03, 0xa5, 0xb4}, []byte("BSR"))
	f.Add([]byte{0xc0, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{0x80, 0x00})
	b := newBench(f)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, body := range [][]byte{first, second} {
			if status, answer := b.send(t, "POST", "/api/v0/chunks/box?key=good", body); status >= http.StatusInternalServerError {
				t.Errorf("%d %s", status, answer)
			}
		}
	})
}

func FuzzLogs(f *testing.F) {
	f.Add([]byte("[    1.0] Unable to handle kernel paging request\nCall Trace:\n[<80101234>] f+0x4/0x8\n"), "box")
	f.Add([]byte("\x00\xff\r\n\n\n"), "")
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte, device string) {
		if status, answer := b.send(t, "POST", "/api/v1/logs?key=good&device="+url.QueryEscape(device), body); status >= http.StatusInternalServerError {
			t.Errorf("%d %s", status, answer)
		}
	})
}
