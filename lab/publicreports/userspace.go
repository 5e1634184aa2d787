package publicreports

import "strings"

// userspace are cores of programs whose binaries, modules or stacks are unusual: what is right for each is in the README.md there.
func userspace() []Case {
	in := func(folder, file string, args []string, want ...string) Case {
		for i, a := range args {
			if strings.HasPrefix(a, "@") {
				args[i] = "@userspace/" + folder + a[1:]
			}
		}
		return Case{File: "userspace/" + folder + file, Args: args, Want: want}
	}
	exe := func(name string, more ...string) []string { return append([]string{"-e", "@" + name}, more...) }
	chain := func(innermost, outer string) []string {
		return []string{innermost, "bbb+", "bbb+", "bbb+", "bbb+", outer}
	}
	bare := in("false-root/", "c.pz.nostack.xz", exe("pz.xz", "--strict"), "__kernel_vsyscall", "stop: unreadable")
	bare.Not = []string{"stop: root"}
	return []Case{
		in("read-implies-exec/", "c.m.xz", exe("m", "--image", "@lib.so"), chain("aaa+0x7", "entry+")...),
		in("read-implies-exec/", "c.m2x.xz", exe("m2", "--image", "@lib2.so"), chain("aaa+0x7", "entry+")...),
		in("read-implies-exec/i386-real-kernel/", "core.xz", exe("t32n.xz"), "cmp+", "msort_with_tmp", "qsort", "work+", "work+", "raise+", "main+", "stop: root"),
		in("read-implies-exec/mipsel/", "core.rwx.xz", exe("big_mipsel.xz"), chain("aaa+", "main+")...),
		in("hugetext/", "core.xz", exe("hpm", "--image", "@libhp.so"), "cmp+", "work+", "work+", "work+", "main+"),
		in("musl-thread/", "static.core.xz", exe("p5"), "bad+", "w+", "t+", "start+", "__clone", "stop: root", "main+", "_start", "stop: root"),
		in("musl-thread/", "dynamic.core.xz", exe("p5d"), "bad+", "w+", "t+"), // the C library is not there
		bare,
		in("fiber/", "core.xz", exe("p10"), "inner+", "fiberwork+", "fiberwork+", "__start_context", "stop: root"),
		in("zero-text-cfi/eh_frame_hdr_begin_x86_64/", "snap.json", nil, "calling3", "calling2+0x27a", "calling1+0x27f", "main+"),
		in("apk-embedded/", "core", []string{"--sysroot", "@"}, "TestlibLevel4+0x24", "TestlibLevel3", "TestlibLevel2", "TestlibLevel1", "main+0x104"),
		in("netbsd/", "2lwp_t2_SIGSEGV.amd64.core.xz", exe("2lwp_t2_SIGSEGV.amd64"), "Thread 2 (crashed)", "bar+", "foo+", "lwp_main+"),
		in("netbsd/", "2lwp_t2_SIGSEGV.aarch64.core.xz", exe("2lwp_t2_SIGSEGV.aarch64"), "Thread 2 (crashed)", "bar+", "foo+", "lwp_main+"),
		in("netbsd/", "freebsd-synthetic.core", nil, "100123 (crashed)", "0x0000000000401136"),
		in("probestack/", "core.xz", exe("p1"), "probestack+", "bigframe+", "work+", "work+", "work+", "work+", "main+"),
		in("retpoline/", "core.xz", exe("p15.naked"), "p15+0x1150", "p15+0x1186", "p15+0x104e", "stop: root"),
		in("", "ldso-run.core.xz", exe("ldso-run.exe"), "bad+", "h+", "stop: root"),
		in("userfault/", "arm64-synthetic.log", exe("netd.xz"), "netd", "netd", "#0  0x00000000004006f0", "0x0000000000400734"),
		in("userfault/", "dawn-148.log", nil, "dawn+0x8708"),
		in("userfault/", "openwrt-18602.log", nil, "libc.so+0x24928", "busybox+0x37ab8"),
		in("userfault/", "optee-1620.log", nil, "idemix", "0x000000000040316c", "0x0000000000403164"),
		in("userfault/", "pine64-60.log", nil, "abrt-hook-ccpp", "0x0000007f863750d0", "0x0000007f863751a0"),
		in("userfault/", "victron-315.log", nil, "serial-starter", "0xb6e5ab0c", "0x00067930"),
		in("userfault/", "x86-segfault-systemd.log", nil, "delete_stack", "libc-2.28.so+0x85b23", "__libc_free", "delete_stack"),
		in("text/", "anr.txt", nil, "__epoll_pwait+0x4", "android::Looper::pollInner(int)+0xb4"),
		in("text/", "asan.txt", nil, "heap-use-after-free", "as+0x12c4", "as+0x12cd", "as+0x12ff", "libc.so.6+0x27249", "as+0x1130"),
		in("text/", "bts.txt", nil, "as2+0x11a1", "as2+0x11c0", "as2+0x11c8", "as2+0x121b", "__libc_start_main+0x85", "as2+0x10c1"),
		in("text/", "coredump_ctl.txt", nil, "gnome-session-binary+0x1b9b7", "g_hash_table_find", "gnome-session-binary+0x1eaba"),
		in("text/", "glibc.txt", nil, "double free or corruption", "libc.so.6+0x74f82", "level8+0x678", "__libc_start_main+0xf3"),
		in("text/", "glog.txt", nil, "0x00007f0c0d2bf5e0", "start_thread", "__clone", "stop: root"),
		in("text/", "libsegfault.txt", nil, "a.out+0x1139", "__libc_start_main+0xf3"),
		in("text/", "llvm.txt", nil, "llvm::sys::PrintStackTrace", "llvm::sys::RunSignalHandlers()"),
		in("text/", "markup.txt", nil, "libc.so+0x123", "libc.so+0x456"),
		in("text/", "panic_arm.txt", nil, "0xfffffe00154a2b60", "0xfffffe0015122cd4"),
		in("text/", "panic_intel.txt", nil, "0xffffff800da6e166", "0xffffff800db81fd6"),
		in("text/", "tomb_art51.txt", nil, "libart.so+0xe1818", "artQuickGenericJniTrampoline"),
		in("text/", "valgrind.txt", nil, "inner", "mid", "main"),
		in("text/", "wine.txt", nil, "crash+0x1010", "kernel32+0x4a11b"),
	}
}
