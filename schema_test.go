package backsight_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/render"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchema: what the command writes of every capture in testdata, explained and not, of
// several captures, and of one that cannot be read, is as the schema says.
func TestSchema(t *testing.T) {
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
	check := func(dir, out string) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			return
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	program := command(t)
	cases, err := filepath.Glob("testdata/*/args")
	if err != nil || len(cases) < 5 {
		t.Fatalf("%d cases in testdata, %v", len(cases), err)
	}
	for _, file := range cases {
		dir, args := filepath.Dir(file), strings.Fields(read(t, file))
		for _, more := range [][]string{{"-f", "json", "--registers", "--locals"}, {"-f", "json", "--explain"}, {"-f", "json", "no such file"}} {
			out, _, _ := run(t, program, dir, append(args, more...)...)
			check(dir, out)
		}
	}
	for _, place := range []string{"main", "_start"} {
		out, says, code := run(t, program, "testdata/x86_64-threads", "explain", "-f", "json", "modules/usr/bin/server", place)
		if code != 0 {
			t.Errorf("explain %s: exit code %d, %s", place, code, says)
		}
		check("explain "+place, out)
	}
	if err := schema.Validate(map[string]any{"status": "OK", "backsight": map[string]any{"issues": []any{}}}); err == nil {
		t.Error("the schema takes a report without threads")
	}
}
