package listing

import (
	"fmt"
	"strings"
	"testing"
)

// describe is a frame in one line: number, address, module+offset (build ID), function+offset, file:line.
func describe(f *Frame) string {
	s := fmt.Sprintf("%s %d %#x", f.Maker, f.Number, f.Addr)
	if f.Module != "" {
		s += " " + f.Module
	}
	if f.HasOffset {
		s += fmt.Sprintf("+%#x", f.Offset)
	}
	if f.FileOffset != 0 {
		s += fmt.Sprintf(" in the file at %#x", f.FileOffset)
	}
	if f.BuildID != nil {
		s += fmt.Sprintf(" (%x)", f.BuildID)
	}
	if f.Function != "" {
		s += " " + f.Function
	}
	if f.HasFuncOffset {
		s += fmt.Sprintf("+%d", f.FuncOffset)
	}
	if f.File != "" {
		s += fmt.Sprintf(" %s:%d", f.File, f.Line)
	}
	return s
}

// TestForms: what each maker's lines say.
func TestForms(t *testing.T) {
	for line, want := range map[string]string{
		"    #01 pc 00000000000c37b4  /apex/lib64/bionic/libc.so (__pthread_start(void*)+208) (BuildId: 37f537c2ba9dcbb2)": "Android 1 0x0 /apex/lib64/bionic/libc.so+0xc37b4 (37f537c2ba9dcbb2) __pthread_start(void*)+208",
		"#02 pc 0001b1b8  <unknown>":                                                                            "Android 2 0x0 <unknown>+0x1b1b8",
		"#03 pc 00064d55  /system/lib/libc.so":                                                                  "Android 3 0x0 /system/lib/libc.so+0x64d55",
		"  native: #00 pc 00064d55  /a.so (f+4)":                                                                "Android 0 0x0 /a.so+0x64d55 f+4",
		"#04 pc 00008d22  /data/app/base.apk!liba.so (offset 0x5000) (f+4)":                                     "Android 4 0x0 /data/app/base.apk!liba.so+0x8d22 in the file at 0x5000 f+4",
		"#05 pc 0000a  /memfd:jit-cache (deleted) (offset 0x2000000) (com.foo.bar+123)":                         "Android 5 0x0 /memfd:jit-cache+0xa in the file at 0x2000000 com.foo.bar+123",
		"#06 pc 0000a  /a.so (f(int) (.__uniq.12.llvm.3)+20) (BuildId: 0123456789abcdef)":                       "Android 6 0x0 /a.so+0xa (0123456789abcdef) f(int) (.__uniq.12.llvm.3)+20",
		"#05 pc 0000a  /a.so (std::set_unexpected(void (*)())) (BuildId: 0123456789abcdef)":                     "Android 5 0x0 /a.so+0xa (0123456789abcdef) std::set_unexpected(void (*)())+0",
		"#06 pc 0000b  /boot.oat (offset 0x5000) (load base 0x3a000) (com.foo.bar [DEDUPED]+92)":                "Android 6 0x0 /boot.oat+0xb in the file at 0x5000 com.foo.bar [DEDUPED]+92",
		"4   ???                                 0xffffffff 0x0 + 4294967295":                                   "macOS 4 0xffffffff+4294967295",
		"#07    pc 0012389c    /lib/libhippy.so [armeabi-v7a::588a3fa81d5b949473fefc4e6006becf]":                "Android 7 0x0 /lib/libhippy.so+0x12389c (588a3fa81d5b949473fefc4e6006becf)",
		"#08 pc 000306f0  [anon:dalvik-classes16.dex extracted in memory from /a/base.apk!classes16.dex]":       "Android 8 0x0 [anon:dalvik-classes16.dex extracted in memory from /a/base.apk!classes16.dex]+0x306f0",
		"2022-01-25 14:20:50.091 16540-16540/? A/DEBUG:       #03 pc 0005d084  /libc.so":                        "Android 3 0x0 /libc.so+0x5d084",
		"#01 pc 00009d6b /bin/crasher_c(Dfx::Parse(char const*) const+106)(adfc673300571d2d)":                   "OpenHarmony 1 0x0 /bin/crasher_c+0x9d6b (adfc673300571d2d) Dfx::Parse(char const*) const+106",
		"    #0 0x5581b0c0f1a4 in pack /src/netd.c:24:3":                                                        "sanitizers 0 0x5581b0c0f1a4 pack /src/netd.c:24",
		"    #1 0x7f5ccf53d09a in __libc_start_main (/lib/libc.so.6+0x2409a) (BuildId: 0123456789ab)":           "sanitizers 1 0x7f5ccf53d09a /lib/libc.so.6+0x2409a (0123456789ab) __libc_start_main",
		"    #0 0x1234567 in f(int, char) /src/netd.c:24:3":                                                     "sanitizers 0 0x1234567 f(int, char) /src/netd.c:24",
		"    #2 0x7f12a30064c3  (/usr/lib/libproto.so+0x64c)":                                                   "sanitizers 2 0x7f12a30064c3 /usr/lib/libproto.so+0x64c",
		"    #0 main /src/t.c:10:3 (a.out+0x4a2b)":                                                              "sanitizers 0 0x0 a.out+0x4a2b main /src/t.c:10",
		"    #1 <null> <null> (a.out+0x4a2b)":                                                                   "sanitizers 1 0x0 a.out+0x4a2b",
		"#0  0x0000000000010648 in leaf ()":                                                                     "GDB 0 0x10648 leaf",
		"#1  0x00005555 in serve (fd=3, s=0x7ffe \"a\") at netd.c:39":                                           "GDB 1 0x5555 serve netd.c:39",
		"#2  0x00007f12a2f0b4cd in read () from /lib/libc.so.6":                                                 "GDB 2 0x7f12a2f0b4cd /lib/libc.so.6 read",
		"#3  main (argc=1) at netd.c:47":                                                                        "GDB 3 0x0 main netd.c:47",
		"#4  <signal handler called>":                                                                           "GDB 4 0x0",
		"  * frame #0: 0x0000000100000f50 a.out`main + 16 at a.c:3:5":                                           "LLDB 0 0x100000f50 a.out main+16 a.c:3",
		"                #2  0x00000000b7adf3ad g_hash_table_find (libglib-2.0.so.0 + 0x463ad)":                 "systemd 2 0xb7adf3ad libglib-2.0.so.0+0x463ad g_hash_table_find",
		"#0  0x00000000004869b7 n/a (gnome-session-binary + 0x1b9b7)":                                           "systemd 0 0x4869b7 gnome-session-binary+0x1b9b7",
		" #0 0x000055d0c1a2b3c4 llvm::Print(llvm::raw_ostream&, int) (/usr/bin/clang+0x1a2b3c4)":                "LLVM 0 0x55d0c1a2b3c4 /usr/bin/clang+0x1a2b3c4 llvm::Print(llvm::raw_ostream&, int)",
		"./as2(+0x11a1)[0x56404d6eb1a1]":                                                                        "glibc -1 0x56404d6eb1a1 ./as2+0x11a1",
		"/lib/libc.so.6(__libc_start_main+0x85) [0x7f03223a6305]":                                               "glibc -1 0x7f03223a6305 /lib/libc.so.6 __libc_start_main+133",
		"./main() [0x55550900]":                                                                                 "glibc -1 0x55550900 ./main",
		"./level8[0x8048678]":                                                                                   "glibc -1 0x8048678 ./level8",
		"myprog[12]: /bin/a(f+0x1) [0x8048678]":                                                                 "glibc -1 0x8048678 /bin/a f+1",
		"    @     0x7f0c0d2b7e25 start_thread":                                                                 "glog -1 0x7f0c0d2b7e25 start_thread",
		"    @          0x792bc90 (unknown)":                                                                    "glog -1 0x792bc90",
		"   1:     0x55af53e8c980 - std::rt::lang_start::h48e03617adc8bba4":                                     "Rust 1 0x55af53e8c980 std::rt::lang_start::h48e03617adc8bba4",
		"V  [libjvm.so+0xeda214]  Unsafe_PutLong+0x124":                                                         "Java VM -1 0x0 libjvm.so+0xeda214 Unsafe_PutLong+292",
		"C  [libc.so.6+0x85f14]":                                                                                "Java VM -1 0x0 libc.so.6+0x85f14",
		"j  Crash.main([Ljava/lang/String;)V+22":                                                                "Java VM -1 0x0 Crash.main([Ljava/lang/String;)V",
		"J 45% c2 Toy.sum(I)J java.base@17 (12 bytes) @ 0x00007f295c9455da [0x00007f295c945500+0xda]":           "Java VM -1 0x7f295c9455da Toy.sum(I)J java.base@17",
		"v  ~StubRoutines::call_stub":                                                                           "Java VM -1 0x0 StubRoutines::call_stub",
		"v  ~StubRoutines::call_stub 0x00007f295c9455da":                                                        "Java VM -1 0x7f295c9455da StubRoutines::call_stub",
		"  Binary file \"/usr/bin/python3.14\", at _Py_DumpStack+0x31 [0x5c8f4a]":                               "Python -1 0x5c8f4a /usr/bin/python3.14 _Py_DumpStack+49",
		"  Binary file \"/lib/libc.so.6\", at +0x29d8f [0x7f1a2b229d8f]":                                        "Python -1 0x7f1a2b229d8f /lib/libc.so.6+0x29d8f",
		"\tffff800008c8c1c0 __delay_cycles+0x5c ([kernel.kallsyms])":                                            "perf -1 0xffff800008c8c1c0 [kernel.kallsyms] __delay_cycles+92",
		"\t    7f12a2f0b4cd [unknown] (/lib/libc.so.6)":                                                         "perf -1 0x7f12a2f0b4cd /lib/libc.so.6",
		"==1234==    at 0x109151: inner (in /tmp/a.out)":                                                        "valgrind -1 0x109151 /tmp/a.out inner",
		"==1234==    by 0x10916E: mid (a.c:12)":                                                                 "valgrind -1 0x10916e mid a.c:12",
		"{{{bt:1:0x7f0000000456:ra}}}":                                                                          "markup 1 0x7f0000000456",
		"=>0 0x00401010 in crash (+0x1010) (0x0032fe28)":                                                        "Wine 0 0x401010 crash+0x1010",
		"  1 0x7b45a11c CreateFileW+0x4c in kernel32 (0x0032fe28)":                                              "Wine 1 0x7b45a11c kernel32 CreateFileW+76",
		" 1# 0x00005555 in ./a.out":                                                                             "Boost 1 0x5555 ./a.out",
		"0xffffffb04918efc0 : 0xffffff8002944204 toy_kernel : _trap + 0x2d4":                                    "macOS -1 0xffffff8002944204 toy_kernel _trap+724",
		"0xffffff81f8ec3610 : 0xffffff800da6e166 ":                                                              "macOS -1 0xffffff800da6e166",
		"panic(ffffffff846334c7) at panic+0x270 sys/kern/subr_prf.c:198":                                        "BSD -1 0x0 panic+624 sys/kern/subr_prf.c:198",
		"vpanic() at vpanic+0x1e0/frame 0xfffffe001fa0e340":                                                     "BSD -1 0x0 vpanic+480",
		"vpanic() at netbsd:vpanic+0x29d":                                                                       "BSD -1 0x0 netbsd vpanic+669",
		"isAlreadyReported() at netbsd:isAlreadyReported":                                                       "BSD -1 0x0 netbsd isAlreadyReported",
		"syscall() at netbsd:syscall+0x3ac sy_call sys/sys/syscallvar.h:65 [inline]":                            "BSD -1 0x0 netbsd sy_call+940 sys/sys/syscallvar.h:65",
		"#6 0xffffffff80a6780b at __rw_wlock_hard+0x32b":                                                        "BSD 6 0xffffffff80a6780b __rw_wlock_hard+811",
		"#3  0x00005555 in std::function<void (int)>::operator()(int) const (this=0x1) at f.h:9":                "GDB 3 0x5555 std::function<void (int)>::operator()(int) const f.h:9",
		"#4  0x00005555 in (anonymous namespace)::operator<< (a=1) at f.cc:9":                                   "GDB 4 0x5555 (anonymous namespace)::operator<< f.cc:9",
		"    #6 0xe09240 in base::Lazy<url::Traits<url::UI":                                                     "sanitizers 6 0xe09240 base::Lazy<url::Traits<url::UI", // the rest of the line is lost
		"#1  0x00005555 in solve_ at solve.f90:41":                                                              "GDB 1 0x5555 solve_ solve.f90:41",
		"#5  0x00005555 in () at ~/lib/libQt6Core.so.6":                                                         "GDB 5 0x5555 ~/lib/libQt6Core.so.6",
		"    frame #2: 0x100003fd0 toy`work [inlined] wait(this=0x1, n=(a=2)) at toy.c:55:3 [opt]":              "LLDB 2 0x100003fd0 toy wait toy.c:55",
		"    frame #3: 0x100003fd0":                                                                             "LLDB 3 0x100003fd0",
		"#0 0x7fe0a8a5f4a1 base::debug::StackTrace::StackTrace() [base/stack_trace.cc:9:20]":                    "Chromium 0 0x7fe0a8a5f4a1 base::debug::StackTrace::StackTrace() base/stack_trace.cc:9",
		"#3  0x000055d3c01b9cd1  main+0x10    in server [prewalked, likely]":                                    "Backsight 3 0x55d3c01b9cd1 server main+16",
		"#01 0xac678e5d /data/app/chrome-1/libchrome.so+0x09122e5d":                                             "Chromium 1 0xac678e5d /data/app/chrome-1/libchrome.so+0x9122e5d",
		"	logging::LogMessage::~LogMessage [0x1321C3FE+574] (C:\\b\\logging.cc:552)":                            "Chromium -1 0x1321c3fe logging::LogMessage::~LogMessage+574 C:\\b\\logging.cc:552",
		"#1  0x000055d3c01b9cd1 - 1 main - /home/u/toy":                                                         "elfutils 1 0x55d3c01b9cd1 /home/u/toy main",
		"#00 abs 0000007b5acf71b7 virt 00000000001ea1b7 _kDartIsolate+0x1db1b7":                                 "Flutter 0 0x7b5acf71b7+0x1ea1b7 _kDartIsolate+1946039",
		`#5    Object "/lib/libc.so.6", at 0x7f3a2ce29e3f, in main`:                                             "backward 5 0x7f3a2ce29e3f /lib/libc.so.6 main",
		`#3    Source "/src/main.cpp", line 22, in main [0x55d3c01b9cd1]`:                                       "backward 3 0x55d3c01b9cd1 main /src/main.cpp:22",
		"[critical][backtrace] [./backtrace.h:96] #1: Envoy::Http::dispatch() [0x55d3c01ba0fc]":                 "Envoy 1 0x55d3c01ba0fc Envoy::Http::dispatch()",
		"#04: NS_ProcessNextEvent(nsIThread*, bool)[/a/libxul.so +0x1a2b3c]":                                    "Mozilla 4 0x0 /a/libxul.so+0x1a2b3c NS_ProcessNextEvent(nsIThread*, bool)",
		"#01: mozilla::Poke() [dom/Element.cpp:41]":                                                             "Mozilla 1 0x0 mozilla::Poke() dom/Element.cpp:41",
		"frame #0: c10::Error::Error(int) + 0x57 (0x7f3a2d6b4617 in /a/libc10.so)":                              "PyTorch 0 0x7f3a2d6b4617 /a/libc10.so c10::Error::Error(int)+87",
		"frame #2: <unknown function> + 0x1da2c (0x7f3a2d70fa2c in /a/libc10.so)":                               "PyTorch 2 0x7f3a2d70fa2c /a/libc10.so+0x1da2c",
		"[node01:21451] [ 0] /lib/libc.so.6(+0x42520)[0x7f3a2ce42520]":                                          "glibc 0 0x7f3a2ce42520 /lib/libc.so.6+0x42520",
		"(EE) 1: /usr/lib/xorg/Xorg (OsLookupColor+0x139) [0x55d3c01ba0f9]":                                     "glibc 1 0x55d3c01ba0f9 /usr/lib/xorg/Xorg OsLookupColor+313",
		" 2: (BlueStore::write(int*)+0x3c) [0x55d3c01ba0fc]":                                                    "glibc 2 0x55d3c01ba0fc BlueStore::write(int*)+60",
		"[3] ./godot(main+0x45) [0x55d3c01b5cd1] (??:0)":                                                        "glibc 3 0x55d3c01b5cd1 ./godot main+69",
		"/lib/libruby.so(rb_bug+0xf4) [0x7f3a2ceb1234] ./error.c:773":                                           "glibc -1 0x7f3a2ceb1234 /lib/libruby.so rb_bug+244 ./error.c:773",
		"/lib/libc.so.6(0x7f3a2ca42520) [0x7f3a2ca42520]":                                                       "glibc -1 0x7f3a2ca42520 /lib/libc.so.6",
		"redis-server *:6379(call+0xb1)[0x55d3c01b5cd1]":                                                        "glibc -1 0x55d3c01b5cd1 redis-server *:6379 call+177",
		"[0x557a12b0fc41] main +65 in ./toy":                                                                    "Crystal -1 0x557a12b0fc41 ./toy main+65",
		"[  1] 0x00007f3a2d0b4bd9   /a/libmex.so+00150489 mexRun+00000012":                                      "MATLAB 1 0x7f3a2d0b4bd9 /a/libmex.so mexRun",
		"    @     0x55d3c01b9cd1         48  main":                                                             "glog -1 0x55d3c01b9cd1 main",
		"    @     0x55d3c01b9cd1  (unknown)  main":                                                             "glog -1 0x55d3c01b9cd1 main",
		" 1: 00007FF6A1D40B6F node_api_throw+175903":                                                            "Node.js 1 0x7ff6a1d40b6f node_api_throw+175903",
		" 0  toy.exe!poke [toy.c : 41 + 0x2]":                                                                   "Breakpad 0 0x0 toy.exe poke toy.c:41",
		" 1  libc.so.6!__libc_start_main + 0xf3":                                                                "Breakpad 1 0x0 libc.so.6 __libc_start_main+243",
		" 2  Google Chrome + 0x17614":                                                                           "Breakpad 2 0x0 Google Chrome+0x17614",
		"00000016`f1f7b508 00007ffa`3672ecd1     : 00000000`00000000 00000212`a36edc80 : toy!poke+0x2":          "WinDbg -1 0x0 toy poke+2",
		"01 00000016`f1f7b508 00007ffa`3672ecd1     toy!main+0x41 [C:\\toy.c @ 22] ":                            "WinDbg 1 0x0 toy main+65 C:\\toy.c:22",
		"00c4`a47fc1c0 00007ff7`1e6f0a4b : 000000c4`a47fc528 00007ff7`1dd5c9cf : js!F<JS::Value const>::g+0x6b": "WinDbg -1 0x0 js F<JS::Value const>::g+107",
		"0|1|libxul.so|f(int, char)|hg:hg.mozilla.org/a:b/c.cpp:957a|7601|0x8":                                  "Breakpad 1 0x0 libxul.so f(int, char) hg:hg.mozilla.org/a:b/c.cpp:957a:7601",
		"0|2|libc.so||||0x29d90":                                                                                "Breakpad 2 0x0 libc.so+0x29d90",
		"0018f5a4 00401c1e 00000001 00000000 00000000 toydrv+0x12":                                              "WinDbg -1 0x0 toydrv+0x12",
		"/u/toy/src/main.zig:41:9: 0x10340fc in tick (toy)":                                                     "Zig -1 0x10340fc toy tick /u/toy/src/main.zig:41",
		"???:?:?: 0x7f3a2ce29d8f in ??? (libc.so.6)":                                                            "Zig -1 0x7f3a2ce29d8f libc.so.6",
		"BGP: core_handler+0xb4      7f3a2d0e1234     7fff1234acdd /a/libfrr.so.0 (mapped at 0x7f3a2d00)":       "FRR -1 0x7f3a2d0e1234 /a/libfrr.so.0 core_handler+180",
		"3. ./src/Foo.cpp:12: DB::load(bool) @ 0x0000000012b0fc41 in /usr/bin/clickhouse":                       "ClickHouse 3 0x12b0fc41 /usr/bin/clickhouse DB::load(bool)",
		"3 [ra] 0x00007ffff7829e40 start in libc.so.6 at /a.c:3:1":                                              "Swift 3 0x7ffff7829e40 libc.so.6 start /a.c:3",
		" 1 0x00000000000a10fc solve()  /u/solve.c:41":                                                          "UCX 1 0xa10fc solve() /u/solve.c:41",
		"	0x55d3c01ba0fc - /usr/bin/mono : (null)":                                                              "Mono -1 0x55d3c01ba0fc /usr/bin/mono",
		"0x00007FF6A20120FC (Unity) GetNativeThing":                                                             "Unity -1 0x7ff6a20120fc Unity GetNativeThing",
		"LogWindows: Error: [Callstack] 0x00007ff8a20120fc Toy.dll!AToy::Tick() [C:\\Toy.cpp:41]":               "Unreal -1 0x7ff8a20120fc Toy.dll AToy::Tick() C:\\Toy.cpp:41",
		"0x000000000022a3d1 UnrealEditor!main(+0x41)":                                                           "Unreal -1 0x22a3d1 UnrealEditor main+65",
		"0x00007f3a2ce29d90 libc.so.6!UnknownFunction(0x29d8f)":                                                 "Unreal -1 0x7f3a2ce29d90 libc.so.6+0x29d8f",
		"  pc 0x0000558c5a7b90fc fp 0x00007f3a2c9b3e30 dart::Invoke(int const&)+0x37":                           "Dart -1 0x558c5a7b90fc dart::Invoke(int const&)+55",
		"| 0x55d3c01b9cd1 [8b 05 11 22 33 44 85 c0]: run_poll_loop+0x91/0x54e":                                  "HAProxy -1 0x55d3c01b9cd1 run_poll_loop+145",
		"toy                00000000004041A5  solve_                     41  solve.f90":                         "Intel Fortran -1 0x4041a5 toy solve_ solve.f90:41",
		"libpthread-2.17.s  00007F3A2CE42630  Unknown               Unknown  Unknown":                           "Intel Fortran -1 0x7f3a2ce42630 libpthread-2.17.s",
		"ijl_apply at /cache/src/gf.c:2940 [inlined]":                                                           "Julia -1 0x0 ijl_apply /cache/src/gf.c:2940",
		"unknown function (ip: 0x7f3a2ce29d8f)":                                                                 "Julia -1 0x7f3a2ce29d8f",
		"__libc_start_main at /lib/libc.so.6 (unknown line)":                                                    "Julia -1 0x0 /lib/libc.so.6 __libc_start_main",
		"        PC:                      000000141e21290c (toy + 0x1290c)":                                     "Atmosphere -1 0x141e21290c toy+0x1290c",
		"        ReturnAddress[01]:       000000141e213b88 (toy + 0x13b88)":                                     "Atmosphere 1 0x141e213b88 toy+0x13b88",
		"		  lr: 0xfffffe0015122cd4  fp: 0xfffffe6072b2aa70":                                                    "macOS -1 0xfffffe0015122cd4",
		" #7 [ffffc90000013f08] __handle_sysrq at ffffffff816b67aa":                                             "crash 7 0xffffffff816b67aa __handle_sysrq",
	} {
		f, ok := Parse(line)
		if got := describe(&f); !ok || got != want {
			t.Errorf("%s\n read as %t %s\n want    %s", line, ok, got, want)
		}
	}
}

// TestNoFrames: lines of logs that are none.
func TestNoFrames(t *testing.T) {
	for _, line := range []string{
		"", "#", "# 0x12", "#0", "CPU#0 stuck for 22s!", "issue #12 is fixed", "add foo+1 (bar)", "[   12.345678] Call trace:",
		"00007ff7`1dcf75e3 7665            jbe     js!js::IsInside+0x8a (00007ff7`1dcf764a)", " vfs_write+0xc8/0x1e0", "[<ffffffc000123456>] vfs_write+0xc8/0x1e0", "mail to a @ b", "x = [0x10]: y", "Backtrace:0x400d1234:0x3ffb1234",
	} {
		if f, ok := Parse(line); ok && f.how&weak == 0 {
			t.Errorf("%q: %s", line, describe(&f))
		}
	}
}

// TestOneLineIsCheap: a line of what stands between the literals of forms could be cut in many ways.
func TestOneLineIsCheap(t *testing.T) {
	for i := range forms {
		for _, part := range []string{"(", "(a+0x1", " (", " in ", "+0x1)", " at ", ":1"} {
			line := "#0 0x1 " + strings.Repeat(part, maxFrameLine/len(part))
			f, _ := forms[i].match(line)
			if f.left < -len(forms[i].compiled().steps)*8 {
				t.Errorf("%s: %d steps too many", forms[i].maker, -f.left)
			}
		}
	}
}

// FuzzParse: any line is read, and what a frame says stands in it.
func FuzzParse(f *testing.F) {
	f.Add("#00 pc 0001b1b8  /system/lib/libc.so (f+4) (BuildId: 0123456789abcdef)")
	f.Add("    #0 0x5581b0c0f1a4 in pack /src/netd.c:24:3")
	f.Add("/lib/libc.so.6(__libc_start_main+0x85) [0x7f03223a6305]")
	f.Add("==12==    by 0x10916E: mid (in /tmp/a.out)")
	f.Fuzz(func(t *testing.T, line string) {
		if frame, ok := Parse(line); ok && (!strings.Contains(line, frame.Function) || !strings.Contains(line, frame.File)) {
			t.Errorf("%q: %s", line, describe(&frame))
		}
	})
}
