package e2e_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/render"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchema: what the command writes of every capture in testdata, explained and not, of
// several captures, and of one that cannot be read, is as the schema says.
func TestSchema(t *testing.T) {
	schema := compiledSchema(t)
	check := func(dir, out string) { validate(t, schema, dir, out) }
	program := command(t)
	cases, err := filepath.Glob("../../testdata/*/args")
	if err != nil || len(cases) < 5 {
		t.Fatalf("%d cases in testdata, %v", len(cases), err)
	}
	for _, file := range cases {
		dir, args := filepath.Dir(file), strings.Fields(read(t, file))
		for _, more := range [][]string{{"-f", "json", "--registers", "--locals"}, {"-f", "json", "--explain", "--advise"}, {"-f", "json", "no such file"}} {
			out, _, _ := run(t, program, dir, append(args, more...)...)
			check(dir, out)
		}
	}
	for _, place := range []string{"main", "_start"} {
		out, says, code := run(t, program, "../../testdata/x86_64-threads", "explain", "-f", "json", "modules/usr/bin/server", place)
		if code != 0 {
			t.Errorf("explain %s: exit code %d, %s", place, code, says)
		}
		check("explain "+place, out)
	}
	if err := schema.Validate(map[string]any{"status": "OK", "backsight": map[string]any{"issues": []any{}}}); err == nil {
		t.Error("the schema takes a report without threads")
	}
}

// TestSchemaRecorded: the same of all captures beside the clone, of what is none there, and of a
// recorded program for each processor.
func TestSchemaRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the command, as other tests do")
	}
	schema, program := compiledSchema(t), command(t)
	var files []string
	for _, dir := range []string{"apple", "linux-kernel", "rtos-logs", "rtos-plain", "user-cores", "vmcore"} {
		err := filepath.WalkDir(recorded.Shared(t, "inputs", dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	truth, err := filepath.Glob(filepath.Join(recorded.Shared(t, "truth"), "*", "*", "*", "snaps.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range truth {
		if cpu := filepath.Dir(filepath.Dir(path)); !seen[cpu] {
			seen[cpu] = true
			files = append(files, path)
		}
	}
	made := 0
	for part := range slices.Chunk(files, 100) {
		out, _, _ := run(t, program, ".", append([]string{"bt", "-f", "jsonl", "-n", "16", "--registers"}, part...)...)
		for line := range strings.Lines(out) {
			if made++; validate(t, schema, line[:min(len(line), 200)], line) != nil {
				return
			}
		}
	}
	if t.Logf("%d files, %d objects", len(files), made); made < len(files) {
		t.Errorf("%d objects of %d files", made, len(files))
	}
}

// compiledSchema is what the command prints as its schema.
func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(render.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate fails the test where a document is not as the schema says.
func validate(t *testing.T, schema *jsonschema.Schema, what, document string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return err
}
