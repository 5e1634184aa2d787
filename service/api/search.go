package api

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Found is what a search has found: the last captures, and the groups of the last thousand.
type Found struct {
	Captures []Capture `json:"captures"`
	Groups   []Brief   `json:"groups"`
	// Looked is how many captures the groups are of, at most maxGrouped.
	Looked int64 `json:"looked"`
}

// maxGrouped bounds the captures whose groups a search tells, maxTerms the terms of a search.
const maxGrouped, maxTerms = 1000, 16

// query is a search as SQL.
type query struct {
	words []string // of the search table
	terms []string
	args  []any
}

func (q *query) add(term string, value any) {
	q.args = append(q.args, value)
	q.terms = append(q.terms, strings.ReplaceAll(term, "?", "$"+number(len(q.args))))
}

func number(n int) string { return strconv.Itoa(n) }

// Fields are what a search may name, as in "function:pack".
func Fields() []string {
	return []string{"function", "module", "build", "annotation", "log", "address", "signal", "device", "product", "version", "after", "before"}
}

// Search finds captures by words, all of which they must have:
//
//	on_packet                     in any text of the capture
//	function:pack module:netd     a function, a module; build:, annotation:, log: likewise
//	signal:SIGSEGV address:0x40   what happened; device:, product:, version: likewise
//	after:2026-01-31 before:…     when it was received (UTC)
//	"watchdog bit"                words in this order; pack* words that begin so
func (d *Data) Search(ctx context.Context, project int64, text string) (*Found, error) {
	q := query{}
	q.add("c.project_id = ?", project)
	for _, term := range split(text) {
		if err := q.term(term); err != nil {
			return nil, err
		}
	}
	from, order := "captures c CROSS JOIN results r ON r.capture_id = c.id", "c.id"
	if len(q.words) > 0 {
		q.add("search MATCH ?", strings.Join(q.words, " AND "))
		from, order = "search s CROSS JOIN captures c ON c.id = s.rowid CROSS JOIN results r ON r.capture_id = s.rowid", "s.rowid"
	}
	return d.found(ctx, from+" WHERE "+strings.Join(q.terms, " AND "), order, q.args)
}

func (d *Data) found(ctx context.Context, from, order string, args []any) (*Found, error) {
	out := &Found{}
	ordered := fmt.Sprintf(" ORDER BY %s DESC LIMIT $%d", order, len(args)+1)
	var err error
	if out.Captures, err = all(ctx, d.db.Read, scanCapture, "SELECT "+captureColumns+" FROM "+from+ordered, append(slices.Clone(args), maxListed)...); err != nil {
		return nil, searched(err)
	}
	if len(out.Captures) < maxListed { // all there are
		return out, d.groupsOf(ctx, out)
	}
	out.Groups, err = all(ctx, d.db.Read, scanBrief, "SELECT g.id, g.title, count(*) AS n FROM (SELECT r.group_id AS id FROM "+from+ordered+") f JOIN groups g ON g.id = f.id GROUP BY g.id ORDER BY n DESC, g.id LIMIT 50",
		append(slices.Clone(args), maxGrouped)...)
	for _, g := range out.Groups {
		out.Looked += g.Count
	}
	return out, searched(err)
}

func scanBrief(r *sql.Rows, g *Brief) error { return r.Scan(&g.ID, &g.Title, &g.Count) }

// groupsOf are the groups of captures that are all listed.
func (d *Data) groupsOf(ctx context.Context, out *Found) error {
	of := map[int64]int{}
	for _, c := range out.Captures {
		i, ok := of[c.Group]
		if !ok {
			i = len(out.Groups)
			of[c.Group] = i
			g := Brief{ID: c.Group}
			if err := d.db.Read.QueryRowContext(ctx, "SELECT title FROM groups WHERE id = $1", c.Group).Scan(&g.Title); err != nil {
				return err
			}
			out.Groups = append(out.Groups, g)
		}
		out.Groups[i].Count++
		out.Looked++
	}
	slices.SortStableFunc(out.Groups, func(a, b Brief) int { return int(b.Count - a.Count) })
	return nil
}

// ErrSearch says that a search cannot be understood.
var ErrSearch = errors.New("this search cannot be understood")

// searched makes ErrSearch of what the search table says of a query.
func searched(err error) error {
	if err != nil && strings.Contains(err.Error(), "fts5: syntax error") {
		return ErrSearch
	}
	return err
}

// split are the terms of a text: what stands between blanks, or between quotes with what stands before.
func split(text string) (terms []string) {
	var b strings.Builder
	quoted := false
	for _, r := range text + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted, r == '\n', r == '\t':
			if b.Len() > 0 && len(terms) < maxTerms {
				terms = append(terms, b.String())
			}
			b.Reset()
			continue
		}
		b.WriteRune(r)
	}
	if quoted && b.Len() > 0 && len(terms) < maxTerms {
		terms = append(terms, strings.TrimSpace(b.String()))
	}
	return terms
}

// term adds a term to the query.
func (q *query) term(term string) error {
	field, value, ok := strings.Cut(term, ":")
	if !ok || !slices.Contains(Fields(), field) {
		field, value = "", term // such as net::Socket::read
	}
	exact := strings.ReplaceAll(value, `"`, "")
	if exact == "" {
		return nil
	}
	switch field {
	case "function", "module", "build", "annotation":
		q.words = append(q.words, field+"s : "+phrase(value))
	case "log":
		q.words = append(q.words, "log : "+phrase(value))
	case "":
		q.words = append(q.words, phrase(value))
	case "signal":
		q.add("r.signal = ?", exact)
	case "address":
		return q.address(exact)
	case "device", "product", "version":
		q.add("c."+field+" = ?", exact)
	case "after", "before":
		return q.time(field, exact)
	}
	return nil
}

// address adds an address, however many zeros it has.
func (q *query) address(text string) error {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", ErrSearch, text)
	}
	n := number(len(q.args) + 1)
	q.args = append(q.args, fmt.Sprintf("0x%016x", v), fmt.Sprintf("0x%08x", v), fmt.Sprintf("0x%x", v))
	q.terms = append(q.terms, fmt.Sprintf("r.address IN ($%s, $%d, $%d)", n, len(q.args)-1, len(q.args)))
	return nil
}

func (q *query) time(field, text string) error {
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if when, err := time.Parse(form, text); err == nil {
			q.add("c.received "+map[string]string{"after": ">=", "before": "<"}[field]+" ?", when.UnixMilli())
			return nil
		}
	}
	return fmt.Errorf("%w: %q is no time such as 2026-01-31 or 2026-01-31T12:00", ErrSearch, text)
}

// phrase is a text as a phrase of the search table, all of whose characters are text (sqlite.org/fts5.html, 3.1); a star behind it
// asks for words that begin so.
func phrase(text string) string {
	star := ""
	if t, ok := strings.CutSuffix(strings.ReplaceAll(text, `"`, ""), "*"); ok && t != "" {
		text, star = t, " *"
	}
	return `"` + strings.ReplaceAll(text, `"`, "") + `"` + star
}
