package worker

import (
	"context"
	"database/sql"
	"errors"

	"github.com/backsight/backsight/service/retention"
)

// keeps tells whether the body and the report of a group's newest crash are kept: the first of a group are, of all further ones a
// sample, of which each crash is a part with the same chance (a reservoir).
func (w *Workers) keeps(ctx context.Context, tx *sql.Tx, c *capture, group int64) (bool, error) {
	var count, kept, first, sample int64
	err := tx.QueryRowContext(ctx, "SELECT g.count, g.kept, p.keep_first, p.keep_sample FROM groups g JOIN projects p ON p.id = g.project_id WHERE g.id = $1",
		group).Scan(&count, &kept, &first, &sample)
	if err != nil {
		return false, err
	}
	switch {
	case kept < first+sample:
	case !chance(sample, count-first):
		return false, retention.Drop(ctx, tx, c.id)
	default:
		if err := dropOne(ctx, tx, group, first); err != nil {
			return false, err
		}
		kept--
	}
	_, err = tx.ExecContext(ctx, "UPDATE groups SET kept = $2 WHERE id = $1", group, kept+1)
	return true, err
}

// dropOne gives one of a group's sample up, which is that behind the first ones.
func dropOne(ctx context.Context, tx *sql.Tx, group, first int64) error {
	const pick = `SELECT capture_id FROM (SELECT r.capture_id FROM results r JOIN captures c ON c.id = r.capture_id
		WHERE r.group_id = $1 AND c.kept = 1 ORDER BY r.capture_id LIMIT 1000000 OFFSET $2) o ORDER BY random() LIMIT 1`
	var id int64
	err := tx.QueryRowContext(ctx, pick, group, first).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return retention.Drop(ctx, tx, id)
}
