//go:build !small

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// promised are the commands and their flags that scripts rely on: -short for one letter, =value where the value when the flag is not
// given is promised. There may be more; none of these goes, and none changes its meaning.
const promised = `
bt        exe -e image sysroot debug-dir=[/usr/lib/debug] all -a one -1 thread max-frames=1024 -n format=text -f sources explain no-symbols
bt        demangle=true no-demangle color=auto strict ram regs symbols report reports stack-usage registers disassemble source modules locals args
bt        symbols-url debuginfod pid -p freeze every count remote keep-halted coredumpctl comm pid cpu since advise dmesg user list table-dir
explain   call lines format -f
table     output -o format -f sources check add-section rootfs
watch     exe -e
crash     dir
record    pid -p format -f output -o
annotate  exe -e sysroot
addr      sysroot
core      pid -p output -o from
export    minidump output -o
redact    output -o
group     sysroot
diff      format -f binaries
usage     output -o max
schema
man
`

// TestPromisedFlags: what is promised is there.
func TestPromisedFlags(t *testing.T) {
	var none strings.Builder
	all := map[string]*cobra.Command{}
	for _, c := range commands(&none, &none) {
		all[c.name] = c.make()
	}
	for line := range strings.Lines(promised) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		cmd := all[words[0]]
		if cmd == nil {
			t.Errorf("there is no command %s", words[0])
			continue
		}
		for _, word := range words[1:] {
			name, value, has := strings.Cut(word, "=")
			if short, ok := strings.CutPrefix(name, "-"); ok {
				if cmd.Flags().ShorthandLookup(short) == nil {
					t.Errorf("%s has no flag -%s", words[0], short)
				}
				continue
			}
			f := cmd.Flags().Lookup(name)
			if f == nil {
				t.Errorf("%s has no flag --%s", words[0], name)
			} else if has && f.DefValue != value {
				t.Errorf("%s --%s is %s where it is not given, and was %s", words[0], name, f.DefValue, value)
			}
		}
	}
}

// TestPromisedFields: the names of the JSON's fields, those of minidump-stackwalk where the meaning is the same, ours below "backsight".
func TestPromisedFields(t *testing.T) {
	_, out, _ := bs(t, coreArgs(t, "bt", "-f", "json")...)
	var doc any
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"status", "system_info.cpu_arch", "system_info.os", "crash_info.type", "crash_info.address", "crash_info.crashing_thread",
		"modules.0.filename", "modules.0.base_addr", "modules.0.end_addr", "modules.0.debug_id", "threads.0.thread_id", "threads.0.frame_count",
		"threads.0.frames.0.frame", "threads.0.frames.0.module", "threads.0.frames.0.module_offset", "threads.0.frames.0.offset",
		"threads.0.frames.0.function", "threads.0.frames.0.function_offset", "threads.0.frames.0.file", "threads.0.frames.0.line",
		"threads.0.frames.0.inlines", "threads.0.frames.0.trust", "threads.0.frames.0.backsight.pc", "threads.0.frames.0.backsight.cfa",
		"threads.0.frames.0.backsight.method", "threads.0.frames.0.backsight.trust", "threads.0.frames.0.backsight.checks",
		"threads.0.backsight.stop.reason", "threads.0.backsight.stop.address", "backsight.version", "backsight.issues", "backsight.capture",
	} {
		if !has(doc, strings.Split(path, ".")) {
			t.Errorf("there is no %s in\n%s", path, out)
		}
	}
}

// has tells whether a document has a field, null too; of lists the first element counts.
func has(doc any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch v := doc.(type) {
	case map[string]any:
		field, ok := v[path[0]]
		return ok && has(field, path[1:])
	case []any:
		return len(v) > 0 && has(v[0], path[1:])
	}
	return false
}

// TestPromisedExits: 0, 1 with --strict, 2, 64.
func TestPromisedExits(t *testing.T) {
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, coreArgs(t, "bt")},
		{0, slices.Clone(coreArgs(t))}, // `backsight CAPTURE`
		{1, coreArgs(t, "bt", "--strict", "-n", "2")},
		{2, []string{"bt", "no such file"}},
		{2, []string{"bt", "promise_test.go"}},
		{64, []string{"bt", "--no-such-flag", core}},
		{64, []string{"bt"}},
	} {
		if code, _, says := bs(t, c.args...); code != c.code || code > 1 && strings.Count(says, "\n") < 1 {
			t.Errorf("%q: exit code %d, want %d; said %q", c.args, code, c.code, says)
		}
	}
}
