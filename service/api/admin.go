package api

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
)

// Key is what a project's devices show when they send.
type Key struct {
	Key     string    `json:"key"`
	Project string    `json:"project"`
	Note    string    `json:"note"`
	Created time.Time `json:"created"`
	Revoked bool      `json:"revoked"`
	Quota   Quota     `json:"quota"`
}

// Quota is how much a key takes a day (UTC), 0 for any: captures and bytes, and captures of each device.
type Quota struct {
	Captures  int64 `json:"captures"`
	Bytes     int64 `json:"bytes"`
	PerDevice int64 `json:"per_device"`
}

// Keys are all keys, the newest first.
func (d *Data) Keys(ctx context.Context) ([]Key, error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, k *Key) error {
		var created int64
		err := r.Scan(&k.Key, &k.Project, &k.Note, &created, &k.Revoked, &k.Quota.Captures, &k.Quota.Bytes, &k.Quota.PerDevice)
		k.Created = at(created)
		return err
	}, "SELECT k.key, p.name, k.note, k.created, k.revoked <> 0, k.day_captures, k.day_bytes, k.device_day FROM keys k JOIN projects p ON p.id = k.project_id ORDER BY k.created DESC LIMIT 1000")
}

// change does what an admin asks for, and notes it.
func (d *Data) change(ctx context.Context, by auth.User, action, object, detail string, do func(tx *sql.Tx, now time.Time) error) error {
	return d.db.Tx(ctx, func(tx *sql.Tx) error {
		now := d.now()
		if err := do(tx, now); err != nil {
			return err
		}
		return auth.Audit(ctx, tx, now, by.ID, action, object, detail)
	})
}

// exec is a change of one statement.
func (d *Data) exec(ctx context.Context, by auth.User, action, object, detail, statement string, args ...any) error {
	return d.change(ctx, by, action, object, detail, func(tx *sql.Tx, _ time.Time) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

// NewKey makes a key of a project.
func (d *Data) NewKey(ctx context.Context, by auth.User, project int64, note string) (key string, err error) {
	if len(note) > maxShort {
		return "", fmt.Errorf("%w: too long", ErrWrong)
	}
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand
	key = hex.EncodeToString(b[:])
	return key, d.exec(ctx, by, "new key", key[:8], note, "INSERT INTO keys (key, project_id, note, created) VALUES ($1, $2, $3, $4)", key, project, note, db.Milli(d.now()))
}

// RevokeKey ends a key.
func (d *Data) RevokeKey(ctx context.Context, by auth.User, key string) error {
	return d.exec(ctx, by, "revoke key", key[:min(8, len(key))], "", "UPDATE keys SET revoked = $1 WHERE key = $2 AND revoked = 0", db.Milli(d.now()), key)
}

// Limit changes a key's quota. The service heeds it within seconds.
func (d *Data) Limit(ctx context.Context, by auth.User, key string, q Quota) error {
	if min(q.Captures, q.Bytes, q.PerDevice) < 0 {
		return fmt.Errorf("%w: a quota is a number, 0 for none", ErrWrong)
	}
	return d.exec(ctx, by, "quota", key[:min(8, len(key))], fmt.Sprintf("%+v", q),
		"UPDATE keys SET day_captures = $1, day_bytes = $2, device_day = $3 WHERE key = $4", q.Captures, q.Bytes, q.PerDevice, key)
}

// NewProject makes a project.
func (d *Data) NewProject(ctx context.Context, by auth.User, name string) error {
	if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return fmt.Errorf("%w: a project's name has 1 to 64 of a–z, 0–9 and - _ . only", ErrWrong)
	}
	return d.exec(ctx, by, "new project", name, "", "INSERT INTO projects (name, created) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, db.Milli(d.now()))
}

// Keeping is how long a project's captures are kept, and how many.
type Keeping struct {
	// Days is how long bodies and reports are kept, Bytes how many of them, 0 for no bound but the disk.
	Days, Bytes int64
	// First bodies of a group are always kept, and a Sample of all further ones.
	First, Sample int64
}

// Keeping is how long a project's captures are kept.
func (d *Data) Keeping(ctx context.Context, project int64) (k Keeping, err error) {
	err = d.db.Read.QueryRowContext(ctx, "SELECT keep_days, keep_bytes, keep_first, keep_sample FROM projects WHERE id = $1", project).Scan(&k.Days, &k.Bytes, &k.First, &k.Sample)
	return k, none(err)
}

// Keep changes how long a project's captures are kept.
func (d *Data) Keep(ctx context.Context, by auth.User, project int64, k Keeping) error {
	if k.Days < 1 || k.Bytes < 0 || k.First < 1 || k.Sample < 0 || k.First+k.Sample > 100_000 {
		return fmt.Errorf("%w: captures are kept for a day or more, and one or more of a group", ErrWrong)
	}
	return d.exec(ctx, by, "keep", fmt.Sprintf("project %d", project), fmt.Sprintf("%+v", k),
		"UPDATE projects SET keep_days = $1, keep_bytes = $2, keep_first = $3, keep_sample = $4 WHERE id = $5", k.Days, k.Bytes, k.First, k.Sample, project)
}

// Webhook is who is told of events.
type Webhook struct {
	ID      int64  `json:"id"`
	Project int64  `json:"project"`
	URL     string `json:"url"` // https://…, http://… or mailto:…
	Secret  string `json:"-"`
	Events  string `json:"events"` // new, regressed, spike, between commas
	Budget  int64  `json:"day_budget"`
	Today   int64  `json:"today"`  // how many deliveries it has had today
	Answer  string `json:"answer"` // of the last delivery
}

// Webhooks are those of a project.
func (d *Data) Webhooks(ctx context.Context, project int64) ([]Webhook, error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, w *Webhook) error {
		return r.Scan(&w.ID, &w.Project, &w.URL, &w.Secret, &w.Events, &w.Budget, &w.Today, &w.Answer)
	}, `SELECT w.id, w.project_id, w.url, w.secret, w.events, w.day_budget,
(SELECT count(*) FROM deliveries d WHERE d.webhook_id = w.id AND d.created >= $2),
coalesce((SELECT d.answer FROM deliveries d WHERE d.webhook_id = w.id AND d.answer <> '' ORDER BY d.id DESC LIMIT 1), '')
FROM webhooks w WHERE w.project_id = $1 AND w.active = 1 ORDER BY w.id LIMIT 100`, project, db.Day(d.now())*24*60*60*1000)
}

// NewWebhook makes a webhook, with a secret by which what it is told is signed.
func (d *Data) NewWebhook(ctx context.Context, by auth.User, w Webhook) error {
	u, err := url.Parse(w.URL)
	if err != nil || len(w.URL) > maxShort || !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) || u.Scheme != "mailto" && u.Host == "" {
		return fmt.Errorf("%w: a webhook is https://…, http://… or mailto:…", ErrWrong)
	}
	if _, err := mail.ParseAddress(u.Opaque); u.Scheme == "mailto" && err != nil {
		return fmt.Errorf("%w: %q is no address", ErrWrong, u.Opaque)
	}
	for _, e := range strings.Split(w.Events, ",") {
		if !slices.Contains([]string{groups.New, groups.Regressed, groups.Spike}, e) {
			return fmt.Errorf("%w: %q is none of new, regressed, spike", ErrWrong, e)
		}
	}
	if w.Budget < 1 || w.Budget > 10_000 {
		return fmt.Errorf("%w: a budget of 1 to 10000 a day", ErrWrong)
	}
	var b [32]byte
	rand.Read(b[:]) // never fails: crypto/rand
	return d.exec(ctx, by, "new webhook", w.URL, w.Events, "INSERT INTO webhooks (project_id, url, secret, events, day_budget, created) VALUES ($1, $2, $3, $4, $5, $6)",
		w.Project, w.URL, secretPrefix+base64.StdEncoding.EncodeToString(b[:]), w.Events, w.Budget, db.Milli(d.now()))
}

// RemoveWebhook ends a webhook.
func (d *Data) RemoveWebhook(ctx context.Context, by auth.User, id int64) error {
	return d.exec(ctx, by, "remove webhook", number(int(id)), "", "UPDATE webhooks SET active = 0 WHERE id = $1", id)
}

// Queue is what waits and what was put aside.
type Queue struct {
	Jobs     []Jobs    `json:"jobs"`
	Captures []Capture `json:"captures"` // that are not done, the last ones
}

// Jobs are how many jobs of a kind are in a state.
type Jobs struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Count int64  `json:"count"`
}

// Queue tells what waits and what was put aside.
func (d *Data) Queue(ctx context.Context) (q Queue, err error) {
	if q.Jobs, err = all(ctx, d.db.Read, func(r *sql.Rows, j *Jobs) error { return r.Scan(&j.Kind, &j.State, &j.Count) },
		"SELECT kind, state, count(*) FROM river_job WHERE state <> 'completed' GROUP BY kind, state ORDER BY kind, state"); err != nil {
		return q, err
	}
	q.Captures, err = all(ctx, d.db.Read, scanCapture, "SELECT "+captureColumns+" FROM captures c LEFT JOIN results r ON r.capture_id = c.id WHERE c.status <> 'done' ORDER BY +c.id DESC LIMIT $1", maxListed)
	return q, err
}
