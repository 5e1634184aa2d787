package elfcore

import (
	"bytes"
	"strconv"
)

// Notes of OpenBSD (sys/sys/exec_elf.h).
const (
	openBSDProcinfo = 10
	openBSDAuxv     = 11
	openBSDRegs     = 20
)

// openBSD reads a note of OpenBSD. Notes of a thread carry the thread's ID; the thread that crashed comes first.
func (r *noteReader) openBSD(thread string, typ uint32, desc []byte) {
	n, h := &r.notes, &r.file.header
	n.system = openBSD
	switch id, err := strconv.Atoi(thread); {
	case err == nil && typ == openBSDRegs:
		n.thread(id, openBSDBlock(desc, h))
	case err == nil:
	case typ == openBSDProcinfo: // struct elfcore_procinfo
		n.procinfo(desc, h.big, 32, 72)
	case typ == openBSDAuxv:
		n.auxv = readAuxv(desc, h)
	}
}

// openBSDBlock is a thread's struct reg (sys/arch/amd64/include/reg.h) as NetBSD has one of x86-64; nil of other processors.
//
//	OpenBSD  rdi … rax  rsp  rip  rflags  cs  ss  ds  es  fs  gs
//	NetBSD   rdi … rax  gs  fs  es  ds  trapno  err  rip  cs  rflags  rsp  ss
func openBSDBlock(desc []byte, h *header) []byte {
	const same, word = 15, 8
	if h.machine != emX86_64 || len(desc) < 24*word {
		return nil
	}
	at := func(i int) []byte { return desc[i*word : (i+1)*word] }
	return bytes.Join([][]byte{desc[:same*word], at(23), at(22), at(21), at(20), make([]byte, 2*word), at(16), at(18), at(17), at(15), at(19)}, nil)
}
