package groups

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/backsight/backsight/service/db"
)

// Offered counts crashes of groups that are known, of which no body was sent, at one moment (each Count's When): a row a release and a
// device, and as many statements for many crashes as for few.
func Offered(ctx context.Context, d *db.DB, tx *sql.Tx, list []Count) error {
	if len(list) == 0 {
		return nil
	}
	devices, releases := added(list)
	more, err := offeredDevices(ctx, d, tx, devices, list[0].When)
	if err != nil {
		return err
	}
	slices.SortFunc(releases, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version)) })
	for i := 0; i < len(releases); {
		end := i + 1
		for end < len(releases) && releases[end].Group == releases[i].Group {
			end++
		}
		if _, err := countedOf(ctx, tx, releases[i:end], more[releases[i].Group]); err != nil {
			return err
		}
		i = end
	}
	return offeredDays(ctx, d, tx, releases)
}

// device is a row of group_devices.
type device struct {
	Group     int64  `json:"group_id"`
	Device    string `json:"device"`
	Signature string `json:"signature"`
	Count     int64  `json:"count"`
}

// pair is a device of a group, whatever its crashes' own keys.
type pair struct {
	group  int64
	device string
}

// added are crashes summed up by their device, and by their release.
func added(list []Count) (devices []device, releases []Count) {
	ofDevice, ofRelease := make(map[device]int64, len(list)), map[Count]int64{}
	for _, c := range list {
		c.Signature = db.PlainText(c.Signature)
		ofDevice[device{Group: c.Group, Device: line(c.Device), Signature: c.Signature}] += c.N
		ofRelease[Count{Project: c.Project, Group: c.Group, Signature: c.Signature, Product: line(c.Product), Version: line(c.Version), When: c.When}] += c.N
	}
	for d, n := range ofDevice {
		d.Count = n
		devices = append(devices, d)
	}
	for r, n := range ofRelease {
		r.N = n
		releases = append(releases, r)
	}
	return devices, releases
}

// offeredDevices counts for devices, and tells how many more the groups have.
func offeredDevices(ctx context.Context, d *db.DB, tx *sql.Tx, list []device, when int64) (more map[int64]int, err error) {
	rows, err := db.Rows(list)
	if err != nil {
		return nil, err
	}
	count := `INSERT INTO group_devices (group_id, device, signature, count, first_seen, last_seen)
SELECT group_id, device, signature, count, $2, $2 FROM ` + d.Table("$1", "group_id BIGINT", "device TEXT", "signature TEXT", "count BIGINT") + ` WHERE true
ON CONFLICT (group_id, device, signature) DO UPDATE SET count = group_devices.count + excluded.count, last_seen = excluded.last_seen
RETURNING group_id, device, signature, count`
	found, err := tx.QueryContext(ctx, count, rows, when)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	one := make(map[device]bool, len(list)) // what a row is where it was not there before
	for _, of := range list {
		one[of] = true
	}
	fresh := map[pair]int{}
	for found.Next() {
		var of device
		if err := found.Scan(&of.Group, &of.Device, &of.Signature, &of.Count); err != nil {
			return nil, err
		}
		if of.Device != "" && one[of] {
			fresh[pair{of.Group, of.Device}]++
		}
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	return newDevices(ctx, d, tx, fresh)
}

// newDevices tells how many devices groups have more by new rows, so many of each device: those that have no others.
func newDevices(ctx context.Context, d *db.DB, tx *sql.Tx, fresh map[pair]int) (more map[int64]int, err error) {
	more = map[int64]int{}
	if len(fresh) == 0 {
		return more, nil
	}
	var list []device
	for of, n := range fresh {
		more[of.group]++
		list = append(list, device{Group: of.group, Device: of.device, Count: int64(n)})
	}
	rows, err := db.Rows(list)
	if err != nil {
		return nil, err
	}
	found, err := tx.QueryContext(ctx, `SELECT list.group_id FROM `+d.Table("$1", "group_id BIGINT", "device TEXT", "count BIGINT")+`
WHERE list.count < (SELECT count(*) FROM group_devices g WHERE g.group_id = list.group_id AND g.device = list.device)`, rows)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var group int64
		if err := found.Scan(&group); err != nil {
			return nil, err
		}
		more[group]--
	}
	return more, found.Err()
}

// offeredDays counts for days.
func offeredDays(ctx context.Context, d *db.DB, tx *sql.Tx, list []Count) error {
	type day struct {
		Group     int64  `json:"group_id"`
		Day       int64  `json:"day"`
		Product   string `json:"product"`
		Version   string `json:"version"`
		Signature string `json:"signature"`
		Count     int64  `json:"count"`
	}
	days := make([]day, len(list))
	for i, c := range list {
		days[i] = day{c.Group, c.When / msDay, c.Product, c.Version, c.Signature, c.N}
	}
	rows, err := db.Rows(days)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO group_counts (group_id, day, product, version, signature, count)
SELECT group_id, day, product, version, signature, count FROM `+
		d.Table("$1", "group_id BIGINT", "day BIGINT", "product TEXT", "version TEXT", "signature TEXT", "count BIGINT")+` WHERE true
ON CONFLICT (group_id, day, product, version, signature) DO UPDATE SET count = group_counts.count + excluded.count`, rows)
	return err
}
