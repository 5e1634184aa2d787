package worker

import (
	"context"
	"database/sql"
	"errors"
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
		return false, drop(ctx, tx, c.id)
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
		WHERE r.group_id = $1 AND c.kept = 1 ORDER BY r.capture_id LIMIT -1 OFFSET $2) ORDER BY random() LIMIT 1`
	var id int64
	err := tx.QueryRowContext(ctx, pick, group, first).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return drop(ctx, tx, id)
}

// drop takes the body and the report of a capture, whose result stays as a row.
func drop(ctx context.Context, tx *sql.Tx, id int64) error {
	for _, s := range []string{
		"UPDATE captures SET kept = 0 WHERE id = $1",
		"UPDATE results SET report = NULL, page = NULL WHERE capture_id = $1",
		"DELETE FROM missing WHERE capture_id = $1",
		`DELETE FROM blobs WHERE sha256 = (SELECT sha256 FROM captures WHERE id = $1)
			AND NOT EXISTS (SELECT 1 FROM captures c WHERE c.sha256 = blobs.sha256 AND c.kept = 1)`,
	} {
		if _, err := tx.ExecContext(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}
