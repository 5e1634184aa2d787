package listing

import (
	"strings"

	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// message is what a line says, behind what Android's log puts before that and console does not know:
//
//	I/DEBUG   (  119): backtrace:
//	2022-01-25 14:20:50.091 16540-16540/? A/DEBUG: backtrace:
func message(log *console.Log, i int) string {
	line := log.Line(i)
	for _, tag := range [...]string{"DEBUG", "libc  ", "libc:"} {
		n := strings.Index(line[:min(len(line), maxPrefix)], tag)
		if n < 1 || line[n-1] != '/' && line[n-1] != ' ' {
			continue
		}
		if _, text, ok := strings.Cut(line[n:], ":"); ok {
			return strings.TrimPrefix(text, " ")
		}
	}
	if m := log.Message(i); !m.Bare && m.Text != "" {
		return behindProgram(m.Text)
	}
	return behindProgram(line)
}

// maxPrefix bounds in bytes what logcat puts before a message.
const maxPrefix = 96

// behindProgram is a line of a program without what tells in front of it which program said it, as console leaves that of others than
// the kernel:
//
//	Nov 22 05:00:01 host toyd[7]: text        syslog, the journal; behind a date that console cuts: host toyd[7]: text
//	stderr F text                             Kubernetes, behind a date
//	app-1  | text                             Docker Compose
//	[ 1111.3781764] text                      NetBSD's kernel
//	2024.01.02 03:04:05.678901 [ 21460 ] {} <Fatal> BaseDaemon: text        ClickHouse
func behindProgram(line string) string {
	if _, text, ok := strings.Cut(line, "> BaseDaemon: "); ok {
		return text
	}
	if time, text, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(time, "[") && strings.Trim(time, "[ .0123456789") == "" && strings.Contains(time, ".") {
		return text
	}
	for _, stream := range [...]string{"stderr F ", "stdout F "} {
		if text, ok := strings.CutPrefix(line, stream); ok {
			return text
		}
	}
	head, text, ok := strings.Cut(line[:min(len(line), maxPrefix)], "]: ")
	if ok && tellsProgram(head) {
		return line[len(line[:min(len(line), maxPrefix)])-len(text):]
	}
	if strings.IndexByte(line, '|') < 0 {
		return line
	}
	name, text, ok := strings.Cut(line, " | ")
	if name = strings.TrimRight(name, " "); ok && name != "" && !strings.ContainsAny(name, " \t#:(") {
		return text
	}
	return line
}

// tellsProgram tells whether a head is "Nov 22 05:00:01 host toyd[7", or what is behind the date.
func tellsProgram(head string) bool {
	words := strings.Fields(head)
	n := len(words)
	if n != 2 && n != len([...]string{"Nov", "22", "05:00:01", "host", "toyd[7"}) {
		return false
	}
	_, pid, is := strings.Cut(words[n-1], "[")
	return is && phrases.Leading(pid, -1) >= 0
}
