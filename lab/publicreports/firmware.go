package publicreports

// firmware are reports of microcontrollers, boot loaders and secure worlds, by the name of the file: what people print, and dumps.
func firmware() []Case {
	const xtensa = "Xtensa, a processor that is not supported"
	esp := func(chip, form string, want ...string) Case {
		return Case{File: "esp-coredump/" + chip + form, Args: []string{"-e", "@esp-coredump/" + chip + ".app.elf.xz"}, Want: want}
	}
	c3 := []string{`"main" (crashed)`, "abort() was called at PC 0x42009351 on core 0", "panic_abort", "esp_system_abort", "abort+0x66", "fail_once",
		"ROM of the ESP32-C3", "app_main", "main_task", "vPortTaskWrapper", "stop: root", `"IDLE"`, "vPortTaskWrapper", `"esp_timer"`, "vPortExitCritical", "timer_task", "vPortTaskWrapper", "stop: root"}
	p4 := []string{`"main" (crashed)`, "abort() was called at PC 0x40008987 on core 0", "panic_abort", "esp_system_abort", "abort+0x68", "fail_once",
		"ROM of the ESP32-P4", "app_main", "main_task", "vPortTaskWrapper", "stop: root", `"IDLE0"`, `"IDLE1"`, "prvIdleTask", `"ipc0"`, "ipc_task", "stop: root", `"ipc1"`, "ipc_task", "stop: root"}
	probe := func(name string, want ...string) Case {
		return Case{File: "probe-rs/" + name + ".coredump", Args: []string{"-e", "@probe-rs/" + name + ".elf.xz"}, Want: want}
	}
	text := func(file string, want ...string) Case { return Case{File: "texts/" + file, Want: want} }
	refused := func(file, why string) Case { return Case{File: "texts/" + file, Refused: why} }
	return []Case{
		esp("esp32c3", ".core.elf", c3...), esp("esp32c3", ".coredump.b64", c3...), esp("esp32c3", ".coredump.partition.bin", c3...),
		esp("esp32p4", ".core.elf", p4...), esp("esp32p4", ".coredump.b64", p4...), esp("esp32p4", ".coredump.partition.bin", p4...),
		{File: "esp-coredump/esp32-xtensa.coredump.b64", Want: []string{`"main" (crashed)`, "abort() was called at PC 0x400d66b9 on core 0", "0x4008110d", "0x4008510c",
			"0x4008a6f0", "0x400d66bc", "ROM of the ESP32", "0x400d66d4", "stop: root", `"IDLE1"`, "0x400d1e42", "stop: root", `"esp_timer"`, "0x4008787c", "0x40085910", "stop: root"}},
		probe("RP2040_full_unwind", "test_deep_stack", "test_deep_stack", "setup_data_types", "__cortex_m_rt_main", "stop: unreadable at 0x20003ffc"),
		probe("RP2040_svcall", "software_breakpoint", "__cortex_m_rt_SVCall", "SVCall", "trigger_supervisor_call", "__cortex_m_rt_main", "0x20003ffc"),
		probe("atsamd51p19a", "print_const_pointers", "print_pointers", "main", "Reset_Handler", "stop: root"),
		probe("esp32c3_full_unwind", "test_deep_stack", "setup_data_types", "main", "hal_main", "start_rust"),
		probe("nRF52833_xxAA_hardfault_from_busfault", "precise data bus error", "software_breakpoint", "HardFault", "read_volatile",
			"trigger_hardfault_from_busfault", "__cortex_m_rt_main"),
		probe("stm32u585_nested_exceptions", "precise data bus error", "__nop", "hf_inner", "__cortex_m_rt_HardFault", "svc_inner", "level_c", "level_b",
			"level_a", "__cortex_m_rt_main", "Reset"),
		probe("stm32u585_psp_exception", "__nop", "psp_handler_inner", "__cortex_m_rt_SVCall", "psp_b", "psp_a", "__cortex_m_rt_main", "Reset"),
		{File: "cc-crashcatcher-hex.log", Want: []string{"0x08000200"}}, {File: "cc-crashcatcher.bin", Want: []string{"0x08000200"}},
		{File: "mf-memfault.bin", Refused: "Memfault"}, {File: "texts/cc-crashcatcher-hex.log", Want: []string{"0x08000200"}},
		text("b01-nuttx-riscv-userstack.log", "write was refused, at 0x0", "0x8001a37e"),
		text("b02-nuttx-riscv-alltasks.log", "assertion in init", "0x4200bdd8", "0x4200989c", "0x42001a56", "stop:", "BT Driver", "0x420082ae", "0x42003afc",
			"httpc_task", "0x420082ae", "0x42097868"),
		text("b03-nuttx-arm-backtrace-lines.log", "assertion in init", "0x2c325bde", "0x2c3080ba"),
		refused("b04-nuttx-xtensa.log", xtensa),
		text("b05-nuttx-arm64.log", "nsh_main", "0x00000000402b6bdc"),
		text("b06-tizenrt-armv7r.log", "tash", "write was refused", "0x040d9efc"),
		text("b07-opentitan-ottf.log", "write was refused, at 0x8000", "0x200009fe", "0x200024c4"),
		text("b08-zephyr-xtensa-adsp.log", "0xa0031f53", "0xa0034058", "0xa0039331"), refused("b09-nuttx-tricore.log", "TriCore, a processor that is not supported"),
		text("b10-nuttx-new-alltasks.log", "hard fault in hello", "0x2c325bde", "0x2c3261cc", "worker", "0x2c3428cc"),
		refused("b12-nuttx-coredump-hex.log", "without any thread's registers"), // the file has the dump's beginning
		text("b13-nuttx-armv7a-row-regs.log", "at 0xffffffff", "0x3c02e450", "0x3c02a7cc", "0x3c01a208"),
		text("c01-uboot-arm64.log", "at 0xf0000", "0x00000001fea057bc"), text("c02-uefi-arm64.log", "permission, at 0xebe08910", "0x00000000ebe1e89c"),
		text("c03-uboot-riscv.log", "Load access fault", "0x00000000f7f3b8ae"), text("c04-uboot-rv64-debian-qemu.log", "Store/AMO access fault", "0x000000009ff639f8"),
		text("c05-uboot-arm64-debian-qemu.log", "0x000000005ff09ec8"),
		{File: "userspace/text/uboot-aarch64.txt", Args: []string{"-e", "@userspace/text/uboot-standin.elf.xz"}, Want: []string{"leafish", "mid"}},
		refused("d01-esp8266-rtos.log", xtensa), text("d02-esp32c6-toit.log", "write was refused, at 0x0", "0x4080a6f6"),
		text("d03-esp32c6-padded-terminal.log", "0x40031c8a"), text("d04-esp32c6-monitor-annotated.log", "0x4080a6f6"),
		text("d05-esp32s3-monitor-timestamps.log", "Unhandled debug exception", "0x403783eb", "0x420facb5", "0x420fa126"), refused("e06-esp8266-arduino.log", xtensa),
		text("e01-px4-hardfault-sd.log", "IBUSERR", "0x39090004"), text("e02-gdb-crash-report.log", "0xe000fffe"), text("e03-jlink-gdbserver.log", "0x08000000"),
		text("e04-openocd-halt.log", "0x000000ee"), text("e05-mbed.log", "UNALIGNED", "0x080002c4"),
		refused("e07-qnx-slog.log", "nothing tells the processor"),
		{File: "texts/e07-qnx-slog.log", Args: []string{"--arch", "arm"}, Want: []string{"0x0106d2c4", "__generic_memcpy"}},
		text("e08-icub-hardfault.log", "at 0xcccccccc", "0x0801abce"), text("e09-piksi.log", "at 0xcccccccc", "0x0801abce"),
		text("g01-rtthread-rttviewer.log", "moto_thr", "IMPRECISERR", "0x080036e4"), text("g02-qnx-armle.log", "0x1b4c65f4"), text("g03-qnx-x86.log", "0xb0323948"),
		text("g06-verifone.log", "0x00000004"), text("g07-pmon-mips.log", "bus error", "0x80256f48"), text("g08-rtthread-21ic.log", "INVSTATE", "0x00000000"),
		text("h01-optee-core64.log", "0x000000000e114320", "0x000000000e1142d8", "0x000000000e10a0f8"), text("h02-optee-ta32.log", "0x00105648"),
		text("h03-optee-ta64-ldelf.log", "0x0000000080019e84", "0x000000008001a860", "0x0000000080019340"),
		text("h04-xen.log", "page fault", "0xffff82d04023a355", "sched_move_domain", "domain_kill"), text("h05-uefi-x64.log", "Page-Fault", "0xffffffffc7ccd4a0"),
		text("h10-edk2-riscv.log", "0x000000017e2dfb10"), text("p01-process-line-before-mbed.log", "UNALIGNED", "0x080002c4"),
		text("r01-regs-rows-no-heading.log", "0x2c54468a"), text("s-cmbacktrace-busfault.log", "precise data bus error (PRECISERR), at 0xa0000000", "0x00000066", "0x0000008a"),
		{File: "texts/s-con64.log", Args: []string{"-e", "@texts/s-con64.elf.xz"}, Want: []string{"0x0000000080000288", "0x0000000080000324"}},
		text("u08-trace32.log", "0x080036e4"), text("u09-jlink-commander.log", "0x080036e4"), text("z01-zephyr-fpu-assert.log", "openthread", "0x000a6f5c"),
		text("z02-zephyr-nrf54l-oops.log", "0x0003d6fa"), text("z04-probe-run.log", "HardFaultTrampoline", "__udf", "__cortex_m_rt_main"),
		text("z05-probe-run-old.log", "0x000007de", "rust_begin_unwind", "__cortex_m_rt_main"), text("z06-cortex-m-rt-frame.log", "0x08000200"),
		text("z07-esphome.log", "read was refused, at 0x0", "0x420228c8"), text("z08-nuttx-08x.log", "0x415bed1e"), text("z09-pebble-gdb.log", "0x00036770"),
		text("z10-zephyr-x86-coredump.log", "page fault", "0x00100459", "0x00100477", "0x00101abe"), text("z11-esphome-zephyr-coredump-oneline.log", "0x00016228"),
		text("z12-zephyr-arm64-coredump.log", "at 0x0", "0x0000000040001a5c"),
	}
}
