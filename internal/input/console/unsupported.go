package console

import "github.com/backsight/backsight/internal/phrases"

// mark is what only the reports of one processor print.
type mark struct{ text, processor string }

// marks are of processors that no cpu.Arch describes: registers as kernels, boot loaders and firmware call them, and causes.
var marks = [...]mark{
	{"GPR00: ", "PowerPC"}, {"NIP: ", "PowerPC"}, {"NIP [", "PowerPC"}, {"PACATMSCRATCH", "PowerPC"}, {" (unreliable)", "PowerPC"},
	{"Krnl PSW : ", "s390x"}, {"Krnl GPRS: ", "s390x"}, {"User PSW : ", "s390x"},
	{"PRMD: ", "LoongArch"}, {"CRMD: ", "LoongArch"}, {"TSTATE: ", "SPARC"}, {" TNPC: ", "SPARC"},
	{"IASQ: ", "PA-RISC"}, {"IAOQ: ", "PA-RISC"}, {"ip is at ", "IA-64"}, {"MACL: ", "SuperH"}, {"Format 00  Vector: ", "m68k"}, {"Format 04  Vector: ", "m68k"},
	{"[ECR   ]: ", "ARC"}, {"BLINK: 0x", "ARC"}, {"[BLINK]: ", "ARC"}, {"blink: 0x", "ARC"}, {"Registers dump: mode=", "MicroBlaze"},
	{"EXCVADDR", "Xtensa"}, {"EXCCAUSE", "Xtensa"}, {"excvaddr=", "Xtensa"}, {"epc1=0x", "Xtensa"}, {"LBEG", "Xtensa"}, {"ctx: cont", "Xtensa"},
	{"PS      : 0x", "Xtensa"}, {"PS: 0006", "Xtensa"}, {"(LoadProhibited)", "Xtensa"}, {"(StoreProhibited)", "Xtensa"}, {"(InstrFetchProhibited)", "Xtensa"},
	{"(LoadStoreAlignment)", "Xtensa"}, {"(Unhandled debug exception)", "Xtensa"}, {"(IllegalInstruction)", "Xtensa"},
	{"UPCXI:", "TriCore"}, {"LPCXI:", "TriCore"}, {"PCXI: ", "TriCore"},
}

// Unsupported names the processor of a line out of a report, where only a processor that is not supported prints the line;
// "" for all other lines.
func Unsupported(line string) string {
	if i := unsupported.First(line); i >= 0 {
		return marks[i].processor
	}
	return ""
}

var unsupported = phrases.List{Phrases: func() []string { return phrases.Of(marks[:], func(m *mark) string { return m.text }) }}

// Refusal says of a report that it is of such a processor.
func Refusal(title, processor string) string {
	return title + ": registers of " + processor + ", a processor that is not supported"
}

// unsupportedIn names the processor of a whole log; "" where it has no such line.
func unsupportedIn(log *Log) string {
	if !log.foreign {
		return ""
	}
	for piece := range log.pieces {
		if name := Unsupported(string(piece)); name != "" {
			return name
		}
	}
	return ""
}
