package groups

import (
	"context"
	"database/sql"
)

// Count is crashes of a group that are counted together.
type Count struct {
	Project, Group int64
	// Signature is their own key: "exact:…" or "none:…".
	Signature                string
	Device, Product, Version string
	// When is their time in milliseconds since 1970, N how many they are; below zero: they are taken back.
	When, N int64
}

// msDay is a day in milliseconds.
const msDay = 24 * 60 * 60 * 1000

// counted changes all that is counted of a group, and tells whether that has come back.
func counted(ctx context.Context, tx *sql.Tx, c Count) (regressed bool, err error) {
	device, err := countDevice(ctx, tx, c)
	if err != nil {
		return false, err
	}
	c.Product, c.Version = line(c.Product), line(c.Version)
	if regressed, err = countedOf(ctx, tx, []Count{c}, device); err != nil {
		return false, err
	}
	return regressed, countDay(ctx, tx, c)
}

// countedOf counts crashes of a group, by which it has so many devices more; the tables of its devices and days are the caller's. It
// tells whether the group has come back.
func countedOf(ctx context.Context, tx *sql.Tx, list []Count, devices int) (regressed bool, err error) {
	var g standing
	if err = g.read(ctx, tx, list[0].Group); err != nil {
		return false, err
	}
	n := int64(0)
	for _, c := range list {
		n += c.N
		back, err := g.seen(ctx, tx, c)
		if err == nil && back {
			regressed = true
			err = event(ctx, tx, Event{Project: c.Project, Group: c.Group, Kind: Regressed, Detail: c.Version, Time: c.When})
		}
		if err != nil {
			return false, err
		}
	}
	first := list[0]
	_, err = tx.ExecContext(ctx, "UPDATE groups SET count = count + $1, devices = devices + $2, first_seen = min(first_seen, $3),"+
		" first_version = CASE WHEN $1 > 0 AND $3 < first_seen THEN $4 ELSE first_version END,"+ // captures are backtraced in any order
		" last_seen = max(last_seen, $3), last_version = $5, state = $6 WHERE id = $7", n, devices, first.When, first.Version, g.lastVersion, g.state, first.Group)
	return regressed, err
}

// countDevice counts for the device, and tells whether the group has a device more (1) or less (-1).
func countDevice(ctx context.Context, tx *sql.Tx, c Count) (more int, err error) {
	const others = "SELECT count(*) FROM (SELECT 1 FROM group_devices WHERE group_id = $1 AND device = $2 LIMIT 1) o"
	c.Device = line(c.Device)
	var before, after int
	if err = tx.QueryRowContext(ctx, others, c.Group, c.Device).Scan(&before); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO group_devices (group_id, device, signature, count, first_seen, last_seen) VALUES ($1, $2, $3, $4, $5, $5)"+
		" ON CONFLICT (group_id, device, signature) DO UPDATE SET count = group_devices.count + excluded.count,"+
		" first_seen = min(group_devices.first_seen, excluded.first_seen), last_seen = max(group_devices.last_seen, excluded.last_seen)",
		c.Group, c.Device, c.Signature, c.N, c.When)
	if err != nil || c.N > 0 {
		return counts(c.Device) * (1 - before), err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM group_devices WHERE group_id = $1 AND device = $2 AND signature = $3 AND count <= 0", c.Group, c.Device, c.Signature)
	if err == nil {
		err = tx.QueryRowContext(ctx, others, c.Group, c.Device).Scan(&after)
	}
	return counts(c.Device) * (after - before), err
}

// counts is 1 for a device, and 0 for crashes that do not say theirs.
func counts(device string) int {
	if device == "" {
		return 0
	}
	return 1
}

func countDay(ctx context.Context, tx *sql.Tx, c Count) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO group_counts (group_id, day, product, version, signature, count) VALUES ($1, $2, $3, $4, $5, $6)"+
		" ON CONFLICT (group_id, day, product, version, signature) DO UPDATE SET count = group_counts.count + excluded.count",
		c.Group, c.When/msDay, c.Product, c.Version, c.Signature, c.N)
	if err == nil && c.N < 0 {
		_, err = tx.ExecContext(ctx, "DELETE FROM group_counts WHERE group_id = $1 AND count <= 0", c.Group)
	}
	return err
}

// recount makes what is counted of a group anew, after keys have come or gone.
func recount(ctx context.Context, tx *sql.Tx, group int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE groups SET
  count = (SELECT coalesce(sum(count), 0) FROM group_counts WHERE group_id = $1),
  devices = (SELECT count(DISTINCT device) FROM group_devices WHERE group_id = $1 AND device <> ''),
  first_seen = coalesce((SELECT min(first_seen) FROM group_devices WHERE group_id = $1), first_seen),
  last_seen = coalesce((SELECT max(last_seen) FROM group_devices WHERE group_id = $1), last_seen),
  first_version = coalesce((SELECT version FROM group_counts WHERE group_id = $1 ORDER BY day LIMIT 1), first_version)
WHERE id = $1`, group)
	if err != nil {
		return err
	}
	last, err := lastVersion(ctx, tx, group)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE groups SET last_version = $1 WHERE id = $2", last, group)
	return err
}

// lastVersion is the latest version of those in which a group was seen.
func lastVersion(ctx context.Context, tx *sql.Tx, group int64) (last string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT version FROM group_counts WHERE group_id = $1", group)
	if err != nil {
		return "", err
	}
	versions, err := texts(rows)
	for _, v := range versions {
		if last == "" || Later(v, last) {
			last = v
		}
	}
	return last, err
}
