package listing

import "testing"

// TestTools: what is read of the lists of debuggers, of other kernels, and of what programs are linked with.
func TestTools(t *testing.T) {
	for name, c := range map[string]example{
		// GDB breaks lines where its window ends, and mail once more.
		"GDB, lines that were broken": {`Program terminated with signal SIGSEGV, Segmentation fault.
[Current thread is 1 (Thread 0x7f3a2d9b4740 (LWP 9))]
Thread 2 (Thread 0x7f3a2c9b4700 (LWP 8)):
#0  0x0000007f2cf18e0b in poll (fds=0x1, s="(", n=2)
    at ../poll.c:29
        pd = (void *) 0x10
#1  0x0000007f2d0b4bd9 in QVector<int>::operator[](int) const (
    this=0x7f,
    i=1) at /usr/include/qvector.h:431
#2  0x0000007f2d0b4cd9 in std::function<void (int)>::operator()(int) const (this=0x7f) from
 /lib/liba.so
Thread 1 (Thread 0x7f3a2d9b4740 (LWP 9)):
#0  0x0000007f2cf1888f in () at ~/lib/libQt6Core.so.6
#1  0x0000007f2cf188aa in inl (n=1) at loop.c:3
#2  loop (n=1,
    m=2)
    at loop.c:9
#3  0x0000007f2cf18900 in main_
	at toy.f90:24
`, `unknown SIGSEGV
  GDB: Thread 2 (Thread 0x7f3a2c9b4700 (LWP 8)): 0x7f2cf18e0b/poll 0x7f2d0b4bd9/QVector<int>::operator[](int) const 0x7f2d0b4cd9/std::function<void (int)>::operator()(int) const
  GDB: Thread 1 (Thread 0x7f3a2d9b4740 (LWP 9)): 0x7f2cf1888f 0x7f2cf188aa/loop 0x7f2cf18900/main_
`},
		"LLDB": {`* thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x10)
  * frame #0: 0x0000000100003f50 toy` + "`" + `tick(this=0x10, s="(a=1)") at toy.c:41:9 [opt]
    frame #1: 0x0000000100003f90 toy` + "`" + `main at toy.c:22:3 [opt]
  thread #2, name = 'worker'
    frame #0: 0x00000001882a1e0c libsystem.dylib` + "`" + `__psynch_cvwait + 8
    frame #1: 0x0000000100003fc0 toy` + "`" + `work [inlined] wait(this=0x1) at toy.c:55:3
    frame #2: 0x0000000100003fc0 toy` + "`" + `work + 12 at toy.c:50
    frame #3: 0x0000000100004000
`, `unknown EXC_BAD_ACCESS (code=1, address=0x10) at 0x10
  LLDB: thread #1, queue = 'com.apple.main-thread': 0x100003f50/tick 0x100003f90/main
  LLDB: thread #2, name = 'worker': 0x1882a1e0c/__psynch_cvwait 0x100003fc0/work 0x100004000
`},
		// NetBSD and OpenBSD print the registers below, or in front, FreeBSD none; where syzkaller's symbolizer went over, inlined calls.
		"NetBSD": {`[ 1111.3781764] fatal page fault in supervisor mode
[ 1111.3882031] trap type 6 code 0 rip 0xffffffff81181b41 cs 0x8 rflags 0x10287 cr2 0xffff900000000000 ilevel 0 rsp 0xffffdd817bbab680
load8() at netbsd:load8+0x51 isvalid sys/kern/asan.c:356 [inline]
load8() at netbsd:load8+0x51 sys/kern/asan.c:599
[ 1111.4000000] syscall() at netbsd:syscall+0x3ac
--- syscall (number 198) ---
`, `unknown fatal page fault in supervisor mode
  BSD: 0x0/load8 0x0/syscall
`},
		// ddb shows a list when the kernel panics, up to so many frames, and again when it is asked, and then the registers.
		"OpenBSD": {`panic: pool_do_put: double pool_put: 0xffffff001692bd18
db_enter() at db_enter+0xa
panic() at panic+0x147
end trace frame: 0xffff800020c2ac10, count: 0
ddb{1}> trace
db_enter() at db_enter+0xa
panic() at panic+0x147
exit1(ffff80000e3795c0) at exit1+0x226
end of kernel
end trace frame: 0x7f7ffffed7f0, count: -12
ddb{1}> show registers
rdi               0xffffffff81e13608    kprintf_mutex
rbp               0xffff80000e379180
rdx                              0xc
rcx               0xffffffff81e919f8    rdrand_tmo
r8                0xffff80000e379150
r9                0x8080808080808080
rip               0xffffffff816dce0a    db_enter+0xa
rsp               0xffff80000e379180
`, `x86_64 panic: pool_do_put: double pool_put: 0xffffff001692bd18
  BSD: 0xffffffff816dce0a/db_enter 0x0/panic 0x0/exit1
`},
		"FreeBSD": {`Fatal trap 9: general protection fault while in kernel mode
instruction pointer = 0x20:0xffffffff81163cf5
panic: general protection fault
KDB: stack backtrace:
vpanic() at vpanic+0x1e0/frame 0xfffffe001fa0e340
calltrap() at calltrap+0x8/frame 0xfffffe001fa0e540
--- trap 0x9, rip = 0xffffffff81163cf5, rsp = 0xfffffe001fa0e610, rbp = 0xfffffe001fa0e650 ---
unp_dispose() at unp_dispose+0xa5/frame 0xfffffe001fa0e650
`, `unknown panic: general protection fault
  BSD: KDB: stack backtrace: 0x0/vpanic 0x0/calltrap 0x0/unp_dispose
`},
		"minidump_stackwalk": {`Crash reason:  SIGSEGV /SEGV_MAPERR
Crash address: 0x10

Thread 1
 0  libc.so.6 + 0x118e0b
    rax = 0xfffffffffffffffc   rdx = 0x0000000000000010   rcx = 0x0000000000000001
    rbp = 0x00007ffff6ffe100   rsp = 0x00007ffff6ffe0f0   rip = 0x00007ffff7918e0b
    Found by: given as instruction pointer in context
Thread 2 (crashed) worker
 0  toy!pack [toy.c : 41 + 0x2]
    rax = 0x0000000000000000   rdx = 0x0000000000000010   rcx = 0x0000000000000001
    rbp = 0x00007ffff5ffe100   rsp = 0x00007ffff5ffe0f0   rip = 0x00005555555540fc
    Found by: given as instruction pointer in context
 1  toy + 0x1000
    rbp = 0x00007ffff5ffe120   rsp = 0x00007ffff5ffe110   rip = 0x0000555555554001
    Found by: previous frame's frame pointer

Loaded modules:
0x555555553000 - 0x555555556fff  toy  ???  (main)
`, `x86_64 SIGSEGV (Crash reason:  SIGSEGV /SEGV_MAPERR)
  Breakpad: Thread 1: 0x7ffff7918e0b=libc.so.6+0x118e0b
  Breakpad: Thread 2 (crashed) worker: 0x5555555540fc=toy+0x10fc/pack 0x555555554001=toy+0x1001
`},
		// The registers in front are of the list at the end, to the top of whose stack they point, those behind of the first; k shows one again.
		"WinDbg, several commands": {"eax=00000000 ebx=0034e7ac ecx=6a24705d edx=0034d9d4 esi=00000002 edi=00000000\neip=77e9016d esp=0034e75c ebp=0034e7f8\n" +
			"ntdll!Wait+0x15:\n77e9016d 83c404          add     esp,4\n0:000> .ecxr\neax=00000001 ebx=00000001 ecx=6a24705d edx=0034d9d4 esi=0925b3ec edi=0925b3d1\n" +
			"eip=01814577 esp=0034ef5c ebp=00000010\n77e90174 8d542404        lea     edx,[toy!g+4]\n77e90176 7457            je      toy!poke+0x71 (00ed6abe)\n" +
			"   ExceptionCode: c0000005 (Access violation)\nSTACK_TEXT:  \n0034ef5c 01823483 09061100 toy!poke+0x47\n0034ef60 01823484 09061100 0x1f6a167c\n0034ef64 00000000 0925b3ec toy!main+0x5\n" +
			"00000000 00000000 toy!pool+0x0\n0:000> kn\n # ChildEBP RetAddr\n00 0034e7f8 766319fc ntdll!Wait+0x15\n01 0034e840 766341d8 kernel32!WaitEx+0x8e\n" +
			"0:000> kb\nChildEBP RetAddr  Args to Child\n0034e7f8 766319fc 0034e7ac ntdll!Wait+0x15\n0034e840 766341d8 00000002 kernel32!WaitEx+0x8e\n",
			"i386 ExceptionCode: c0000005 (Access violation)\n  WinDbg: 0x1814577/poke 0x1f6a167c 0x0/main\n  WinDbg: 0x77e9016d/Wait 0x0/WaitEx\n"},
		"WinDbg": {"*                        Exception Analysis                                   *\n" +
			"rax=00000016f1c07000 rbx=00000212a36edc80 rcx=ef24ab6f5aa40000\nrip=00007ffac0ac5a12 rsp=00000016f1f7b508 rbp=0000000000000004\n" +
			"   ExceptionCode: c0000005 (Access violation)\nSTACK_TEXT:  \n" +
			"00000016`f1f7b508 00007ffa`3672ecd1     : 00000000`00000000 00000212`a36edc80 00000016`f1f7bbc0 00007ffa`367dff00 : toy!poke+0x2\n" +
			"WARNING: Stack unwind information not available.\n" +
			"00000016`f1f7b510 00000000`00000000     : 00000000`00000000 00000212`a36edc80 00000016`f1f7bbc0 00007ffa`367dff00 : toydrv+0x12\n",
			"x86_64 ExceptionCode: c0000005 (Access violation)\n  WinDbg: 0x7ffac0ac5a12/poke toydrv+0x12\n"},
		"backward-cpp": {`Stack trace (most recent call last):
#2    Object "/a/toy", at 0x55d3c01b9a24, in _start
#1    Source "/src/main.cpp", line 22, in main [0x55d3c01b9cd1]
         20:   init();
#0    Object "/a/toy", at 0x55d3c01ba0f7, in tick()
`, `unknown
  backward: Stack trace (most recent call last): 0x55d3c01ba0f7/tick() 0x55d3c01b9cd1/main 0x55d3c01b9a24/_start
`},
		"a sanitizer's registers": {`==477==ERROR: AddressSanitizer: ABRT on unknown address 0x0539000001dd (pc 0x7e7fdb58200b bp 0x7ffcb9c87240 sp 0x7ffcb9c86fd0 T0)
    #0 0x7e7fdb58200b in raise raise.c:51:1
    #1 0x7e7fdb561858 in abort abort.c:79:7
==477==Register values:
rax = 0x0000000000000000  rbx = 0x00007e7fdb53ae00  rcx = 0x00007e7fdb58200b  rdx = 0x0000000000000000
rdi = 0x0000000000000002  rsi = 0x00007ffcb9c86fd0  rbp = 0x00007ffcb9c87240  rsp = 0x00007ffcb9c86fd0
`, `x86_64 SIGABRT at 0x539000001dd (ERROR: AddressSanitizer: ABRT on unknown address 0x0539000001dd (pc 0x7e7fdb58200b bp 0x7ffcb9c87240 sp 0x7ffcb9c86fd0 T0))
  sanitizers: 0x7e7fdb58200b/raise 0x7e7fdb561858/abort
`},
		"Unity's error.log": {"Read from location 0000000000000000 caused an access violation.\n\nContext:\nRDI:    0x0000000000000000  RSI: 0x0000000000000001  RAX:   0x0000000000000000\n" +
			"RIP:    0x00007ff9f4d221fd  RBP: 0x0000005ebed1d280  SegCs: 0x0000000000000033\n\nStack Trace of Crashed Thread 7936:\n" +
			"0x00007FF9F4D221FD ((<unknown>)) (function-name not available)\n0x0000021E3438B78A (Assembly-CSharp) Toy.Mesh.Create()\n0x00007FF9F4F41279 (UnityPlayer) UnityMain\n",
			"unknown\n  Unity: 0x7ff9f4d221fd 0x21e3438b78a/Toy.Mesh.Create() 0x7ff9f4f41279/UnityMain\n"},
		"Cygwin's stackdump": {"Exception: STATUS_ACCESS_VIOLATION at rip=001004019DC\n" +
			"rax=0000000600020000 rbx=0000000000000000 rcx=00000000FFFFCB38\nr8 =00000000FFFFCBEC r9 =00000000FFFFCAA0 r10=00000000FFFFFFFF\n" +
			"rbp=00000000FFFFCB20 rsp=00000000FFFFCB00\nprogram=C:\\home\\toy.exe, pid 1669, thread main\ncs=0033 ds=002B es=002B fs=0053 gs=002B ss=002B\n" +
			"Stack trace:\nFrame        Function    Args\n000FFFFCB20  001004019DC (00600020000, 003CC27CE20, 000FFFFFFFF, 000FFFFCB90)\n" +
			"000FFFFCB60  00100401B20 (003CC27D578, 000FFFFCBEC, 00600014DD8, 000FFFFCC10)\n00000000000  0018004A816 (00000000000, 00000000000, 00000000000, 00000000000)\nEnd of stack trace\n",
			"x86_64 pid 1669 Exception: STATUS_ACCESS_VIOLATION at rip=001004019DC\n  Cygwin: Stack trace: 0x1004019dc 0x100401b20 0x18004a816\n"},
		"Cygwin's stackdump of i386, without frames": {"Exception: STATUS_ACCESS_VIOLATION at eip=004012B2\neax=FFF8210F ebx=00000000 ecx=61187720 edx=FFFE6D01 esi=61275FC8 edi=611A1EDC\n" +
			"ebp=0022AC68 esp=0022ABB0 program=C:\\home\\toy.exe, pid 1832, thread main\n",
			"i386 pid 1832 Exception: STATUS_ACCESS_VIOLATION at eip=004012B2\n  Cygwin:\n"},
		"MSYS2's stackdump of a signal": {"Stack trace:\nFrame         Function      Args\n0007FFFFCB70  00021005FE8E (000210285F68, 00021026AB6E, 000000000000, 0007FFFFBA70) msys-2.0.dll+0x1FE8E\n" +
			"0007FFFFCB70  0001004067F9 (000000000000, 000000000000, 000000000000, 000000000000) bash.exe+0x67F9\nEnd of stack trace\nLoaded modules:\n000100400000 bash.exe\n000210040000 msys-2.0.dll\n",
			"unknown\n  Cygwin: Stack trace: 0x21005fe8e=msys-2.0.dll+0x1fe8e 0x1004067f9=bash.exe+0x67f9\n"},
		"an exception of iOS": {"*** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 3'\n*** First throw call stack:\n(0x1803f3158 0x18019ebd8 0x104b3bf50)\n",
			"unknown *** Terminating app due to uncaught exception 'NSRangeException', reason: 'index 3'\n  macOS: *** First throw call stack: 0x1803f3158 0x18019ebd8 0x104b3bf50\n"},
		"segfault-handler": {"PID 386 received SIGSEGV for address: 0x10\n/a/handler.node(+0x1b2e)[0xb429bb2e]\n/lib/libc.so.6(+0x2a300)[0xb6639300]\n",
			"unknown SIGSEGV at 0x10 (PID 386 received SIGSEGV for address: 0x10)\n  glibc: 0xb429bb2e=handler.node+0x1b2e 0xb6639300=libc.so.6+0x2a300\n"},
		"Redis": {`EIP:
redis-server *:6379(lookupKey+0x37)[0x55d3c01ba0f7]

Backtrace:
/lib/libpthread.so.0(+0x12730)[0x7f3a2ce42730]
redis-server *:6379(lookupKey+0x37)[0x55d3c01ba0f7]
`, `unknown
  glibc: EIP: 0x55d3c01ba0f7/lookupKey
  glibc: Backtrace: 0x7f3a2ce42730=libpthread.so.0+0x12730 0x55d3c01ba0f7/lookupKey
`},
		"Go's race detector": {`WARNING: DATA RACE
Read at 0x00c4203c26f8 by goroutine 34:
  main.(*set).find()
      /tmp/a.go:131 +0xa4
Previous write at 0x00c4203c26f8 by main goroutine:
  main.main()
      /tmp/a.go:9 +0x24
`, `unknown WARNING: DATA RACE
  Go: Read at 0x00c4203c26f8 by goroutine 34: 0x0/main.(*set).find
  Go: Previous write at 0x00c4203c26f8 by main goroutine: 0x0/main.main
`},
		"Atmosphère": {`Atmosphère Crash Report (v1.7):
    Process Flags:               00000077
Exception Info:
    Type:                        Data Abort
Crashed Thread Info:
    Registers:
        X[00]:                   0000000000000000
        X[01]:                   00000013c26bf5d3
        X[02]:                   000000141e212908 (toy + 0x12908)
        X[03]:                   0000000000000003
        SP:                      0000006989f115e0
        PC:                      000000141e21290c (toy + 0x1290c)
    Stack Trace:
        ReturnAddress[00]:       000000141e212a44 (toy + 0x12a44)
Threads[01]:
        PC:                      000000141e213000 (toy + 0x13000)
        ReturnAddress[00]:       000000141e212a44 (toy + 0x12a44)
`, `aarch64 Type:                        Data Abort
  Atmosphere: Crashed Thread Info: 0x141e21290c=toy+0x1290c 0x141e212a44=toy+0x12a44
  Atmosphere: Threads[01]: 0x141e213000=toy+0x13000 0x141e212a44=toy+0x12a44
`},
	} {
		c.compare(t, name)
	}
}

// TestCrashed: which list is of the thread that crashed, GDB says beside the lists.
func TestCrashed(t *testing.T) {
	for _, text := range []string{
		"Program terminated with signal SIGSEGV, Segmentation fault.\n[Current thread is 1 (LWP 9)]\nThread 2 (LWP 8):\n#0  0x1234567 in a ()\nThread 1 (LWP 9):\n#0  0x1234568 in b ()\n",
		"Application: Toy (toy), signal: Segmentation fault\nThread 2 (Thread 0x8):\n#0  0x1234567 in a ()\nThread 1 (Thread 0x9):\n[KCrash Handler]\n#4  0x1234568 in b ()\n",
	} {
		snaps := readText(t, text)
		if len(snaps) != 1 || len(snaps[0].Threads) != 2 || snaps[0].Threads[0].Crashed || !snaps[0].Threads[1].Crashed {
			t.Error(summary(snaps))
		}
	}
}
