package intake

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/inbox"
)

// keyTime is how long a key is believed without another look.
const keyTime = 5 * time.Second

// Keys are those of projects.
type Keys struct {
	db    *db.DB
	mu    sync.Mutex
	known map[string]known // no more than there are in the table
}

type known struct {
	key   inbox.Key
	until time.Time
}

var (
	errNoKey = &answer{http.StatusUnauthorized, "no key: ?key=, X-Backsight-Key, Authorization: Bearer or X-Sentry-Auth"}
	errKey   = &answer{http.StatusForbidden, "the key is none of a project"}
)

// of is the key of a request.
func (k *Keys) of(r *http.Request) (inbox.Key, error) {
	text := shown(r)
	if text == "" {
		return inbox.Key{}, errNoKey
	}
	now := time.Now()
	k.mu.Lock()
	found, ok := k.known[text]
	k.mu.Unlock()
	if ok && now.Before(found.until) {
		return found.key, nil
	}
	key, err := k.read(r.Context(), text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		delete(k.known, text)
		return key, err
	}
	if k.known == nil {
		k.known = map[string]known{}
	}
	k.known[text] = known{key, now.Add(keyTime)}
	return key, nil
}

func (k *Keys) read(ctx context.Context, text string) (inbox.Key, error) {
	key := inbox.Key{Key: text}
	err := k.db.Read.QueryRowContext(ctx, "SELECT project_id, day_captures, day_bytes, device_day FROM keys WHERE key = $1 AND revoked = 0", text).
		Scan(&key.Project, &key.DayCaptures, &key.DayBytes, &key.DeviceDays)
	if errors.Is(err, sql.ErrNoRows) {
		return key, errKey
	}
	return key, err
}

// shown is the key that a request shows, in the ways of those who send.
func shown(r *http.Request) string {
	q := r.URL.Query()
	for _, s := range []string{q.Get("key"), q.Get("sentry_key"), q.Get("api_key"), r.PathValue("key"), r.Header.Get("X-Backsight-Key"), r.Header.Get("Memfault-Project-Key")} {
		if s != "" {
			return s
		}
	}
	if s, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(s)
	}
	for _, h := range []string{r.Header.Get("X-Sentry-Auth"), r.Header.Get("Authorization")} {
		for field := range strings.SplitSeq(strings.TrimPrefix(h, "Sentry "), ",") {
			if s, ok := strings.CutPrefix(strings.TrimSpace(field), "sentry_key="); ok {
				return s
			}
		}
	}
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return ""
}

// quota refuses what is above the quotas of a key and of a device.
func (k *Keys) quota(ctx context.Context, key inbox.Key, device string) error {
	const read = "SELECT captures, bytes FROM usage WHERE key = $1 AND device = $2 AND day = $3"
	over := func(device string, captures, bytes int64) (bool, error) {
		var n, size int64
		err := k.db.Read.QueryRowContext(ctx, read, key.Key, device, db.Day(time.Now())).Scan(&n, &size)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return captures > 0 && n >= captures || bytes > 0 && size >= bytes, err
	}
	if key.DayCaptures > 0 || key.DayBytes > 0 {
		if is, err := over("", key.DayCaptures, key.DayBytes); is || err != nil {
			return errorOr(err, errQuota)
		}
	}
	if key.DeviceDays > 0 {
		if is, err := over(device, key.DeviceDays, 0); is || err != nil {
			return errorOr(err, errQuota)
		}
	}
	return nil
}

func errorOr(err error, or error) error {
	if err != nil {
		return err
	}
	return or
}
