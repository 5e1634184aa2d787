package groups_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/backsight/backsight/service/groups"
)

// counted is all that is counted of groups.
func (f *fleet) counted() string {
	return f.one("SELECT group_concat(t) FROM (SELECT id || ' ' || count || ' ' || devices || ' ' || last_version || ' ' || last_seen AS t FROM groups ORDER BY id) g") + "\n" +
		f.one("SELECT group_concat(t) FROM (SELECT group_id || ' ' || device || ' ' || signature || ' ' || count || ' ' || first_seen AS t FROM group_devices ORDER BY group_id, device, signature) g") + "\n" +
		f.one("SELECT group_concat(t) FROM (SELECT group_id || ' ' || day || ' ' || version || ' ' || signature || ' ' || count AS t FROM group_counts ORDER BY group_id, version, signature) g")
}

// TestOfferedTogether: crashes that are offered, many at once, are counted as those that were sent, one after the other: a device of two
// keys of a group is one device of that, and crashes without a device are none.
func TestOfferedTogether(t *testing.T) {
	sent, offered := newFleet(t), newFleet(t)
	keys := []struct{ exact, stable, function string }{{"1", "a", "pack"}, {"2", "a", "pack"}, {"3", "b", "write_log"}}
	r := rand.New(rand.NewPCG(1, 2))
	of := map[string]int64{}
	var waiting []groups.Count
	for i := range 200 {
		k := keys[r.IntN(len(keys))]
		device, version := []string{"", "box1", "box2", "box3", "box4"}[r.IntN(5)], fmt.Sprint("2.", r.IntN(12))
		sent.crash(device, version, day, k.exact, k.stable, k.function, "main")
		if of[k.exact] == 0 {
			of[k.exact] = offered.crash(device, version, day, k.exact, k.stable, k.function, "main").Group
			continue
		}
		waiting = append(waiting, groups.Count{Project: 1, Group: of[k.exact], Signature: "exact:" + strings.Repeat(k.exact, 16), Device: device, Version: version, When: day, N: 1})
		if r.IntN(20) == 0 || i == 199 {
			offered.tx(func(tx *sql.Tx) error { return groups.Offered(t.Context(), offered.db, tx, waiting) })
			waiting = nil
		}
	}
	if got, want := offered.counted(), sent.counted(); got != want {
		t.Errorf("offered:\n%s\nsent:\n%s", got, want)
	}
}
