package console

import (
	"bytes"
	"strings"
)

// isPrefixed tells whether something stands in front of the message of a line: the contrary of Line.Bare.
func isPrefixed(line []byte) bool {
	switch {
	case isTimed(line):
		return true
	case isSurelyBare(line):
		return false
	}
	l := cutLine(unpadded(string(line)))
	return !l.Bare
}

// isTimed tells at a look that a line begins with a time of printk, with a date of syslog or as ISO 8601 has one. Other lines may, too.
func isTimed(line []byte) bool {
	const syslog, iso = len("Nov 22 05:00:01 "), len("2026-11-22T05:00:01")
	if len(line) > 0 && line[0] == '[' {
		end := bytes.IndexByte(line[:min(len(line), maxTime)], ']')
		return end > 0 && isSeconds(strings.TrimLeft(string(line[1:end]), " "))
	}
	if len(line) <= iso {
		return false
	}
	if line[0]-'0' <= 9 && line[2] == '-' {
		return isThreadTime(line)
	}
	if letter := line[0] | 0x20; letter >= 'a' && letter <= 'z' {
		return line[1] > '@' && line[2] > '@' && line[3] == ' ' && line[6] == ' ' && line[9] == ':' && line[12] == ':' && line[syslog-1] == ' ' &&
			isDay(line[4:6]) && digits(string(line[7:9])) && digits(string(line[13:15]))
	}
	return line[4] == '-' && line[10] == 'T' && digits(string(line[:4]))
}

// isThreadTime tells at a look that a line begins as logcat's -v threadtime writes it: "11-23 10:00:00.123  2372  2372 W tag: text".
func isThreadTime(line []byte) bool {
	at := len("11-23 10:00:00.123")
	if !isClock(string(line[:5])) || line[5] != ' ' || !isClock(string(line[6:at])) {
		return false
	}
	for range 2 {
		from := at
		for at < len(line) && line[at] == ' ' {
			at++
		}
		number := at
		for at < len(line) && line[at]-'0' <= 9 {
			at++
		}
		if number == from || number == at {
			return false
		}
	}
	const behind = len(" W ")
	tag := line[at:]
	return len(tag) > behind && tag[0] == ' ' && isPriority(tag[1]) && tag[2] == ' ' && bytes.Contains(tag[:min(len(tag), maxTag)], []byte(": "))
}

// isDay tells whether two bytes are the day of a month, as syslog writes it.
func isDay(s []byte) bool { return (s[0] == ' ' || s[0]-'0' <= 9) && s[1]-'0' <= 9 }

// isSurelyBare tells at a look that nothing stands in front of a line's message. Other lines may be so, too.
func isSurelyBare(line []byte) bool {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	if len(line) == 0 {
		return true
	}
	c := line[0]
	switch letter := c|0x20 >= 'a' && c|0x20 <= 'z'; {
	case mayHaveTime(line), bytes.Contains(line, []byte("kernel:")), hasFacility(line), mayBeDated(line):
		return false
	case c-'0' <= 9:
		return mayBeNumber(line)
	case !letter && bytes.IndexByte([]byte(`/"'(*{},;!_@$%`), c) < 0:
		return false
	}
	return !isPriority(c) || len(line) < 2 || line[1] != '/' && line[1] != '('
}

// mayHaveTime tells whether a bracket of a line may have a time of printk: isTime.
func mayHaveTime(line []byte) bool {
	for {
		n := bytes.IndexByte(line, '[')
		if n < 0 {
			return false
		}
		for line = line[n+1:]; len(line) > 0 && line[0] == ' '; {
			line = line[1:]
		}
		const month = len("Nov")
		if len(line) > 0 && (line[0]-'0' <= 9 || line[0] == '+' || line[0] == '<' || len(line) > month && line[month]-'0' <= 9) {
			return true
		}
	}
}

// mayBeDated tells whether the second word of a line may be the day of a month: isDated.
func mayBeDated(line []byte) bool {
	n := bytes.IndexByte(line, ' ')
	for n >= 0 && n < len(line) && line[n] == ' ' {
		n++
	}
	return n >= 0 && n+2 < len(line) && line[n]-'0' <= 9 && (line[n+1] == ' ' || line[n+2] == ' ')
}

// mayBeNumber tells of a line that begins with a digit that it has no prefix that does: kmsg, cutSerial, cutLogcat, cutDate.
func mayBeNumber(line []byte) bool {
	const clock, iso = len("05:00:01.123"), len("2026-11-22T05:00:01")
	if bytes.IndexByte(line, ';') >= 0 || len(line) > iso && line[4] == '-' && line[10] == 'T' || len(line) > clock && bytes.HasPrefix(line[clock:], []byte(" -> ")) {
		return false
	}
	_, logcat := cutLogcat(string(line))
	return !logcat
}

func hasFacility(line []byte) bool {
	return bytes.HasPrefix(line, []byte("kern")) || bytes.HasPrefix(line, []byte("user")) || bytes.HasPrefix(line, []byte("daemon"))
}
