package groups

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/backsight/backsight/internal/grouping"
	"github.com/backsight/backsight/internal/jsonreport"
)

// maxAsked bounds the groups that a new one is compared with, maxClues what it is found by.
const maxAsked, maxClues = 16, 96

// propose looks for the group that a new one is most alike, keeps the sentence why, and makes the new one found by its clues.
func propose(ctx context.Context, tx *sql.Tx, project, group int64, chain *jsonreport.Signature, now int64) error {
	clues := grouping.Clues(chain)
	clues = clues[:min(len(clues), maxClues)]
	best, most, why, err := likest(ctx, tx, project, chain, clues)
	if err != nil {
		return err
	}
	if best != 0 {
		_, err = tx.ExecContext(ctx, "INSERT INTO merges (project_id, group_id, into_id, why, score, created) VALUES ($1, $2, $3, $4, $5, $6)"+
			" ON CONFLICT (group_id, into_id) DO NOTHING", project, group, best, line(why), min(most, 1), now)
	}
	for _, clue := range clues {
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO group_clues (project_id, clue, group_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", project, line(clue), group)
		}
	}
	return err
}

// likest is the group that a chain is most like, of those that share clues; how much, and why. 0 for none.
func likest(ctx context.Context, tx *sql.Tx, project int64, chain *jsonreport.Signature, clues []string) (best int64, most float64, why string, err error) {
	asked, err := sharing(ctx, tx, project, clues)
	if err != nil {
		return 0, 0, "", err
	}
	for _, o := range asked {
		other, err := chainOf(ctx, tx, o)
		if err != nil {
			return 0, 0, "", err
		}
		if like, says := grouping.Alike(chain, other); like > most {
			best, most, why = o, like, says
		}
	}
	return best, most, why, nil
}

// sharing are groups that share clues, those with the most in common first.
func sharing(ctx context.Context, tx *sql.Tx, project int64, clues []string) (list []int64, err error) {
	common := map[int64]int{}
	for _, clue := range clues {
		rows, err := tx.QueryContext(ctx, "SELECT group_id FROM group_clues WHERE project_id = $1 AND clue = $2 ORDER BY group_id LIMIT 64", project, line(clue))
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			if common[id]++; common[id] == 1 {
				list = append(list, id)
			}
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b int64) int { return cmp.Or(cmp.Compare(common[b], common[a]), cmp.Compare(a, b)) })
	return list[:min(len(list), maxAsked)], nil
}

// chainOf is the signature of a group's first crash that has one.
func chainOf(ctx context.Context, tx *sql.Tx, group int64) (*jsonreport.Signature, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT chain FROM group_signatures WHERE group_id = $1 AND chain <> '' LIMIT 1", group).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return &jsonreport.Signature{}, nil
	} else if err != nil {
		return nil, err
	}
	s := &jsonreport.Signature{}
	return s, json.Unmarshal([]byte(text), s)
}

// ErrSame says that a group cannot be merged into another one.
var ErrSame = errors.New("groups of one project that are not merged yet can be merged, and two")

// Merge makes all crashes of one group those of another, and those to come. It returns the keys by which results are to Follow.
func Merge(ctx context.Context, tx *sql.Tx, from, into, now, user int64) (keys []string, err error) {
	project, err := mergeable(ctx, tx, from, into)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT signature FROM group_signatures WHERE group_id = $1", from)
	if err != nil {
		return nil, err
	}
	if keys, err = texts(rows); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := move(ctx, tx, key, from, into); err != nil {
			return nil, err
		}
	}
	if err := merged(ctx, tx, from, into, now, user); err != nil {
		return nil, err
	}
	return keys, event(ctx, tx, Event{Project: project, Group: into, Kind: Merged, Detail: fmt.Sprintf("group %d", from), Time: now, User: user})
}

// merged writes that a group is another one now.
func merged(ctx context.Context, tx *sql.Tx, from, into, now, user int64) error {
	err := run(ctx, tx, []statement{
		{"UPDATE groups SET merged_into = $2 WHERE id = $1 OR merged_into = $1", []any{from, into}},
		{"INSERT INTO group_clues (project_id, clue, group_id) SELECT project_id, clue, $2 FROM group_clues WHERE group_id = $1 ON CONFLICT DO NOTHING", []any{from, into}},
		{"DELETE FROM group_clues WHERE group_id = $1", []any{from}},
		{"UPDATE merges SET state = 'taken', decided = $3, user_id = $4 WHERE group_id = $1 AND into_id = $2", []any{from, into, now, user}},
		{"UPDATE merges SET into_id = $2 WHERE state = 'proposed' AND into_id = $1 AND group_id <> $2" +
			" AND group_id NOT IN (SELECT group_id FROM merges WHERE into_id = $2)", []any{from, into}},
		{"UPDATE merges SET state = 'refused', decided = $2 WHERE state = 'proposed' AND (group_id = $1 OR into_id = $1)", []any{from, now}},
	})
	if err != nil {
		return err
	}
	for _, g := range []int64{from, into} {
		if err := recount(ctx, tx, g); err != nil {
			return err
		}
	}
	return nil
}

// mergeable is the project of two groups that can be merged.
func mergeable(ctx context.Context, tx *sql.Tx, from, into int64) (project int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT a.project_id FROM groups a JOIN groups b ON b.project_id = a.project_id"+
		" WHERE a.id = $1 AND b.id = $2 AND a.id <> b.id AND a.merged_into = 0 AND b.merged_into = 0", from, into).Scan(&project)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrSame
	}
	return project, err
}

// move makes a key lead to another group, with all that was counted by it. The rows of results follow by Follow.
func move(ctx context.Context, tx *sql.Tx, key string, from, into int64) error {
	return run(ctx, tx, []statement{
		{"UPDATE group_signatures SET group_id = $3 WHERE signature = $1 AND group_id = $2", []any{key, from, into}},
		{`INSERT INTO group_counts (group_id, day, product, version, signature, count)
SELECT $3, day, product, version, signature, count FROM group_counts WHERE group_id = $2 AND signature = $1
ON CONFLICT (group_id, day, product, version, signature) DO UPDATE SET count = group_counts.count + excluded.count`, []any{key, from, into}},
		{"DELETE FROM group_counts WHERE group_id = $2 AND signature = $1", []any{key, from}},
		{`INSERT INTO group_devices (group_id, device, signature, count, first_seen, last_seen)
SELECT $3, device, signature, count, first_seen, last_seen FROM group_devices WHERE group_id = $2 AND signature = $1
ON CONFLICT (group_id, device, signature) DO UPDATE SET count = group_devices.count + excluded.count,
  first_seen = min(group_devices.first_seen, excluded.first_seen), last_seen = max(group_devices.last_seen, excluded.last_seen)`, []any{key, from, into}},
		{"DELETE FROM group_devices WHERE group_id = $2 AND signature = $1", []any{key, from}},
	})
}

// statement is a statement and what its parameters are.
type statement struct {
	text string
	args []any
}

// run runs statements one after the other.
func run(ctx context.Context, tx *sql.Tx, list []statement) error {
	for _, s := range list {
		if _, err := tx.ExecContext(ctx, s.text, s.args...); err != nil {
			return err
		}
	}
	return nil
}

// texts are the texts of rows of one column.
func texts(rows *sql.Rows) (list []string, err error) {
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
