package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// processHeading reads who was running:
//
//	CPU: 0 PID: 95 Comm: busybox Tainted: G        W  OE      6.1.0-50-arm64 #1  Debian 6.1.176-1
//	CPU: 0 UID: 0 PID: 95 Comm: busybox Not tainted 6.11.0 #1                     (Linux 6.11)
//	Pid: 95, comm: busybox Tainted: G        W    3.2.0-4-amd64 #1 Debian         (before Linux 3.10)
//	CPU: 0    Tainted: G        W     (3.0.31 #1)                                 (ARM before Linux 3.10)
func processHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	rest, old := strings.CutPrefix(text, "Pid: ")
	if !old {
		if rest, ok = strings.CutPrefix(text, "CPU: "); !ok {
			return h, false
		}
		h.cpu = phrases.Leading(rest, -1)
		_, who, ok := strings.Cut(rest, "PID: ")
		if !ok && h.cpu >= 0 && strings.Contains(rest, "ainted") && strings.HasSuffix(rest, ")") {
			_, kernel, _ := cutLast(rest, '(')
			h.process, h.release = true, releaseIn(kernel)
			return h, h.release != ""
		}
		if rest = who; !ok || h.cpu < 0 {
			return h, false
		}
	}
	h.process = true
	h.pid = phrases.Leading(rest, -1)
	_, comm, ok := strings.Cut(rest, "omm: ") // Comm, comm
	if !ok && old {
		return h, false
	}
	if ok {
		end := len(comm)
		for _, behind := range [...]string{" Kdump: loaded", " Tainted:", " Not tainted"} {
			if i := strings.Index(comm, behind); i >= 0 {
				end = min(end, i)
			}
		}
		end = min(end, len(strings.TrimSuffix(comm, " Not"))) // mail programs cut there
		h.comm = strings.TrimSpace(comm[:end])
		h.release = releaseIn(comm[end:])
	}
	return h, true
}

// processIn reads the process of "Process busybox (pid: 95, threadinfo=66fb2bf2, task=55b20d3f, tls=00eb34e0)", of MIPS, ARM
// and, before Linux 5.11, arm64; and of x86 before Linux 3.9.
func processIn(text string) (comm string, pid int, ok bool) {
	rest, ok := strings.CutPrefix(text, "Process ")
	if !ok {
		return "", 0, false
	}
	comm, rest, ok = strings.Cut(rest, " (pid: ")
	pid = phrases.Leading(rest, -1)
	return comm, pid, ok && pid >= 0
}

// releaseIn finds the kernel's release in the rest of that line: the word before " #1", before Linux 2.6.13 the last.
func releaseIn(s string) string {
	i := strings.Index(s, " #")
	if i < 0 && (strings.Contains(s, " 2.6.") || strings.Contains(s, " 2.4.")) {
		i = len(s)
	}
	if i < 0 {
		return ""
	}
	words := strings.Fields(s[:i])
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
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

// kernelVersion is the number of a kernel's release: 5.15.24.
type kernelVersion [3]int

// releaseOf is the number of 2.6.18-194.el5, 0.0.0 of what has none.
func releaseOf(name string) (v kernelVersion) {
	for i, s := range strings.SplitN(name, ".", len(v)) {
		v[i] = phrases.Leading(s, 0)
	}
	return v
}

func (v kernelVersion) before(o kernelVersion) bool { return slices.Compare(v[:], o[:]) < 0 }
