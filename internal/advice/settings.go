package advice

import (
	"slices"

	"github.com/backsight/backsight/report"
)

// setting is how the writer of captures of a format, of a system, is told to give what is lacking; "" for any.
type setting struct {
	format, os string
	kinds      []report.LackKind
	text       string
}

// Kinds that settings are for.
var (
	memory = []report.LackKind{report.LackStack, report.LackMemory}
	stack  = []report.LackKind{report.LackStack}
	code   = []report.LackKind{report.LackBinary}
	tables = []report.LackKind{report.LackBinary, report.LackDebugFile}
	regs   = []report.LackKind{report.LackRegisters}
)

// known are the settings. Their words are those of core(5), gcore(1), Microsoft's minidumpapiset.h, Breakpad's and Crashpad's
// headers, and the Kconfig files of ESP-IDF, Zephyr and NuttX.
func known() []setting {
	return []setting{
		{"elfcore", "Linux", memory, "ulimit -c unlimited (systemd-coredump: ProcessSizeMax, ExternalSizeMax): a core that is cut short lacks what stands last"},
		{"elfcore", "Linux", memory, "echo 0x37 > /proc/PID/coredump_filter: bits 0 and 1 are anonymous memory, in which stacks lie, 2 files that are mapped privately, 4 ELF headers"},
		{"elfcore", "Linux", code, "echo 0x37 > /proc/PID/coredump_filter: bit 2 puts the binaries' code into the core, bit 4 their build IDs"},
		{"elfcore", "Linux", memory, "gcore -a takes all of memory; GDB: set use-coredump-filter off, set dump-excluded-mappings on"},
		{"minidump", "", stack, "Breakpad: no MinidumpDescriptor::set_size_limit, for that cuts stacks to 2 KB from the 21st thread on; Windows: MiniDumpWriteDump has all of them"},
		{"minidump", "", []report.LackKind{report.LackMemory}, "MINIDUMP_TYPE MiniDumpWithFullMemory or MiniDumpWithIndirectlyReferencedMemory; Breakpad: RegisterAppMemory; Crashpad: CrashpadInfo::set_extra_memory_ranges"},
		{"minidump", "", code, "MINIDUMP_TYPE MiniDumpWithCodeSegs puts the binaries' code into the dump; a symbol server has them by name and ID"},
		{"espcore", "", stack, "ESP-IDF: tasks' stacks are whole in a core dump; CONFIG_ESP_COREDUMP_CAPTURE_DRAM adds all of RAM"},
		{"espcore", "", []report.LackKind{report.LackMemory}, "ESP-IDF: CONFIG_ESP_COREDUMP_CAPTURE_DRAM"},
		{"espcore", "", regs, "ESP-IDF: CONFIG_ESP_COREDUMP_MAX_TASKS_NUM as large as there are tasks"},
		{"console", "ESP-IDF", memory, "ESP-IDF: CONFIG_ESP_COREDUMP_ENABLE_TO_UART or _TO_FLASH: the panic's text has 1 KB of the stack"},
		{"console", "Zephyr", memory, "Zephyr: CONFIG_DEBUG_COREDUMP_MEMORY_DUMP_THREADS or _LINKER_RAM instead of _MIN; CONFIG_DEBUG_COREDUMP_THREAD_STACK_TOP_LIMIT cuts stacks"},
		{"console", "Zephyr", regs, "Zephyr: CONFIG_DEBUG_COREDUMP; CONFIG_EXTRA_EXCEPTION_INFO prints the registers that callees save"},
		{"console", "NuttX", memory, "NuttX: CONFIG_ARCH_STACKDUMP_MAX_LENGTH 0, or CONFIG_BOARD_COREDUMP_FULL"},
		{"console", "Linux", memory, "kdump (kexec -p) keeps all of memory; the kernel's text has kstack_depth_to_print words of the stack"},
		{"console", "", memory, "bs_dump: -DBS_DUMP_STACK=BYTES, and bs_ram_high in the linker script"},
		{"perf.data", "", memory, "perf record --call-graph dwarf,65528: the number is how many bytes of the stack each sample has"},
		{"snapshot", "", memory, "the program that wrote the snapshot: the stack from SP to its end, as \"memory\""},
		{"snapshot", "", regs, "the program that wrote the snapshot: the registers that callees save, as \"registers\""},
		{"", "", tables, "the binaries of the build that ran: --sysroot DIR, --exe FILE, --debug-dir DIR for debug files; --debuginfod asks servers by build ID"},
	}
}

// settings are those for what is lacking in captures of a format and a system; where none is for the system, those for any.
func settings(lacks []report.Lack, format, os string) (list []string) {
	all := known()
	if !slices.ContainsFunc(all, func(s setting) bool { return s.format == format && s.os == os }) {
		os = ""
	}
	for _, s := range all {
		fits := s.format == "" || s.format == format && s.os == os
		if fits && slices.ContainsFunc(lacks, func(l report.Lack) bool { return slices.Contains(s.kinds, l.Kind) }) {
			list = append(list, s.text)
		}
	}
	return list
}
