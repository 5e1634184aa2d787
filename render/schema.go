package render

import "embed"

//go:embed schema.json
var schema embed.FS

// Schema is the JSON Schema (2020-12) of the objects that AppendJSON and AppendJSONLine write, and
// of an array of such objects.
func Schema() []byte {
	b, _ := schema.ReadFile("schema.json") // part of the program
	return b
}
