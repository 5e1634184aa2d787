package kernellog

import (
	"strings"
	"testing"
)

// TestOtherCalls: where all other reports have another function called from a place, frames may be missing around the
// call; where they do not agree, or one report alone says otherwise, nothing is doubted.
func TestOtherCalls(t *testing.T) {
	report := func(chain string) string {
		return "CPU: 0 PID: 7 Comm: sh Not tainted 6.1.0\nCall trace:\n" + chain + "---[ end trace 0000000000000000 ]---\n"
	}
	entry := func(names string) (chain string) {
		for _, n := range strings.Fields(names) {
			chain += " " + n + "+0x34/0x100\n"
		}
		return chain
	}
	whole, other := report(entry("write do_svc svc handler")), report(entry("write do_svc irq handler"))
	for _, c := range []struct {
		name, first string
		others      []string
		want        string
	}{
		{"whole", whole, []string{whole, whole}, ""},
		{"a line is lost", report(entry("write do_svc handler")), []string{whole, whole}, "do_svc handler"},
		{"lines change places", report(entry("write svc do_svc handler")), []string{whole, whole}, "write svc do_svc handler"},
		{"a letter is another", report(entry("write do_svc sve handler")), []string{whole, whole}, "sve handler"},
		{"a letter, of a function that a pointer led to", report(entry("wrjte handler")), []string{report(entry("write handler")), report(entry("write handler")), report(entry("read handler"))}, "wrjte"},
		{"a stale entry in between", report(entry("write do_svc stale handler")), []string{strings.ReplaceAll(whole, " svc", " ? stale+0x34/0x100\n svc"), whole}, "stale handler"},
		{"the place calls several functions", report(entry("read handler")), []string{whole, whole, other, other}, ""},
		{"one report says otherwise", report(entry("write do_svc handler")), []string{report(entry("read svc handler"))}, ""},
		{"one report has a line more", report(entry("write do_svc handler")), []string{whole}, "do_svc handler"},
	} {
		if got := gaps(t, c.first+strings.Join(c.others, "")); got != c.want {
			t.Errorf("%s: doubted are %q, want %q", c.name, got, c.want)
		}
	}
}
