package listing

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// heading reads a line that begins a record or a list, or says more of one.
func (s *scanner) heading(i int, text string) bool {
	said := withoutProcess(text)
	if said != text && (s.rec == nil || s.rec.maker == "valgrind") { // which says what went wrong in front of the frames
		s.title, s.titled = said, i+1
	}
	text = said
	if s.module(i, text) || s.namedThread(i, text) || s.stopped(i, text) || s.thrown(i, text) || s.cdbRegisters(i, text) {
		return true
	}
	if s.rec == nil && isGoroutine(text) { // of a handler that went on, and printed its own words
		s.open(i, "Go")
	}
	if s.rec == nil && strings.HasPrefix(text, "Frame  ") && strings.HasSuffix(text, "  Args") { // of a hang, or of a signal
		s.open(i, cygwin)
		return true
	}
	if headings.First(text) < 0 {
		return s.listTitle(i, text)
	}
	if s.userFault(i, text) || s.process(i, text) {
		return true
	}
	for k := range headlines {
		h := &headlines[k]
		if n := strings.Index(text, h.says); n < 0 || h.role&start != 0 && n > 0 {
			continue
		}
		if s.rec == nil || !s.goesOn(h) {
			if h.role&more != 0 && (s.rec != nil || h.role&alone == 0) {
				continue
			}
			s.open(i, h.maker)
		} else {
			s.begin(i, "")
		}
		s.th.crashed = s.th.crashed || h.role&crashed != 0
		s.rec.maker, s.rec.last, s.titled = h.maker, i, 0
		if h.role&why != 0 && s.rec.reason == "" {
			s.rec.reason = text[max(0, strings.Index(text, strings.TrimPrefix(h.says, ": "))):]
			if h.role&start == 0 && h.maker != "sanitizers" {
				s.rec.reason = strings.TrimLeft(text[strings.Index(text, "]: ")+1:], ": ") // behind the journal's name of the program
			}
		}
		if s.rec.fault.read(text); h.maker == cygwin { // "… at rip=001004019DC"
			s.registers(text)
		}
		return true
	}
	return s.listTitle(i, text)
}

// listTitle keeps a line that says which list follows, and tells whether a list of the record begins.
func (s *scanner) listTitle(i int, text string) bool {
	if number, ok := strings.CutPrefix(text, "[Current thread is "); ok && s.rec != nil { // GDB
		s.rec.current = "Thread " + number[:run(number, phrases.IsDigit)] + " "
	}
	if strings.HasPrefix(text, "[KCrash Handler]") && s.th != nil { // KDE's GDB
		s.th.crashed = true
	}
	if strings.HasPrefix(text, "end trace frame: ") { // OpenBSD's
		s.title, s.titled = "", i+1
	}
	if (strings.HasSuffix(text, ":") || isThread(text)) && len(text) <= maxTitle {
		s.title, s.titled = strings.TrimSuffix(text, ":"), i+1
		if s.rec != nil && s.th != nil && isThread(text) {
			s.begin(i, s.title)
			s.rec.last = i
			return true
		}
	}
	return false
}

// maxTitle is how long in bytes the line is that says which list follows.
const maxTitle = 160

// isThread tells whether a line says that the stack of a thread follows.
func isThread(text string) bool {
	number, ok := strings.CutPrefix(text, "Thread ")
	return ok && phrases.Leading(number, -1) >= 0 || phrases.Begins(text, "goroutine ", "Stack trace of thread ", "Threads[", "Crashed Thread Info:",
		"Read at ", "Write at ", "Previous read at ", "Previous write at ", "Goroutine ") || strings.HasSuffix(text, " here:")
}

// isGoroutine tells whether a line is "goroutine 34 [running]:".
func isGoroutine(text string) bool {
	return strings.HasPrefix(text, "goroutine ") && strings.Contains(text, " [") && strings.HasSuffix(text, "]:")
}

// goesOn tells whether a headline is of the record that is open.
func (s *scanner) goesOn(h *headline) bool {
	if s.rec.maker != h.maker && s.rec.headed {
		return false
	}
	if h.role&more != 0 || !s.rec.headed && s.titled > 0 {
		return h.role&more != 0
	}
	return h.maker == "Android" && h.says[0] == '*' && len(s.th.frames)+len(s.th.regs) == 0 && s.rec.pid < 0
}

// process reads the line that says of which process and thread a tombstone is:
//
//	pid: 32564, tid: 1084, name: Thread-2181  >>> org.example.app <<<
//	pid: 1490, tid: 1490  >>> /data/data/org.example/lib/libapp.so <<<
//	Pid:9623                                                            OpenHarmony
func (s *scanner) process(i int, text string) bool {
	at := strings.Index(text, "pid: ")
	pid, tid, ok := strings.Cut(text[max(at, 0):], ", tid: ")
	if at < 0 || !ok || at > 0 && text[at-1] != ' ' {
		return false
	}
	n := phrases.Leading(strings.TrimPrefix(pid, "pid: "), -1)
	who, command, has := strings.Cut(tid, ">>>")
	number, name, _ := strings.Cut(who, ", name: ")
	if n < 0 || phrases.Leading(number, -1) < 0 || !has && name == "" {
		return false
	}
	if s.rec == nil || s.rec.maker != "Android" || s.rec.pid >= 0 && s.rec.pid != n {
		s.open(i, "Android")
	}
	s.rec.pid, s.rec.last = n, i
	command, _, _ = strings.Cut(command, "<<<")
	if command = strings.TrimSpace(command); command != "" {
		s.rec.command = command
	}
	title := "tid " + strconv.Itoa(phrases.Leading(number, -1))
	if name = strings.TrimSpace(name); name != "" {
		title += " " + name
	}
	s.begin(i, title)
	return true
}

// namedThread reads the line that names a thread of a list of all threads:
//
//	"samples.android" sysTid=9955
//	"main" prio=5 tid=1 Native
//	Tid:9623, Name:crasher_c           OpenHarmony
func (s *scanner) namedThread(i int, text string) bool {
	if s.rec == nil || s.rec.maker != "Android" && s.rec.maker != "OpenHarmony" {
		return false
	}
	var title string
	if tid, name, ok := strings.Cut(strings.TrimPrefix(text, "Tid:"), ", Name:"); ok && strings.HasPrefix(text, "Tid:") && phrases.Leading(tid, -1) >= 0 {
		title = "tid " + strconv.Itoa(phrases.Leading(tid, -1)) + " " + name
	}
	if rest, ok := strings.CutPrefix(text, `"`); ok {
		name, what, closed := strings.Cut(rest, `" `)
		if _, tid, ok := strings.Cut(what, "sysTid="); ok && closed && phrases.Leading(tid, -1) >= 0 {
			title = "tid " + strconv.Itoa(phrases.Leading(tid, -1)) + " " + name
		} else if closed && strings.Contains(what, "prio=") {
			title = name
		}
	}
	if title == "" {
		return false
	}
	s.begin(i, title)
	s.rec.last = i
	return true
}

// thrown reads the addresses that macOS and iOS print of an exception, where nothing names them:
//
//	*** First throw call stack:
//	(0x1803f3158 0x18019ebd8 0x104b3bf50)
func (s *scanner) thrown(i int, text string) bool {
	if s.titled != i || s.title != "*** First throw call stack" || !strings.HasPrefix(text, "(0x") {
		return false
	}
	for word := range strings.FieldsSeq(strings.Trim(text[:min(len(text), maxFrameLine)], "()")) {
		if addr, ok := phrases.Hex(word); ok {
			s.frame(i, Frame{Maker: "macOS", Number: -1, Addr: addr, how: returns})
		}
	}
	return true
}

// stopped reads the line of LLDB that says of which thread the list is, and why that stopped:
//
//   - thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x10)
//     thread #2, name = 'worker'
func (s *scanner) stopped(i int, text string) bool {
	bare := strings.TrimPrefix(text, "* ")
	if !strings.HasPrefix(bare, "thread #") || len(text) > 2*maxTitle {
		return false
	}
	title, why, _ := strings.Cut(bare, ", stop reason = ")
	s.title, s.titled = title, i+1
	if phrases.Begins(why, "EXC_", "signal SIG") && !phrases.Begins(why, "EXC_BREAKPOINT", "signal SIGSTOP", "signal SIGINT") {
		s.open(i, "LLDB")
		s.rec.reason, s.th.crashed = why, true
		s.rec.fault.read(why)
	}
	return true
}

// cdbRegisters begins the registers that Windows' debuggers print of where a thread stands. Its list follows, or that of another:
//
//	rax=0000000000000000 rbx=00000212a36edc80 rcx=ef24ab6f5aa40000
//	rip=00007ffac0ac5a12 rsp=00000016f1f7b508 rbp=0000000000000004
func (s *scanner) cdbRegisters(i int, text string) bool {
	if !phrases.Begins(text, "eax=", "rax=") || run(text[len("eax="):], phrases.IsHex) < 8 || s.rec != nil && s.rec.maker != winDbg {
		return false
	}
	if s.rec == nil {
		s.open(i, winDbg)
	}
	s.begin(i, "")
	s.rec.last, s.th.to = i, i
	return s.registers(text)
}

// module reads a line of markup that names a binary, or says where a part of one is mapped:
//
//	{{{module:0:libc.so:elf:4fcb712aa6387724a9f465a32cd8c14b}}}
//	{{{mmap:0x7f0000000000:0x1000:load:0:rx:0x0}}}
func (s *scanner) module(i int, text string) bool {
	inner, ok := strings.CutPrefix(text, "{{{")
	if !ok {
		return false
	}
	if s.rec == nil {
		s.open(i, "markup")
	}
	s.rec.last = i
	f := strings.Split(strings.TrimSuffix(inner, "}}}"), ":")
	switch {
	case f[0] == "reset":
		s.modules = nil
	case f[0] == "module" && len(f) == 5 && len(s.modules) < maxMarkup:
		id, _ := hex.DecodeString(f[4])
		if s.modules == nil {
			s.modules = map[string]mapping{}
		}
		s.modules[f[1]] = mapping{name: f[2], buildID: id, image: true}
	case f[0] == "mmap" && len(f) == 7 && f[3] == "load":
		m := s.modules[f[4]]
		lo, ok := phrases.Hex(f[1])
		size, sized := phrases.Hex(f[2])
		off, placed := phrases.Hex(f[6])
		if m.lo, m.hi, m.off, m.exec = lo, lo+size, off, strings.Contains(f[5], "x"); ok && sized && placed && m.lo < m.hi && s.room.maps.Draw(1) {
			s.rec.maps = append(s.rec.maps, m)
		}
	}
	return true
}

// maxMarkup bounds the binaries that markup names.
const maxMarkup = 1 << 14

// mapLine reads a line of mappings:
//
//	00000055'00000000-00000055'00020fff r-x         0     21000  /usr/bin/sensor (BuildId: 892e…) (load bias 0x1000)
//	08048000-08049000 r-xp 00000000 00:10 12277      /home/user/level8
//	797000-79e000 r-xp 00004000 /system/bin/crasher_c
//	0x00007ff6a4700000 - 0x00007ff6a470d000   C:\jdk\bin\javaw.exe
func mapLine(text string) (m mapping, ok bool) {
	text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(text, " "), "--->"), " ")
	if f := strings.Split(text, "|"); len(f) >= 7 && f[0] == "Module" { // minidump_stackwalk -m
		text = f[5] + " - " + f[6] + " " + f[1]
	}
	if lo, rest, apart := strings.Cut(text, " - 0x"); apart && strings.HasPrefix(lo, "0x") {
		hi, name, _ := strings.Cut(strings.ReplaceAll(rest, "\t", " "), " ")
		name, _, _ = strings.Cut(strings.TrimLeft(name, " "), "  ")
		var a, b bool
		m.lo, a = phrases.Hex(lo)
		m.hi, b = phrases.Hex(hi)
		m.name, m.exec, m.image = name, true, true
		return m, a && b && m.lo < m.hi && name != ""
	}
	addrs, rest, ok := strings.Cut(text, " ")
	lo, hi, dash := strings.Cut(strings.ReplaceAll(addrs, "'", ""), "-")
	if !ok || !dash || len(lo) < 4 {
		return m, false
	}
	var a, b bool
	m.lo, a = phrases.Hex(lo)
	m.hi, b = phrases.Hex(hi)
	perms, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if !a || !b || m.hi <= m.lo || len(perms) < 3 || len(perms) > 4 || strings.Trim(perms, "rwxsp-") != "" {
		return m, false
	}
	if m.hi&0xfff == 0xfff { // Android writes the last byte
		m.hi++
	}
	m.exec = perms[2] == 'x'
	for n := 0; ; n++ {
		rest = strings.TrimLeft(rest, " ")
		word, behind, _ := strings.Cut(rest, " ")
		if word == "" || strings.Trim(word, "0123456789abcdefABCDEF:") != "" {
			break
		}
		if n == 0 {
			m.off, _ = phrases.Hex(word)
		}
		rest = behind
	}
	if before, id, ok := strings.Cut(rest, " (BuildId: "); ok {
		id, _, _ = strings.Cut(id, ")")
		m.buildID, _ = hex.DecodeString(id)
		rest = before
	}
	rest, _, _ = strings.Cut(rest, " (load bias ")
	m.name = strings.TrimSpace(rest)
	return m, true
}

// belongs reads a line within a record that is neither a frame nor a heading: registers, memory, mappings, and what is said of the
// fault. It tells whether the line belongs to the record.
func (s *scanner) belongs(i int, text string) bool {
	bare := strings.TrimSpace(text)
	switch s.rec.maker {
	case "Linux":
		return s.fromKernel(i, bare)
	case javaVM:
		return s.fromJavaVM(bare)
	case winDbg:
		if field, _, ok := strings.Cut(bare, ":"); ok && field == strings.ToUpper(field) { // PROCESS_NAME:  toy.exe
			return true
		}
	case breakpad, "Atmosphere":
		return s.context(bare) || s.mapped(bare)
	}
	switch {
	case s.goPlace(text), s.source(bare):
		return true
	case phrases.Begins(bare, "memory near", "Memory near", "stack:", "FaultStack:", "code around"):
		s.section = inMemory
		return true
	case phrases.Begins(bare, "memory map", "Memory map", "======= Memory map", "Maps:"):
		s.section = inMaps
		return true
	}
	if s.mapped(bare) || s.section == inMemory && s.row(bare) {
		return true
	}
	return s.fact(bare) || s.section == inText && s.registers(text)
}

// mapped reads a line of a list of mappings.
func (s *scanner) mapped(text string) bool {
	m, ok := mapLine(text)
	if ok && s.room.maps.Draw(1) {
		s.rec.maps = append(s.rec.maps, m)
	}
	return ok
}

// row reads a row of memory.
func (s *scanner) row(text string) bool {
	r, ok := rowOf(text)
	if !ok || s.th == nil || !s.room.rows.Draw(1) {
		return false
	}
	s.th.rows = append(s.th.rows, r)
	return true
}

// fact reads what a line says of the fault or of the program.
func (s *scanner) fact(text string) bool {
	switch {
	case phrases.Begins(text, "ABI: "):
		s.rec.abi = strings.Trim(text[len("ABI: "):], "' ")
	case phrases.Begins(text, "signal "), phrases.Begins(text, "signal: "):
		s.rec.fault.read(text)
	case phrases.Begins(text, "Abort message: ", "Cause: ", "LastFatalMessage:"):
		s.rec.fault.say(text)
	case phrases.Begins(text, "Cmd line: ", "Cmdline: ", "Executable: ", "Process name:"):
		_, name, _ := strings.Cut(text, ":")
		s.rec.command = strings.TrimSpace(name)
	case phrases.Begins(text, "Pid:"):
		s.rec.pid = phrases.Leading(text[len("Pid:"):], -1)
	case s.rec.maker == cygwin && strings.Contains(text, "program="):
		_, text, _ = strings.Cut(text, "program=")
		s.rec.command, text, _ = strings.Cut(text, ", pid ")
		s.rec.pid = phrases.Leading(text, -1)
		return false // the line of i386 has registers, too
	case s.rec.maker == "sanitizers" && phrases.Begins(text, "READ of size", "WRITE of size"):
		s.rec.fault.say(text)
	default:
		return phrases.Begins(text, "Build fingerprint:", "Revision:", "backtrace:", "--- --- ---")
	}
	return true
}
