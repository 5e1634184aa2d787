package render

import "embed"

//go:embed schema.json
var schema embed.FS

// Schema is the JSON Schema (2020-12) of what AppendJSON and AppendJSONLine write, and of
// several of them as one array.
func Schema() []byte {
	b, _ := schema.ReadFile("schema.json") // part of the program
	return b
}
