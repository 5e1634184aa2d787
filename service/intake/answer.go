package intake

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/service/packing"
	"github.com/backsight/backsight/service/store"
)

// answer is an error that a sender is told.
type answer struct {
	status int
	text   string
}

func (a *answer) Error() string { return a.text }

// wrong is what a request has that it must not.
func wrong(text string) error { return &answer{http.StatusBadRequest, text} }

var errQuota = &answer{http.StatusTooManyRequests, "today's quota is used up"}

// retryAfter is when a sender may try again, in seconds, where the service is busy. Who has used up a day's quota may do so on the next
// day, in whatever part of its first hour: not all devices at once.
const retryAfter, day, hour = 300, 24 * 60 * 60, 60 * 60

func again(a *answer, now time.Time) int64 {
	if a != errQuota {
		return retryAfter
	}
	return day - now.Unix()%day + rand.Int64N(hour)
}

// status is what a sender is told of an error. What is none of the sender's business is 500.
func status(err error) *answer {
	var a *answer
	switch {
	case errors.As(err, &a):
		return a
	case errors.Is(err, packing.ErrLarge):
		return &answer{http.StatusRequestEntityTooLarge, "larger than is taken"}
	case errors.Is(err, store.ErrFull), db.Full(err):
		return &answer{http.StatusInsufficientStorage, "the disk is full"}
	case errors.Is(err, store.ErrAway), db.Down(err):
		return &answer{http.StatusServiceUnavailable, "the service cannot keep anything just now"}
	case errors.Is(err, inbox.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &answer{http.StatusServiceUnavailable, "the service is stopping or busy"}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF):
		return &answer{http.StatusRequestTimeout, "the body did not come"}
	case errors.Is(err, binaries.ErrNone), errors.Is(err, binaries.ErrOther):
		return &answer{http.StatusBadRequest, line(err.Error())}
	case errors.Is(err, errPacked):
		return &answer{http.StatusBadRequest, errPacked.Error()}
	case errors.Is(err, fs.ErrNotExist):
		return &answer{http.StatusNotFound, "not there"}
	}
	return &answer{http.StatusInternalServerError, "it failed; the service's log says why"}
}

// refuse tells a sender of an error.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	a := status(err)
	s.Metrics.refused(a.status)
	if a.status == http.StatusInternalServerError || a.status == http.StatusServiceUnavailable {
		s.Log.Error("intake", "path", r.URL.Path, "error", err)
	}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.FormatInt(again(a, time.Now()), 10))
	}
	w.Header().Set("Connection", "close") // what is left of the body is not read
	http.Error(w, a.text, a.status)
}

// say answers in JSON. There is a blank behind each colon, and & stands for itself: symupload looks for that text.
func say(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // the sender went
}

// sayText answers in text.
func sayText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // the sender went
}

// hyphened is a report's name as Crashpad and Sentry write such: a UUID.
func hyphened(name string) string {
	if len(name) != 32 {
		return name
	}
	return name[:8] + "-" + name[8:12] + "-" + name[12:16] + "-" + name[16:20] + "-" + name[20:]
}
