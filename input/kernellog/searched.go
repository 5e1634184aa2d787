package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// doubtUnmarked doubts the chains of kernels for x86 before Linux 2.6.25, which list each word of the stack that
// points to code and do not mark those that they found no frame for (arch/x86/kernel/traps_64.c, dump_trace). Newer
// ones print a question mark.
func doubtUnmarked(listed []target.Listed, r *record, b *binaries) {
	if b.arch.Name != "x86_64" && b.arch.Name != "i386" || !isUnmarked(r.release) && !isUnmarked(b.facts.release) {
		return
	}
	for i := range listed {
		listed[i].Searched = listed[i].Searched || !listed[i].Exact
	}
}

// isUnmarked tells whether a release is before Linux 2.6.25: 2.6.18-194.el5.
func isUnmarked(release string) bool {
	if strings.HasPrefix(release, "2.4.") {
		return true
	}
	rest, ok := strings.CutPrefix(release, "2.6.")
	n, err := strconv.Atoi(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))])
	return ok && err == nil && n < 25
}

// releaseOfFlags is the release that kernels for i386 print behind the flags, which then name it nowhere else
// (before Linux 2.6.25):
//
//	EFLAGS: 00010246   (2.6.18-8.el5 #1)
func releaseOfFlags(text string) string {
	if !strings.HasPrefix(text, "EFLAGS: ") {
		return ""
	}
	_, rest, _ := strings.Cut(text, "(")
	release, _ := cutWord(strings.TrimRight(rest, ") "))
	return release
}
