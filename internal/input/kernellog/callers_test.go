package kernellog

import (
	"strings"
	"testing"
)

// TestLostCaller: a function that only others call was not called by the next entry: a line between was lost.
func TestLostCaller(t *testing.T) {
	for chain, want := range map[string]string{
		"toy_write[toy] vfs_write ksys_write __riscv_sys_write do_trap_ecall_u handle_exception": "",
		"toy_write[toy] ksys_write __riscv_sys_write do_trap_ecall_u handle_exception":           "ksys_write",
		"toy_write[toy] vfs_write __riscv_sys_write do_trap_ecall_u handle_exception":            "__riscv_sys_write",
		"toy_write[toy] vfs_write ksys_write do_trap_ecall_u handle_exception":                   "do_trap_ecall_u",
		"toy_write[toy] vfs_write ksys_write __riscv_sys_write handle_exception":                 "handle_exception",
		"toy_ioctl[toy] __riscv_sys_ioctl do_trap_ecall_u handle_exception":                      "",
		"toy_ioctl[toy] do_trap_ecall_u handle_exception":                                        "do_trap_ecall_u",
		"do_irq handle_exception toy_spin[toy] vfs_write":                                        "",
		"toy_work[toy] process_one_work worker_thread kthread ret_from_fork":                     "",
		"toy_work[toy] worker_thread kthread ret_from_fork":                                      "worker_thread",
		"toy_work[toy] process_one_work kthread ret_from_fork":                                   "kthread",
		"toy_work[toy] process_one_work worker_thread ret_from_fork":                             "ret_from_fork",
		"toy_thread[toy] kthread ret_from_exception":                                             "",
		"toy_thread[toy] kthread":                                                                "",
		"dump_stack __warn warn_slowpath_fmt warn_c[toy] vfs_write ksys_write":                   "",
		"dump_stack __warn warn_c[toy] vfs_write ksys_write":                                     "warn_c",
		"__warn report_bug do_trap_break handle_exception":                                       "",
		"toy_read[toy] vfs_read sys_read handle_sys":                                             "",
		"toy_read[toy] vfs_read syscall_common":                                                  "syscall_common",
		"toy_thread[toy] kthread kernel_thread_helper":                                           "",
	} {
		if got := gaps(t, riscvTrace(strings.Fields(chain))); got != want {
			t.Errorf("%s: gaps before %q, want %q", chain, got, want)
		}
	}
}

// TestLostWork: process_one_work calls the function of the work that the report names.
func TestLostWork(t *testing.T) {
	for chain, want := range map[string]string{
		"toy_deref[toy] toy_work[toy] process_one_work worker_thread": "",
		"toy_deref[toy] process_one_work worker_thread":               "process_one_work",
	} {
		log := strings.Replace(riscvTrace(strings.Fields(chain)), "Call Trace:", "Workqueue: events toy_work [toy]\nCall Trace:", 1)
		if got := gaps(t, log); got != want {
			t.Errorf("%s: gaps before %q, want %q", chain, got, want)
		}
	}
}

// riscvTrace is a chain, with the module behind a name in brackets.
func riscvTrace(names []string) string {
	log := "CPU: 1 UID: 0 PID: 99 Comm: sh Not tainted 6.12.0 #1\nCall Trace:\n[<ffffffff80006a02>] dump_backtrace+0x1c/0x24\n"
	for _, s := range names {
		name, module, _ := strings.Cut(s, "[")
		log += "[<ffffffff80006b02>] " + name + "+0x10/0x20"
		if module != "" {
			log += " [" + module
		}
		log += "\n"
	}
	return log
}

// TestLostPlaceOfRISCV: the line with the place of the PC was lost. The address is that of the chain's first entry, which is
// one frame.
func TestLostPlaceOfRISCV(t *testing.T) {
	log := strings.Replace(oopses[6].log, "\nepc : leaf+0xc/0x20 [toy]", "", 1)
	if got := threadsOf(t, log); got != oopses[6].title+"|leaf! mid vfs_write ret_from_syscall!.\n" {
		t.Error(got)
	}
	log = strings.Replace(log, "ra : mid+0x10/0x20 [toy]", "ra : leaf+0x8/0x20 [toy]", 1) // left over from a call that came back
	if got := threadsOf(t, log); got != oopses[6].title+"|leaf! vfs_write ret_from_syscall!.\n" {
		t.Error(got)
	}
}
