package publicreports

// doubt is what is said of a log into which two reports were printed; the logs here are clean.
const doubt = "two reports are printed into one another"

// kernels are kernel logs of syzkaller's, satyr's and abrt's test suites, and some from forums.
func kernels() []Case {
	unsaid := "state it (--arch)"
	x86 := []string{"--arch", "x86_64"}
	return []Case{
		{File: "syz/syz-150.log", Want: []string{"sctp_sendmsg", "entry_SYSCALL_64_fastpath", "stop: root"}, Not: []string{doubt}},
		{File: "syz/syz-256.log", Want: []string{"0x0000000000000000", "sock_poll", "stop: root"}, Not: []string{doubt, "lines of a report are missing"}},
		{File: "syz/syz-406.log", Want: []string{"kobject_get", "stop: root"}, Not: []string{doubt}},
		{File: "syz/syz-471.log", Want: []string{"dummy_timer", "secondary_startup_64", "stop: root"}, Not: []string{doubt}},
		{File: "syz/syz-642.log", Want: []string{"(crashed)", "__schedule_bug.cold", "stop: root"}, Not: []string{doubt}},
		{File: "syz/syz-72.log", Want: []string{unsaid, "schedule+0x92", "rtnl_lock", "ret_from_fork"}}, {File: "syz/syz-72.log", Args: x86, Want: []string{"schedule+0x92", "rtnl_lock", "ret_from_fork"}, Not: []string{unsaid}},
		{File: "syz/syz-427.log", Want: []string{unsaid, "find_next_bit", "wait_rcu_exp_gp"}}, {File: "syz/syz-427.log", Args: x86, Want: []string{"find_next_bit", "wait_rcu_exp_gp"}, Not: []string{unsaid}},
		{File: "syz/syz-594.log", Want: []string{unsaid, "test_double_free", "kthread"}}, {File: "syz/syz-594.log", Args: x86, Want: []string{"test_double_free", "kthread"}, Not: []string{unsaid}},
		{File: "syz/syz-635.log", Want: []string{unsaid, "sctp_epaddr_lookup_transport", "ip_rcv"}}, {File: "syz/syz-635.log", Args: x86, Want: []string{"sctp_epaddr_lookup_transport", "ip_rcv"}, Not: []string{unsaid}},
		{File: "syz/syz-51.log", Want: []string{unsaid, "sock_kmalloc", "SyS_setsockopt"}}, {File: "syz/syz-51.log", Args: x86, Want: []string{"sock_kmalloc", "SyS_setsockopt"}, Not: []string{unsaid}},
		{File: "syz/syz-431.log", Refused: "PowerPC, a processor that is not supported"},
		{File: "satyr/gitlog-04", Want: []string{unsaid, "lockdep_rcu_suspicious", "addrconf_forward_change"}}, {File: "satyr/gitlog-04", Args: x86, Want: []string{"lockdep_rcu_suspicious", "addrconf_forward_change"}, Not: []string{unsaid}},
		{File: "satyr/gitlog-20", Want: []string{unsaid, "validate_chain"}}, {File: "satyr/gitlog-20", Args: x86, Want: []string{"validate_chain"}, Not: []string{unsaid}},
		{File: "satyr/gitlog-30", Want: []string{unsaid, "scsi_host_alloc"}}, {File: "satyr/gitlog-30", Args: x86, Want: []string{"scsi_host_alloc"}, Not: []string{unsaid}},
		{File: "satyr/rhbz-1040900-ppc64-1", Refused: "PowerPC, a processor that is not supported"},
		{File: "satyr/arm-hung-task-oops", Want: []string{"panic: CPU 3 PID 27 khungtaskd", "watchdog+0x368", "ret_from_fork", "stop: root"}, Not: []string{doubt}},
		{File: "texts/k01-rv32-nommu.log", Want: []string{"0x800d9088"}},
		{File: "texts/k04-mips-ralink-nested.log", Want: []string{"__do_page_fault"}},
		{File: "texts/k05-openwrt-618-page.log", Want: []string{"skb_panic", "ret_from_fork"}},
		{File: "texts/e10-mri-riscv-nmi.log", Want: []string{"arch_local_irq_enable", "default_idle_call"}},
		{File: "texts/h07-pixel-one-line.log", Want: []string{"__switch_to", "do_page_fault", "el0_sync"}},
		{File: "texts/h08-pixel-tasks.log", Want: []string{"__switch_to", "filemap_map_pages", "el0t_64_sync"}},
		{File: "texts/s-stack_trace.txt", Want: []string{"stack tracer", "check_new_pages+0x8", "rmqueue_bulk", "el0t_64_sync_handler+0xf4"}},
		{File: "texts/s-nvhe.log", Want: []string{"panic", "__arm64_sys_ioctl", "nVHE", "__kvm_nvhe_hyp_panic", "__kvm_nvhe_handle_trap"}},
		{File: "texts/s-ftrace.txt", Args: x86, Want: []string{"trace event", "ttwu_do_wakeup+0x10", "insert_work"}},
		{File: "texts/h09-dlog-rcu.log", Want: []string{"RCU stall: CPU 3", "__switch_to+0x8c", "tee_ioctl"}},
	}
}
