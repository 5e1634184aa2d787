package groups

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hashicorp/go-version"
)

// States of a group.
const (
	Open      = "open"
	Resolved  = "resolved"
	Regressed = "regressed" // it was resolved and came back; also the kind of that event
	Ignored   = "ignored"
)

// Kinds of events that people are told of, beside Regressed.
const (
	New   = "new"
	Spike = "spike"
)

// Kinds of events that a person has caused.
const (
	Merged = "merged"
	Triage = "triage"
)

// Event is something that became of a group.
type Event struct {
	Project, Group int64
	Kind, Detail   string
	// Time is in milliseconds since 1970. User is who caused it, 0 for the service itself.
	Time, User int64
}

// standing is what a group's row says of its triage.
type standing struct{ state, resolvedIn, lastVersion string }

func (g *standing) read(ctx context.Context, tx *sql.Tx, group int64) error {
	return tx.QueryRowContext(ctx, "SELECT state, resolved_in, last_version FROM groups WHERE id = $1", group).Scan(&g.state, &g.resolvedIn, &g.lastVersion)
}

// seen is what a group's standing is after crashes, and whether it has come back by them.
func (g *standing) seen(ctx context.Context, tx *sql.Tx, c Count) (regressed bool, err error) {
	if c.N <= 0 {
		return false, nil
	}
	if regressed, err = g.back(ctx, tx, c); regressed {
		g.state = Regressed
	}
	if g.lastVersion == "" || Later(c.Version, g.lastVersion) {
		g.lastVersion = c.Version
	}
	return regressed, err
}

// back tells whether crashes mean that a resolved group has come back: they are of the version that has the remedy, or a later one.
// A version that cannot be compared is later if the group never had it.
func (g *standing) back(ctx context.Context, tx *sql.Tx, c Count) (bool, error) {
	switch {
	case g.state != Resolved:
		return false, nil
	case g.resolvedIn == "" || c.Version == g.resolvedIn:
		return true, nil
	case c.Version == "":
		return false, nil
	}
	_, errA := version.NewVersion(c.Version)
	_, errB := version.NewVersion(g.resolvedIn)
	if errA == nil && errB == nil {
		return Later(c.Version, g.resolvedIn), nil
	}
	var one int
	err := tx.QueryRowContext(ctx, "SELECT 1 FROM group_counts WHERE group_id = $1 AND version = $2 LIMIT 1", c.Group, c.Version).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, err
}

// Later tells whether version a comes after b. Versions that are no numbers between dots are later than none.
func Later(a, b string) bool {
	va, err := version.NewVersion(a)
	if err != nil {
		return false
	}
	vb, err := version.NewVersion(b)
	return err == nil && va.GreaterThan(vb)
}

// event notes what became of a group, and for each webhook that wants such events and has some left of its day's budget, that
// it is to be told.
func event(ctx context.Context, tx *sql.Tx, e Event) error {
	today := e.Time / msDay
	_, err := tx.ExecContext(ctx, "INSERT INTO group_events (project_id, group_id, kind, detail, day, time, user_id) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		e.Project, e.Group, e.Kind, e.Detail, today, e.Time, e.User)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (webhook_id, group_id, event, body, due, created)
SELECT w.id, $1, $2, $3, $4, $4 FROM webhooks w
WHERE w.project_id = $5 AND w.active = 1 AND instr(',' || w.events || ',', ',' || $2 || ',') > 0
  AND (SELECT count(*) FROM deliveries d WHERE d.webhook_id = w.id AND d.created >= $6) < w.day_budget`,
		e.Group, e.Kind, e.Detail, e.Time, e.Project, today*msDay)
	return err
}

// Note notes what a person did to a group.
func Note(ctx context.Context, tx *sql.Tx, e Event) error { return event(ctx, tx, e) }
