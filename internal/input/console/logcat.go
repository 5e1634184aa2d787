package console

import (
	"strings"
)

// cutLogcat takes off what Android's logcat puts before a message of the kernel (logcat -b kernel), in any of its
// formats (-v); the priority is one of VDIWEFS, the kernel's tag is most often empty:
//
//	11-23 10:00:00.123     0     0 W         : text     threadtime, with the options year, epoch, uid, usec, zone too
//	11-23 10:00:00.123 W/        (    0): text          time
//	W/        (    0): text                             brief
//	W/        : text                                    tag
//	W(    0) text  ()                                   process
//	W(    0:    0) text                                 thread
func cutLogcat(s string) (text string, ok bool) {
	if s == "" || !ofClock(s[0]) && !isPriority(s[0]) {
		return "", false
	}
	if rest, ok := cutClock(s); ok {
		s = rest
		if text, ok := cutThreadTime(s); ok {
			return text, true
		}
	}
	if len(s) < 2 || !isPriority(s[0]) {
		return "", false
	}
	switch s[1] {
	case '/':
		return cutBrief(s[2:])
	case '(':
		return cutProcess(s[2:])
	}
	return "", false
}

// cutProcess cuts the process, and the thread if there is one, off a line of which the priority and a parenthesis were cut.
func cutProcess(s string) (text string, ok bool) {
	id, text, ok := strings.Cut(s, ")")
	pid, tid, threads := strings.Cut(id, ":")
	if !ok || !digits(strings.TrimSpace(pid)) || threads && !digits(strings.TrimSpace(tid)) || !strings.HasPrefix(text, " ") {
		return "", false
	}
	if tag := strings.LastIndex(text, "  ("); tag >= 0 && !threads && strings.HasSuffix(text, ")") {
		text = text[:tag]
	}
	return text, true
}

func isPriority(c byte) bool { return strings.IndexByte("VDIWEFS", c) >= 0 }

// cutClock takes a date, a time of day with a fraction and a zone off, or seconds since 1970.
func cutClock(s string) (rest string, ok bool) {
	rest = s
	for rest != "" {
		word, after, _ := strings.Cut(rest, " ")
		if len(word) < len("1-23") || !isClock(word) {
			break
		}
		rest, ok = strings.TrimLeft(after, " "), true
	}
	return rest, ok
}

// ofClock tells whether dates, times and zones have a byte.
func ofClock(c byte) bool { return c-'0' <= 9 || c == '-' || c == '+' || c == ':' || c == '.' }

// isClock tells whether all of a word is of a date, a time or a zone, and no number.
func isClock(word string) bool {
	number := true
	for i := range len(word) {
		if !ofClock(word[i]) {
			return false
		}
		number = number && word[i]-'0' <= 9
	}
	return !number
}

// cutThreadTime reads "root     0     0 W tag: text": user, process, thread, priority, of which a user need not be.
func cutThreadTime(s string) (text string, ok bool) {
	const most = 4
	for numbers, words := 0, 0; words < most; words++ {
		word, after, found := strings.Cut(s, " ")
		switch {
		case !found:
			return "", false
		case digits(word):
			numbers++
		case numbers >= 2 && len(word) == 1 && isPriority(word[0]):
			return cutTag(after)
		case words > 0:
			return "", false
		}
		s = strings.TrimLeft(after, " ")
	}
	return "", false
}

// cutTag takes "tag     : " off.
func cutTag(s string) (text string, ok bool) {
	tag, text, ok := strings.Cut(s+" ", ": ")
	if strings.TrimSpace(text) == "" && strings.Contains(strings.TrimSpace(tag), " ") { // "Call trace: ", without a tag
		text = tag + ":"
	}
	return text, ok && len(tag) <= maxTag
}

// cutBrief takes "tag (  123): " off, and the tag alone where it is empty or the kernel's: another may be a message.
func cutBrief(s string) (text string, ok bool) {
	tag, text, ok := strings.Cut(s+" ", ": ")
	name, pid, process := strings.Cut(tag, "(")
	if process {
		pid, closed := strings.CutSuffix(pid, ")")
		return text, ok && closed && digits(strings.TrimSpace(pid))
	}
	name = strings.TrimSpace(name)
	return text, ok && (name == "" || name == "kernel")
}
