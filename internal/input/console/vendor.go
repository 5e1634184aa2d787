package console

import (
	"strings"
)

// What kernels of phones put into a message's time and behind it.
//
//	[   12.345678]  [ 2:  kworker/2:1:  123] text                                Samsung; I[ 2: …] or [I2: …] in an interrupt
//	[   12.345678] (2)[123:kworker/2:1]text                                      MediaTek; -(2) where interrupts are off
//	[   12.345678]<2>.(2)[123:kworker/2:1]text                                   MediaTek, before Linux 3.18
//	[   12.345678] c2 text                                                       Spreadtrum, Samsung
//	[   12.345678] c2 123 (kworker/2:1) text                                     Marvell
//	[   12.345678] [c2] text                                                     Hardkernel
//	[   12.345678,2] text                                                        Motorola
//	[   12.345678 / 09-26 13:22:37.707][2][123][kworker/2:1] text                LG
//	[   12.345678s][2016:05:10 10:40:15][pid:123,cpu2,kworker/2:1]text           Huawei
//	[   12.345678] [pid:123,cpu2,kworker/2:1]text

// cutVendor takes off what phones' kernels put behind the time: the processor and the task.
func cutVendor(s string) (caller, rest string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if s == "" || strings.IndexByte("(<-.I[c", s[0]) < 0 { // what none of them begins with
		return "", "", false
	}
	for _, cut := range [...]func(string) (caller, rest string, ok bool){cutMediaTek, cutSamsung, cutLG, cutHuawei, cutProcessor} {
		if caller, rest, ok = cut(s); ok {
			return caller, rest, true
		}
	}
	return "", "", false
}

func cutMediaTek(s string) (caller, rest string, ok bool) {
	of, rest, ok := strings.Cut(strings.TrimLeft(cutLevel(s), "-. "), ")[")
	if !ok || !strings.HasPrefix(of, "(") || !digits(of[1:]) {
		return "", "", false
	}
	task, rest, closed := strings.Cut(rest, "]")
	pid, _, named := strings.Cut(task, ":")
	return "T" + pid, rest, closed && named && digits(pid)
}

func cutSamsung(s string) (caller, rest string, ok bool) {
	s, interrupt := strings.CutPrefix(s, "I")
	if !strings.HasPrefix(s, "[") {
		return "", "", false
	}
	head, rest, closed := strings.Cut(s[1:], "] ")
	cpu, task, named := strings.Cut(head, ":")
	last := strings.LastIndexByte(task, ':')
	if !closed || !named || last < 0 {
		return "", "", false
	}
	cpu, interrupts := strings.CutPrefix(strings.TrimSpace(cpu), "I")
	caller = "T" + strings.TrimSpace(task[last+1:])
	ok = digits(cpu) && digits(caller[1:])
	if interrupt || interrupts {
		caller = "C" + cpu
	}
	return caller, rest, ok
}

// cutLG takes "[2][123][kworker/2:1]" off: processor, process, name.
func cutLG(s string) (caller, rest string, ok bool) {
	cpu, rest, ok1 := cutBrackets(s)
	pid, rest, ok2 := cutBrackets(rest)
	_, rest, ok = cutBrackets(rest)
	return "T" + pid, rest, ok && ok1 && ok2 && digits(cpu) && digits(pid)
}

// cutHuawei takes "[2016:05:10 10:40:15][pid:123,cpu2,kworker/2:1]" off, of which the date need not be.
func cutHuawei(s string) (caller, rest string, ok bool) {
	if date, behind, dated := cutBrackets(s); dated && len(date) == len("2016:05:10 10:40:15") && strings.Trim(date, "0123456789: ") == "" {
		s = behind
	}
	task, rest, ok := cutBrackets(s)
	pid, is := strings.CutPrefix(task, "pid:")
	pid, _, named := strings.Cut(pid, ",")
	return "T" + pid, rest, ok && is && named && digits(pid)
}

// cutProcessor takes "c2 " or "[c2]" off, and "123 (kworker/2:1) " behind it. Messages have no such word in front.
func cutProcessor(s string) (caller, rest string, ok bool) {
	word, rest, bracketed := cutBrackets(s)
	if !bracketed {
		word, rest, _ = strings.Cut(s, " ")
	}
	if len(word) < 2 || len(word) > 3 || word[0] != 'c' || !digits(word[1:]) {
		return "", "", false
	}
	if pid, task, ok := strings.Cut(strings.TrimLeft(rest, " "), " ("); ok && digits(pid) {
		if _, text, ok := strings.Cut(task, ") "); ok {
			return "T" + pid, text, true
		}
	}
	return "C" + word[1:], rest, true
}

// cutBrackets takes "[inner]" off.
func cutBrackets(s string) (inner, rest string, ok bool) {
	inner, rest, ok = strings.Cut(s, "]")
	if !ok || !strings.HasPrefix(inner, "[") {
		return "", s, false
	}
	return inner[1:], rest, true
}
