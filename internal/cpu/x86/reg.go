package x86

import "github.com/backsight/backsight/cpu"

// Registers of x86_64 in the order of DWARF (psABI figure 3.36), which is not
// the order of the encoding. R16 to R31 are APX's; no ABI preserves them.
const (
	RAX cpu.Reg = iota
	RDX
	RCX
	RBX
	RSI
	RDI
	RBP
	RSP
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	RIP // the return address column
	RFLAGS
	R16
	R17
	R18
	R19
	R20
	R21
	R22
	R23
	R24
	R25
	R26
	R27
	R28
	R29
	R30
	R31
)

// Registers of i386 in the order of DWARF, which is that of the encoding (psABI
// table 2.14).
const (
	EAX cpu.Reg = iota
	ECX
	EDX
	EBX
	ESP
	EBP
	ESI
	EDI
	EIP // the return address column
	EFLAGS
)

// regs64 names the registers. The short names are those of the kernel's struct
// pt_regs, as crash and drgn print them.
func regs64() []cpu.RegInfo {
	return []cpu.RegInfo{
		RAX:    {Names: []string{"rax", "ax"}, DWARF: 0, Size: 8},
		RDX:    {Names: []string{"rdx", "dx"}, DWARF: 1, Size: 8},
		RCX:    {Names: []string{"rcx", "cx"}, DWARF: 2, Size: 8},
		RBX:    {Names: []string{"rbx", "bx"}, DWARF: 3, Size: 8},
		RSI:    {Names: []string{"rsi", "si"}, DWARF: 4, Size: 8},
		RDI:    {Names: []string{"rdi", "di"}, DWARF: 5, Size: 8},
		RBP:    {Names: []string{"rbp", "bp", "fp"}, DWARF: 6, Size: 8},
		RSP:    {Names: []string{"rsp", "sp"}, DWARF: 7, Size: 8},
		R8:     {Names: []string{"r8", "r08"}, DWARF: 8, Size: 8},
		R9:     {Names: []string{"r9", "r09"}, DWARF: 9, Size: 8},
		R10:    {Names: []string{"r10"}, DWARF: 10, Size: 8},
		R11:    {Names: []string{"r11"}, DWARF: 11, Size: 8},
		R12:    {Names: []string{"r12"}, DWARF: 12, Size: 8},
		R13:    {Names: []string{"r13"}, DWARF: 13, Size: 8},
		R14:    {Names: []string{"r14"}, DWARF: 14, Size: 8},
		R15:    {Names: []string{"r15"}, DWARF: 15, Size: 8},
		RIP:    {Names: []string{"rip", "pc", "ip"}, DWARF: 16, Size: 8},
		RFLAGS: {Names: []string{"eflags", "rflags", "flags", "efl"}, DWARF: 49, Size: 8},
		R16:    {Names: []string{"r16"}, DWARF: 130, Size: 8},
		R17:    {Names: []string{"r17"}, DWARF: 131, Size: 8},
		R18:    {Names: []string{"r18"}, DWARF: 132, Size: 8},
		R19:    {Names: []string{"r19"}, DWARF: 133, Size: 8},
		R20:    {Names: []string{"r20"}, DWARF: 134, Size: 8},
		R21:    {Names: []string{"r21"}, DWARF: 135, Size: 8},
		R22:    {Names: []string{"r22"}, DWARF: 136, Size: 8},
		R23:    {Names: []string{"r23"}, DWARF: 137, Size: 8},
		R24:    {Names: []string{"r24"}, DWARF: 138, Size: 8},
		R25:    {Names: []string{"r25"}, DWARF: 139, Size: 8},
		R26:    {Names: []string{"r26"}, DWARF: 140, Size: 8},
		R27:    {Names: []string{"r27"}, DWARF: 141, Size: 8},
		R28:    {Names: []string{"r28"}, DWARF: 142, Size: 8},
		R29:    {Names: []string{"r29"}, DWARF: 143, Size: 8},
		R30:    {Names: []string{"r30"}, DWARF: 144, Size: 8},
		R31:    {Names: []string{"r31"}, DWARF: 145, Size: 8},
	}
}

func regs32() []cpu.RegInfo {
	return []cpu.RegInfo{
		EAX:    {Names: []string{"eax", "ax"}, DWARF: 0, Size: 4},
		ECX:    {Names: []string{"ecx", "cx"}, DWARF: 1, Size: 4},
		EDX:    {Names: []string{"edx", "dx"}, DWARF: 2, Size: 4},
		EBX:    {Names: []string{"ebx", "bx"}, DWARF: 3, Size: 4},
		ESP:    {Names: []string{"esp", "sp"}, DWARF: 4, Size: 4},
		EBP:    {Names: []string{"ebp", "bp", "fp"}, DWARF: 5, Size: 4},
		ESI:    {Names: []string{"esi", "si"}, DWARF: 6, Size: 4},
		EDI:    {Names: []string{"edi", "di"}, DWARF: 7, Size: 4},
		EIP:    {Names: []string{"eip", "pc", "ip"}, DWARF: 8, Size: 4},
		EFLAGS: {Names: []string{"eflags", "flags", "efl"}, DWARF: 9, Size: 4},
	}
}
