package intake_test

import (
	"net/http"
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
