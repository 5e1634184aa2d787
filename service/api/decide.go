package api

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/backsight/backsight/service/auth"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/groups"
)

// Decision is what a person says of a group. What is nil stays.
type Decision struct {
	// State is open, resolved or ignored; ResolvedIn is the version that has the remedy, "" for the next crash to tell.
	State      *string `json:"state,omitempty"`
	ResolvedIn *string `json:"resolved_in,omitempty"`
	// Assignee is a user's name, "" for nobody.
	Assignee *string `json:"assignee,omitempty"`
	Notes    *string `json:"notes,omitempty"`
	Links    *[]Link `json:"links,omitempty"`
}

// ErrWrong says that what was asked for is wrong, and what.
var ErrWrong = errors.New("this cannot be")

// Bounds of what people write, in bytes and entries.
const maxNotes, maxShort, maxLinks = 64 << 10, 500, 20

// Decide writes what a person says of a group, as an event of the group and into the log of what was done.
func (d *Data) Decide(ctx context.Context, by auth.User, id int64, what Decision) error {
	if err := what.check(); err != nil {
		return err
	}
	return d.db.Tx(ctx, func(tx *sql.Tx) error {
		var project int64
		if err := tx.QueryRowContext(ctx, "SELECT project_id FROM groups WHERE id = $1", id).Scan(&project); err != nil {
			return none(err)
		}
		done, err := what.write(ctx, tx, id)
		if err != nil {
			return err
		}
		now := d.now()
		for _, detail := range done {
			if err := groups.Note(ctx, tx, groups.Event{Project: project, Group: id, Kind: groups.Triage, Detail: detail, Time: db.Milli(now), User: by.ID}); err != nil {
				return err
			}
			if err := auth.Audit(ctx, tx, now, by.ID, "triage", fmt.Sprintf("group %d", id), detail); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *Decision) check() error {
	switch {
	case w.State != nil && !slices.Contains(States(), *w.State):
		return fmt.Errorf("%w: %q is no state", ErrWrong, *w.State)
	case w.ResolvedIn != nil && len(*w.ResolvedIn) > maxShort, w.Notes != nil && len(*w.Notes) > maxNotes:
		return fmt.Errorf("%w: too long", ErrWrong)
	case w.Links != nil && len(*w.Links) > maxLinks:
		return fmt.Errorf("%w: more than %d links", ErrWrong, maxLinks)
	case w.Links != nil:
		for _, l := range *w.Links {
			if u, err := url.Parse(l.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(l.URL) > maxShort || len(l.Label) > maxShort {
				return fmt.Errorf("%w: a link begins with https:// or http://", ErrWrong)
			}
		}
	}
	return nil
}

// column is what a decision writes, and how that is told.
type column struct {
	name   string
	value  any
	detail string
}

// columns are what a decision writes.
func (w *Decision) columns(ctx context.Context, tx *sql.Tx) (list []column, err error) {
	if w.State != nil {
		in, detail := "", *w.State
		if w.ResolvedIn != nil && *w.State == groups.Resolved && *w.ResolvedIn != "" {
			in = *w.ResolvedIn
			detail += " in " + in
		}
		list = append(list, column{"resolved_in", in, detail}, column{"state", *w.State, detail})
	}
	if w.Assignee != nil {
		var user int64
		if *w.Assignee != "" {
			err := tx.QueryRowContext(ctx, "SELECT id FROM users WHERE name = $1 AND disabled = 0", *w.Assignee).Scan(&user)
			if errors.Is(err, sql.ErrNoRows) {
				return nil, fmt.Errorf("%w: nobody is called %q", ErrWrong, *w.Assignee)
			} else if err != nil {
				return nil, err
			}
		}
		list = append(list, column{"assignee", user, "assigned to " + cmp.Or(*w.Assignee, "nobody")})
	}
	if w.Notes != nil {
		list = append(list, column{"notes", *w.Notes, "notes"})
	}
	if w.Links != nil {
		text, err := json.Marshal(*w.Links)
		if err != nil {
			return nil, err
		}
		list = append(list, column{"links", string(text), "links"})
	}
	return list, nil
}

// write writes a decision, and says what of it was not so before.
func (w *Decision) write(ctx context.Context, tx *sql.Tx, id int64) (done []string, err error) {
	list, err := w.columns(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		changed, err := tx.ExecContext(ctx, "UPDATE groups SET "+c.name+" = $1 WHERE id = $2 AND "+c.name+" <> $1", c.value, id)
		if err != nil {
			return nil, err
		}
		if n, err := changed.RowsAffected(); err != nil {
			return nil, err
		} else if n > 0 && !slices.Contains(done, c.detail) {
			done = append(done, c.detail)
		}
	}
	return done, nil
}

// Merge makes a group's crashes those of another one.
func (d *Data) Merge(ctx context.Context, by auth.User, from, into int64) error {
	now := d.now()
	var keys []string
	err := d.db.Tx(ctx, func(tx *sql.Tx) (err error) {
		if keys, err = groups.Merge(ctx, tx, from, into, db.Milli(now), by.ID); err != nil {
			return err
		}
		return auth.Audit(ctx, tx, now, by.ID, "merge", fmt.Sprintf("group %d", from), fmt.Sprintf("into group %d", into))
	})
	for _, key := range keys {
		if err == nil {
			err = groups.Follow(ctx, d.db, key, from, into)
		}
	}
	if errors.Is(err, groups.ErrSame) {
		err = fmt.Errorf("%w: %w", ErrWrong, err)
	}
	return err
}

// Proposal takes or refuses a proposal to merge.
func (d *Data) Proposal(ctx context.Context, by auth.User, id int64, take bool) error {
	list, err := d.merges(ctx, "m.id = $1 AND m.state = 'proposed'", id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return ErrNone
	}
	if take {
		return d.Merge(ctx, by, list[0].From.ID, list[0].Into.ID)
	}
	return d.db.Tx(ctx, func(tx *sql.Tx) error {
		now := d.now()
		if _, err := tx.ExecContext(ctx, "UPDATE merges SET state = 'refused', decided = $1, user_id = $2 WHERE id = $3", db.Milli(now), by.ID, id); err != nil {
			return err
		}
		return auth.Audit(ctx, tx, now, by.ID, "refuse merge", fmt.Sprintf("group %d", list[0].From.ID), list[0].Why)
	})
}

// Rules are a project's rules of a version, the active one first.
type Rules struct {
	Version int64  `json:"version"`
	Text    string `json:"text"`
	Active  bool   `json:"active"`
	User    string `json:"user"`
	Created int64  `json:"created"` // milliseconds since 1970
}

// Rules are the last versions of a project's rules, the newest first.
func (d *Data) Rules(ctx context.Context, project int64) ([]Rules, error) {
	return all(ctx, d.db.Read, func(r *sql.Rows, v *Rules) error { return r.Scan(&v.Version, &v.Text, &v.Active, &v.User, &v.Created) },
		"SELECT r.version, r.text, r.active, coalesce(u.name, ''), r.created FROM rules r LEFT JOIN users u ON u.id = r.user_id WHERE r.project_id = $1 ORDER BY r.version DESC LIMIT 50", project)
}

// Try tells what rules would change in the last 10,000 results.
func (d *Data) Try(ctx context.Context, project int64, text string) (*groups.Tried, error) {
	rules, err := groups.ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	return groups.Try(ctx, d.db.Read, project, rules)
}

// Take makes rules those that hold; the caller then regroups.
func (d *Data) Take(ctx context.Context, by auth.User, project int64, text string) (version int64, err error) {
	if _, err := groups.ParseRules(text); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	err = d.db.Tx(ctx, func(tx *sql.Tx) error {
		now := d.now()
		if version, err = groups.Take(ctx, tx, project, text, db.Milli(now), by.ID); err != nil {
			return err
		}
		return auth.Audit(ctx, tx, now, by.ID, "rules", fmt.Sprintf("project %d", project), fmt.Sprintf("version %d", version))
	})
	return version, err
}
