package console

import (
	"strings"
)

// cutTime finds the time that printk puts before messages, [seconds.microseconds], or what dmesg makes of it.
func cutTime(line string) (time, after string, ok bool) {
	for at := 0; ; {
		i := strings.IndexByte(line[at:], '[')
		if i < 0 {
			return "", "", false
		}
		at += i + 1
		end := strings.IndexByte(line[at:], ']')
		if end < 0 {
			return "", "", false
		}
		if time := line[at : at+end]; isTime(time) {
			return time, line[at+end+1:], true
		}
	}
}

// isTime tells whether s is "   12.345678", with the time since the message before behind it or instead of it:
// "   12.345678 <    0.000123>", "<    0.000123>", "  +0.000123"; or the minute "Nov22 05:00"; or what kernels of phones make of it.
func isTime(s string) bool {
	s = ofPhone(strings.TrimLeft(s, " "))
	if time, delta, ok := strings.Cut(s, "<"); ok {
		time = strings.TrimRight(time, " ")
		return strings.HasSuffix(delta, ">") && isSeconds(strings.Trim(delta, " >")) && (time == "" || isSeconds(time))
	}
	return isSeconds(strings.TrimPrefix(s, "+")) || isMinute(s)
}

// cutSerial takes off what programs put before each line of a serial port, which kernels and firmware know nothing of: the time, and
// that since the line before ("[12.345678 0.000123] ", grabserial), or the time of day ("05:00:01.123 -> ", Arduino's monitor).
func cutSerial(line string) string {
	if line == "" || line[0] != '[' && line[0]-'0' > 9 {
		return line
	}
	const clock = len("05:00:01.123")
	if len(line) > clock && isClock(line[:clock]) {
		if text, ok := strings.CutPrefix(line[clock:], " -> "); ok {
			return text
		}
	}
	times, _, ok := strings.Cut(line[1:min(len(line), maxTime)], "] ")
	time, delta, two := strings.Cut(times, " ")
	if ok && two && isSeconds(time) && isSeconds(strings.TrimLeft(delta, " ")) {
		return line[len("[")+len(times)+len("] "):]
	}
	return line
}

func isSeconds(s string) bool {
	point := len(s) - len(".345678")
	return point > 0 && s[point] == '.' && digits(s[point+1:]) && digits(s[:point])
}

// IsBefore tells whether the line's time of printk is earlier than another's; false where one is none in seconds.
func (l *Line) IsBefore(time string) bool {
	a, b := strings.TrimLeft(l.Time, " "), strings.TrimLeft(time, " ")
	return isSeconds(a) && isSeconds(b) && (len(a) < len(b) || len(a) == len(b) && a < b)
}

// isMinute tells whether s is "Nov22 05:00".
func isMinute(s string) bool {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	return len(s) == len("Nov22 05:00") && strings.Contains(months, s[:3]) && digits(s[3:5]) && s[5] == ' ' && digits(s[6:8]) &&
		s[8] == ':' && digits(s[9:])
}

// ofPhone is a time without what phones' kernels add to it.
func ofPhone(time string) string {
	if seconds, _, ok := strings.Cut(time, " / "); ok {
		return seconds
	}
	if seconds, cpu, ok := strings.Cut(time, ","); ok && digits(cpu) {
		return seconds
	}
	return strings.TrimSuffix(time, "s")
}

// processorIn is the caller that a phone's time names: the processor.
func processorIn(time string) (caller string) {
	if _, cpu, ok := strings.Cut(time, ","); ok {
		return "C" + cpu
	}
	return ""
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// maxTag bounds what syslog and the journal put before a message, in bytes: a date and the
// machine's name, of 64 bytes at most on Linux.
const maxTag = 128

// cutLevel takes the level of a message off: "<4>".
func cutLevel(s string) string {
	if level, rest, ok := strings.Cut(s, ">"); ok && len(level) <= 4 && strings.HasPrefix(level, "<") && digits(level[1:]) {
		return rest
	}
	return s
}
