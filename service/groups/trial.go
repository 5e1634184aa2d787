package groups

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Tried is what rules would make of a project's last results.
type Tried struct {
	// Results are how many were looked at, Moved how many of them would be in another group.
	Results int64 `json:"results"`
	Moved   int64 `json:"moved"`
	// Before and After are how many groups these results have.
	Before int `json:"before"`
	After  int `json:"after"`
	// Changes are the groups that change, those with the most results first.
	Changes []Change `json:"changes"`
}

// Change is results of a group that would have another key.
type Change struct {
	Group int64 `json:"group"`
	// Was and Title are the title that it has, and would have.
	Was     string `json:"was"`
	Title   string `json:"title"`
	Results int64  `json:"results"`
	// Joins: it would be one with another group; else it leaves its own.
	Joins bool `json:"joins"`
}

// maxTried bounds the results that rules are tried out on, maxChanges the changes that are listed.
const maxTried, maxChanges = 10_000, 50

// Try tells what rules would change in a project's last 10,000 results.
func Try(ctx context.Context, q querier, project int64, rules *Rules) (*Tried, error) {
	list, err := recent(ctx, q, project)
	if err != nil {
		return nil, err
	}
	t := &Tried{}
	largest, owners := map[int64]string{}, map[string]int64{}
	before, after := map[int64]bool{}, map[string]bool{}
	all := make([]Keys, len(list))
	for i := range list {
		all[i] = rules.keys(&list[i].chain)
	}
	lead, err := ledAll(ctx, q, project, all)
	if err != nil {
		return nil, err
	}
	for i, k := range all {
		s := &list[i]
		if known := lead[k.Group]; known == s.group {
			k.Group = fmt.Sprint("group ", known) // a person may have merged what has several keys
		}
		t.Results += s.count
		before[s.group], after[k.Group] = true, true
		if largest[s.group] == "" {
			largest[s.group] = k.Group
		}
		if owners[k.Group] == 0 {
			owners[k.Group] = s.group
		}
		if owners[k.Group] != s.group || largest[s.group] != k.Group {
			t.Moved += s.count
			t.Changes = append(t.Changes, Change{Group: s.group, Was: s.chain.Title, Title: k.Title, Results: s.count, Joins: owners[k.Group] != s.group})
		}
	}
	t.Before, t.After = len(before), len(after)
	slices.SortStableFunc(t.Changes, func(a, b Change) int { return cmp.Compare(b.Results, a.Results) })
	t.Changes = t.Changes[:min(len(t.Changes), maxChanges)]
	return t, nil
}

// askAtOnce is how many keys are asked for in a statement.
const askAtOnce = 500

// ledAll are the groups that keys lead to.
func ledAll(ctx context.Context, q querier, project int64, all []Keys) (map[string]int64, error) {
	lead := map[string]int64{}
	for part := range slices.Chunk(all, askAtOnce) {
		args := []any{project}
		var places []string
		for _, k := range part {
			args = append(args, k.Group)
			places = append(places, fmt.Sprintf("$%d", len(args)))
		}
		rows, err := q.QueryContext(ctx, "SELECT signature, group_id FROM group_signatures WHERE project_id = $1 AND signature IN ("+strings.Join(places, ", ")+")", args...)
		if err != nil {
			return nil, err
		}
		if err := leads(rows, lead); err != nil {
			return nil, err
		}
	}
	return lead, nil
}

func leads(rows *sql.Rows, lead map[string]int64) error {
	defer rows.Close()
	for rows.Next() {
		var key string
		var group int64
		if err := rows.Scan(&key, &group); err != nil {
			return err
		}
		lead[key] = group
	}
	return rows.Err()
}

// recent are the keys of a project's last results, and how many of these have each, the most first.
func recent(ctx context.Context, q querier, project int64) (list []signedGroup, err error) {
	rows, err := q.QueryContext(ctx, `SELECT s.signature, s.group_id, s.chain, f.n FROM
  (SELECT r.exact, count(*) AS n FROM (SELECT id FROM captures WHERE project_id = $1 ORDER BY received DESC LIMIT $2) c
   CROSS JOIN results r WHERE r.capture_id = c.id GROUP BY r.exact) f
CROSS JOIN group_signatures s WHERE s.project_id = $1 AND s.signature = 'exact:' || f.exact AND s.chain <> '' ORDER BY f.n DESC, s.signature`, project, maxTried)
	if err != nil {
		return nil, err
	}
	return signedGroups(rows)
}
