package db

import (
	"encoding/json"
	"strings"
)

// Table is rows that a statement has as one parameter, however many there are: so a server parses and plans the statement once.
// The parameter is what Rows makes; columns are names with their types, such as "device TEXT". To follow INSERT, SQLite wants WHERE
// between the table and ON CONFLICT (sqlite.org/lang_upsert.html, 2.2).
func (d *DB) Table(parameter string, columns ...string) string {
	if d.postgres {
		return "json_to_recordset(CAST(" + parameter + " AS TEXT)::json) AS list (" + strings.Join(columns, ", ") + ")"
	}
	fields := make([]string, len(columns))
	for i, c := range columns {
		name, _, _ := strings.Cut(c, " ")
		fields[i] = "value ->> '" + name + "' AS " + name
	}
	return "(SELECT " + strings.Join(fields, ", ") + " FROM json_each(" + parameter + ")) AS list"
}

// Rows are structures, whose fields in JSON are the columns, as the parameter of a Table. PostgreSQL refuses U+0000 in their texts:
// see PlainText.
func Rows[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}
