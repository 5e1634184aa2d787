package listing

import (
	"strings"

	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
)

// HotSpot writes a file hs_err_pid123.log, or a text on its console, of a fault in native code, in the Java VM or in what it
// compiled (hotspot/share/utilities/vmError.cpp):
//
//	# A fatal error has been detected by the Java Runtime Environment:
//	#  SIGSEGV (0xb) at pc=0x00007f29738da214, pid=16385, tid=16386
//	Current thread (0x00007f296c017f10):  JavaThread "main" [_thread_in_vm, id=16386, stack(0x00007f2972900000,0x00007f2972a00000)]
//	Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
//	V  [libjvm.so+0xeda214]  Unsafe_PutLong+0x124
//	j  Crash.main([Ljava/lang/String;)V+22
//	Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)      those of the list above once more
//	siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000010
//	Registers:
//	RAX=0x0000000000000000, RBX=0x00007f296c017f10, RCX=0x0000000000000010, RDX=0x0000000000000000
//	Register to memory mapping:                                         the registers once more
//	Top of Stack: (sp=0x00007f29729fe480)
//	0x00007f29729fe480:   00007f28eb416c80 0000000000000000
//	Dynamic libraries:
//	7f2972a00000-7f2973b5e000 r-xp 00000000 fd:00 2628 /usr/lib/jvm/lib/server/libjvm.so
//	END.
const javaVM = "Java VM"

// javaError is the line by which the text begins.
const javaError = "# A fatal error has been detected by the Java Runtime Environment:"

// fromJavaVM reads a line of such a text, up to the last of which all belongs to the record.
func (s *scanner) fromJavaVM(text string) bool {
	f := &s.rec.fault
	head, rest, _ := strings.Cut(text, ":")
	switch head {
	case "END.":
		s.rec = nil
	case "Registers":
		s.section = inText
	case "Top of Stack":
		s.section = inMemory
	case "Dynamic libraries":
		s.section = inMaps
	case "Java frames":
		s.section = inOther
		if s.th != nil && len(s.th.frames) == 0 { // the stack could not be walked
			s.section = inText
		}
	case "Register to memory mapping", "Instructions", "Heap", "VM Arguments", "Environment Variables":
		s.section = inOther
	case "siginfo":
		f.read(rest)
	default:
		s.javaLine(text)
	}
	return true
}

// javaLine reads a line that is no heading.
func (s *scanner) javaLine(text string) {
	if signal, rest, ok := strings.Cut(text, " at pc=0x"); ok && s.rec.reason == "" {
		s.rec.reason = strings.TrimLeft(signal, "# ")
		s.rec.fault.name(signal)
		if _, pid, ok := strings.Cut(rest, ", pid="); ok {
			s.rec.pid = phrases.Leading(pid, -1)
		}
		pc, _ := hexBehind(text, " pc=")
		s.javaRegister("pc", pc)
	}
	if _, thread, ok := strings.Cut(text, "):  "); ok && strings.HasPrefix(text, "Current thread (") && s.th != nil {
		thread, _, _ = strings.Cut(thread, " [")
		s.th.title = joined(s.th.title, thread)
	}
	if _, vm, ok := strings.Cut(text, " linux-"); ok && strings.HasPrefix(text, "# Java VM: ") {
		s.rec.abi = strings.Replace(strings.TrimSuffix(vm, ")"), "amd64", "x86_64", 1)
	}
	if sp, ok := hexBehind(text, ",  sp="); ok && strings.HasPrefix(text, "Stack: [") {
		s.javaRegister("sp", sp)
	}
	switch s.section {
	case inText:
		s.registers(text)
		s.javaNames()
	case inMemory:
		s.row(text)
	case inMaps:
		s.mapped(text)
	}
}

// javaNames gives AArch64's registers their names: R0=0x0000000000000010.
func (s *scanner) javaNames() {
	if s.rec.abi != "aarch64" || s.th == nil {
		return
	}
	for i := range s.th.regs {
		if number, ok := strings.CutPrefix(s.th.regs[i].Name, "r"); ok {
			s.th.regs[i].Name = "x" + number
		}
	}
}

// javaRegister keeps the PC or SP, which the list of AArch64's registers has not. Other processors' are known by other names.
func (s *scanner) javaRegister(name string, v uint64) {
	if s.th != nil {
		s.th.regs = append(s.th.regs, regtext.Value{Name: name, Value: v, Digits: 16})
	}
}
