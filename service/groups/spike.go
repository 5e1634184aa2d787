package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/backsight/backsight/service/db"
)

// before is how many days a day is compared with, least the crashes of a day below which nothing is a spike.
const before, least = 7, 20

// IsSpike tells whether a day's crashes are many beside those of the days before, of which there were so many a day: more than
// three times as many, and more than chance makes of a steady rate (four standard deviations of a Poisson distribution).
func IsSpike(today int64, mean float64) bool {
	n := float64(today)
	return today >= least && n > 3*mean && n > mean+4*math.Sqrt(mean)
}

// Spikes notes the groups that have a spike today, each once a day. Groups that are new today or ignored have none.
func Spikes(ctx context.Context, tx *sql.Tx, now time.Time) error {
	found, err := rising(ctx, tx, now)
	if err != nil {
		return err
	}
	for _, e := range found {
		if err := event(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

// rising are the spikes of today that are not noted yet.
func rising(ctx context.Context, tx *sql.Tx, now time.Time) (found []Event, err error) {
	today := db.Day(now)
	rows, err := tx.QueryContext(ctx, `SELECT g.project_id, g.id, sum(CASE WHEN c.day = $1 THEN c.count ELSE 0 END) AS n,
  sum(CASE WHEN c.day < $1 THEN c.count ELSE 0 END), $1 - max($2, g.first_seen / 86400000)
FROM group_counts c JOIN groups g ON g.id = c.group_id
WHERE c.day BETWEEN $2 AND $1 AND g.state <> 'ignored' AND g.first_seen / 86400000 < $1
  AND NOT EXISTS (SELECT 1 FROM group_events e WHERE e.group_id = g.id AND e.kind = 'spike' AND e.day = $1)
GROUP BY g.id HAVING sum(CASE WHEN c.day = $1 THEN c.count ELSE 0 END) >= $3`, today, today-before, least)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := Event{Kind: Spike, Time: db.Milli(now)}
		var n, earlier, days int64
		if err := rows.Scan(&e.Project, &e.Group, &n, &earlier, &days); err != nil {
			return nil, err
		}
		if mean := float64(earlier) / float64(max(days, 1)); IsSpike(n, mean) {
			e.Detail = fmt.Sprintf("%d today, %.1f a day before", n, mean)
			found = append(found, e)
		}
	}
	return found, rows.Err()
}
