package console

import (
	"strings"
)

// Line is a line of a kernel's log without what the way to the log put before it.
type Line struct {
	// Caller is the printk caller: "T95" for a thread, "C1" for an interrupted CPU; "" where
	// the kernel was built without CONFIG_PRINTK_CALLER.
	Caller string
	// Text is the message, without spaces around it.
	Text string
	// Bare: the line had nothing before the message but spaces and marks of mail.
	Bare bool
	// Time is the time of printk, as dmesg or the kernel wrote it; "" where the line had none.
	Time string
	// Width is how long the line was without marks of mail and spaces at its end.
	Width int
}

// cutLine takes the prefixes of a kernel's message off a line:
//
//	[   12.345678] text                                   printk
//	[   12.345678][   T95] text                           printk with callers
//	<4>[   12.345678] text                                dmesg -r, pstore, netconsole
//	4,1234,12345678,-,caller=T95;text                     /dev/kmsg
//	kern  :warn  : [   12.345678] text                    dmesg -x
//	[Sun Nov 22 05:00:01 2026] text                       dmesg -T
//	[Nov22 05:00] text, [  +0.000123] text                dmesg -H
//	[<    0.000123>] text                                 dmesg --time-format delta
//	[   12.345678 <    0.000123>] text                    dmesg -d
//	2026-11-22T05:00:01,345678+00:00 text                 dmesg --time-format iso
//	Nov 22 05:00:01 host kernel: [   12.345678] text      syslog
//	Nov 22 05:00:01 host kernel: text                     journalctl
//	[   12.345678] host kernel: text                      journalctl -o short-monotonic
//	Sun Nov 22 05:00:01 2026 kern.warn kernel: [   12.345678] text    logread (OpenWrt)
//	11-23 10:00:00.123     0     0 W         : text       logcat -b kernel (Android), and its other formats
//	[   12.345678]  [2: kworker/2:1:  123] text           kernels of phones
//	[12.345678 0.000123] text                             grabserial
//	05:00:01.123 -> text                                  Arduino's monitor
//	> [   12.345678] text                                 mail that quotes, and what pages make of text
//
// Where a prompt or half a line of something else stands before a time of printk, that is
// left out as well.
func cutLine(line string) Line {
	if isFragment(line) {
		return Line{Text: line, Bare: true, Width: len(line)}
	}
	if line != "" {
		line = ofPage(line)
	}
	if line == "" {
		return Line{Bare: true}
	}
	var l Line
	l.Width = len(strings.TrimRight(line, " "))
	if text, caller, ok := kmsg(line); ok {
		return Line{Caller: caller, Text: strings.TrimSpace(text), Width: l.Width}
	}
	serial := cutSerial(line)
	if time, rest, ok := cutTime(serial); ok {
		l.Time = time
		if l.Caller, l.Text = cutCaller(rest); l.Caller == "" {
			l.Caller = processorIn(time)
		}
	} else if text, ok := cutLogcat(strings.TrimLeft(serial, " ")); ok {
		l.Text = text
	} else {
		l.Text = cutDate(serial)
	}
	l.Text = cutLevel(strings.TrimSpace(l.Text))
	l.Text = behindKernel(l.Text)
	l.Bare = len(l.Text) == len(strings.TrimSpace(line)) && !isDated(line)
	for _, escaped := range [...]string{"#012", "#011"} { // rsyslog's line feed and tab, in octal
		l.Text = strings.TrimSpace(strings.TrimPrefix(l.Text, escaped))
	}
	return l
}

// behindKernel takes off what syslog and the journal write in front of a message of the kernel, and then "kernel: ".
func behindKernel(text string) string {
	if strings.HasSuffix(text, " kernel:") { // of an empty message
		text += " "
	}
	head := text[:min(len(text), maxTag)]
	for at := 0; ; at++ {
		n := strings.Index(head[at:], "kernel: ")
		if n < 0 {
			break
		}
		if at += n; at > 0 && head[at-1] == ' ' {
			text = text[at+len("kernel: "):]
			break
		}
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "kernel: "))
}

// Fragment tells whether a line is next to nothing, and nothing was before it: no report begins with it or is continued
// by it. A hostile log of a megabyte has half a million of them.
func (l *Line) Fragment() bool { return l.Bare && isFragment(l.Text) }

// isFragment tells whether a line is a few letters and digits.
func isFragment[T string | []byte](line T) bool {
	const most = 3
	for i := range len(line) {
		if c := line[i]; i == most || c-'0' > 9 && c|0x20-'a' > 25 {
			return false
		}
	}
	return len(line) > 0
}

// cutCaller takes "[   T95]" off; dmesg puts a space before it.
func cutCaller(s string) (caller, rest string) {
	if caller, rest, ok := cutVendor(s); ok {
		return caller, rest
	}
	bracket, found := strings.CutPrefix(strings.TrimLeft(s, " "), "[")
	if !found {
		return "", s
	}
	id, rest, ok := strings.Cut(bracket, "]")
	id = strings.TrimSpace(id)
	if !ok || len(id) < 2 || id[0] != 'T' && id[0] != 'C' || !digits(id[1:]) {
		return "", s
	}
	return id, rest
}

// kmsg reads a record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg): priority, sequence
// number, microseconds, flags, then the message.
func kmsg(line string) (text, caller string, ok bool) {
	if line == "" || line[0]-'0' > 9 {
		return "", "", false
	}
	head, text, ok := strings.Cut(line, ";")
	if !ok || len(head) > maxTag {
		return "", "", false
	}
	fields := strings.Split(head, ",")
	if len(fields) < 4 || !digits(fields[0]) || !digits(fields[1]) || !digits(fields[2]) {
		return "", "", false
	}
	for _, f := range fields[4:] {
		if id, is := strings.CutPrefix(f, "caller="); is {
			caller = id
		}
	}
	return text, caller, true
}

// cutDate takes dates of dmesg, terminals and build servers off, and the level of dmesg -x.
func cutDate(line string) string {
	s := cutFacility(cutLevel(strings.TrimSpace(line)))
	for range maxDates {
		switch date, rest, ok := strings.Cut(s, "]"); {
		case ok && strings.HasPrefix(s, "[") && strings.Count(date, ":") == 2 && len(date) < maxTag: // [Sun Nov 22 05:00:01 2026]
			s = strings.TrimLeft(rest, " ")
		case len(s) > 19 && digits(s[:4]) && s[4] == '-' && s[10] == 'T': // 2026-11-22T05:00:01
			_, s, _ = strings.Cut(s, " ")
			s = cutFacility(strings.TrimLeft(s, " "))
		default:
			return s
		}
	}
	return s
}

// maxDates bounds the dates before a message: whoever passes a log on may put one.
const maxDates = 3

// isDated tells whether a line begins as those of syslog and the journal do, whoever wrote it: "Nov 22 05:00:01 host toyd[7]: text".
// The month is in the language of the machine.
func isDated(line string) bool {
	_, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	day, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	time, _, ok := strings.Cut(rest, " ")
	return ok && len(day) <= 2 && digits(day) && len(time) == len("05:00:01") && time[2] == ':' && time[5] == ':' && digits(time[:2]) && digits(time[6:])
}

// cutFacility takes facility and level off: "kern  :warn  : ".
func cutFacility(s string) string {
	for _, facility := range [...]string{"kern", "user", "daemon"} {
		if rest, ok := strings.CutPrefix(s, facility); ok {
			level, message, ok := strings.Cut(strings.TrimLeft(rest, " "), ": ")
			if ok && len(level) < len(":warning ") && strings.HasPrefix(level, ":") {
				return message
			}
		}
	}
	return s
}
