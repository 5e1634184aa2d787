package groups

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/service/db"
)

// batch bounds the rows that one transaction changes, so that others need not wait long.
const batch = 2000

// Active are the rules that hold in a project.
func Active(ctx context.Context, tx querier, project int64) (*Rules, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT text FROM rules WHERE project_id = $1 AND active = 1 ORDER BY version DESC LIMIT 1", project).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return &Rules{}, nil
	} else if err != nil {
		return nil, err
	}
	return ParseRules(text)
}

// querier is a database or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Take makes rules those that hold in a project, and returns their version. Regroup then makes the groups anew.
func Take(ctx context.Context, tx *sql.Tx, project int64, text string, now, user int64) (version int64, err error) {
	if _, err := ParseRules(text); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) + 1 FROM rules WHERE project_id = $1", project).Scan(&version)
	if err != nil {
		return 0, err
	}
	return version, run(ctx, tx, []statement{
		{"UPDATE rules SET active = 0 WHERE project_id = $1", []any{project}},
		{"INSERT INTO rules (project_id, version, text, active, created, user_id) VALUES ($1, $2, $3, 1, $4, $5)", []any{project, version, text, now, user}},
	})
}

// Regroup gives each key of a project the group that it has by the rules that hold, and returns how many keys went to another
// one. Running it again changes nothing. A group goes on with the most crashes of those that were in it.
func Regroup(ctx context.Context, d *db.DB, project int64, now time.Time) (moved int, err error) {
	rules, err := Active(ctx, d.Read, project)
	if err != nil {
		return 0, err
	}
	list, err := signed(ctx, d.Read, project)
	if err != nil {
		return 0, err
	}
	r := regrouper{db: d, project: project, now: db.Milli(now), claimed: map[int64]string{}, changed: map[int64]bool{}}
	for i := range list {
		ok, err := r.one(ctx, &list[i], rules)
		if err != nil {
			return moved, err
		}
		if ok {
			moved++
		}
	}
	return moved, r.recount(ctx)
}

// recount counts the groups anew that keys came to or left.
func (r *regrouper) recount(ctx context.Context) error {
	for _, g := range slices.Sorted(maps.Keys(r.changed)) {
		if err := r.db.Tx(ctx, func(tx *sql.Tx) error { return recount(ctx, tx, g) }); err != nil {
			return err
		}
	}
	return nil
}

// signedGroup is a key of a crash with its chain, and where it leads.
type signedGroup struct {
	key   string
	group int64
	count int64
	chain jsonreport.Signature
}

// signed are the keys of a project that have a chain, those with the most crashes first. The chains, which are large, are read one
// at a time.
func signed(ctx context.Context, q querier, project int64) (list []signedGroup, err error) {
	rows, err := q.QueryContext(ctx, `SELECT s.signature, s.group_id, '{}', coalesce(sum(c.count), 0) AS n FROM group_signatures s
LEFT JOIN group_counts c ON c.group_id = s.group_id AND c.signature = s.signature
WHERE s.project_id = $1 AND s.chain <> '' GROUP BY s.signature, s.group_id ORDER BY n DESC, s.signature`, project)
	if err != nil {
		return nil, err
	}
	return signedGroups(rows)
}

// signedGroups are rows of a key, its group, chain and count.
func signedGroups(rows *sql.Rows) (list []signedGroup, err error) {
	defer rows.Close()
	for rows.Next() {
		var g signedGroup
		var chain string
		if err := rows.Scan(&g.key, &g.group, &chain, &g.count); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(chain), &g.chain); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, rows.Err()
}

type regrouper struct {
	db      *db.DB
	project int64
	now     int64
	claimed map[int64]string // groups that go on, by the key of the first that stays in each
	changed map[int64]bool
}

// one gives one key its group, and tells whether that is another one than before.
func (r *regrouper) one(ctx context.Context, s *signedGroup, rules *Rules) (moved bool, err error) {
	var to int64
	err = r.db.Tx(ctx, func(tx *sql.Tx) error {
		keys, err := r.keys(ctx, tx, s.key, rules)
		if err != nil {
			return err
		}
		if to, err = r.target(ctx, tx, s, keys); err != nil || to == s.group {
			return err
		}
		return move(ctx, tx, s.key, s.group, to)
	})
	if err != nil || to == s.group {
		return false, err
	}
	r.changed[s.group], r.changed[to] = true, true
	return true, Follow(ctx, r.db, s.key, s.group, to)
}

// keys are those of a crash's key by rules.
func (r *regrouper) keys(ctx context.Context, tx *sql.Tx, key string, rules *Rules) (Keys, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT chain FROM group_signatures WHERE project_id = $1 AND signature = $2", r.project, key).Scan(&text)
	if err != nil {
		return Keys{}, err
	}
	var chain jsonreport.Signature
	if err := json.Unmarshal([]byte(text), &chain); err != nil {
		return Keys{}, err
	}
	return rules.keys(&chain), nil
}

// target is the group of keys: the one that they lead to already; else the one where the crash is, if no other key goes on with
// that; else a new one. The first crash that comes to a group, one of those with the most, gives it its title.
func (r *regrouper) target(ctx context.Context, tx *sql.Tx, s *signedGroup, keys Keys) (to int64, err error) {
	if keys.Group != keys.Own {
		if to, err = led(ctx, tx, r.project, keys.Group); err != nil {
			return 0, err
		}
	}
	known := to != 0
	if !known {
		if to, err = r.fresh(ctx, tx, s, keys); err != nil {
			return 0, err
		}
	}
	if r.claimed[to] == "" {
		r.claimed[to] = keys.Group
		if _, err := tx.ExecContext(ctx, "UPDATE groups SET title = $1 WHERE id = $2 AND title <> $1", keys.Title, to); err != nil {
			return 0, err
		}
	}
	if known || keys.Group == keys.Own {
		return to, nil
	}
	return to, lead(ctx, tx, r.project, keys.Group, to, nil)
}

// fresh is the group of a key that led to none.
func (r *regrouper) fresh(ctx context.Context, tx *sql.Tx, s *signedGroup, keys Keys) (int64, error) {
	if by := r.claimed[s.group]; by == "" || by == keys.Group {
		return s.group, nil
	}
	to, err := create(ctx, tx, &Crash{Project: r.project, Received: r.now}, keys, "")
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE groups SET signal = (SELECT signal FROM groups o WHERE o.id = $1) WHERE id = $2", s.group, to)
	return to, err
}

// Follow makes results those of the group that their key has come to, a batch of rows at a time.
func Follow(ctx context.Context, d *db.DB, key string, from, into int64) error {
	exact, ok := strings.CutPrefix(key, "exact:")
	if !ok && !strings.HasPrefix(key, "none:") {
		return nil // a stable key is no crash's own
	} else if !ok {
		exact = ""
	}
	for n := int64(batch); n == batch; {
		err := d.Tx(ctx, func(tx *sql.Tx) (err error) {
			n, err = follow(ctx, tx, exact, from, into)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow does that for some rows, and tells how many these were.
func follow(ctx context.Context, tx *sql.Tx, exact string, from, into int64) (n int64, err error) {
	const some = "(SELECT r.capture_id FROM results r WHERE r.group_id = $1 AND r.exact = $2 ORDER BY r.capture_id LIMIT $3)"
	var kept int64
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM captures WHERE kept = 1 AND id IN "+some, from, exact, batch).Scan(&kept)
	if err != nil {
		return 0, err
	}
	done, err := tx.ExecContext(ctx, "UPDATE results SET group_id = $4 WHERE capture_id IN "+some, from, exact, batch, into)
	if err != nil {
		return 0, err
	}
	if n, err = done.RowsAffected(); err != nil {
		return 0, err
	}
	return n, run(ctx, tx, []statement{
		{"UPDATE groups SET kept = max(0, kept - $1) WHERE id = $2", []any{kept, from}},
		{"UPDATE groups SET kept = kept + $1 WHERE id = $2", []any{kept, into}},
	})
}
