package listing

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
)

func archs() cpu.Set {
	return append(append(append(cpu.Set{}, arm.Archs()...), arm64.Archs()...), x86.Archs()...)
}

func environment() *input.Env {
	return &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
}

// readText opens a text and returns its snapshots.
func readText(t testing.TB, text string) (snaps []*target.Snapshot) {
	t.Helper()
	s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", []byte(text)), environment())
	if err != nil {
		return nil
	}
	defer s.Close()
	for {
		snap, err := s.Next(context.Background())
		if err == io.EOF {
			return snaps
		}
		if err != nil {
			t.Fatal(err)
		}
		snaps = append(snaps, snap)
	}
}

// summary is what snapshots have: the processor, the fault, and each thread's list.
func summary(snaps []*target.Snapshot) string {
	var b strings.Builder
	for _, s := range snaps {
		fmt.Fprintf(&b, "%s", s.Arch.Name)
		if s.PID != 0 {
			fmt.Fprintf(&b, " pid %d", s.PID)
		}
		if f := s.Fault; f != nil {
			fmt.Fprintf(&b, " %s", f.Name)
			if f.HasAddress {
				fmt.Fprintf(&b, " at %#x", f.Address)
			}
			if f.Status != "" {
				fmt.Fprintf(&b, " (%s)", f.Status)
			}
		}
		b.WriteByte('\n')
		for i := range s.Threads {
			th := &s.Threads[i]
			fmt.Fprintf(&b, "  %s:", th.Name)
			for k := range th.Listed {
				l := &th.Listed[k]
				m, _ := s.ModuleAt(l.PC)
				switch {
				case m != nil && m.Stated == target.StatedOffsets:
					fmt.Fprintf(&b, " %s+%#x", m.Base(), l.PC-m.Bias)
				case m != nil && m.Stated == target.StatedPlace:
					fmt.Fprintf(&b, " %#x=%s+%#x", l.PC, m.Base(), l.PC-m.Bias)
				default:
					fmt.Fprintf(&b, " %#x", l.PC)
				}
				if l.Symbol != "" {
					fmt.Fprintf(&b, "/%s", l.Symbol)
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestTexts: what is read of the texts of makers.
func TestTexts(t *testing.T) {
	for name, c := range map[string]example{
		"tombstone": {`*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
Build fingerprint: 'toy/toy:14/A/1:user/release-keys'
ABI: 'arm64'
pid: 100, tid: 101, name: worker  >>> com.toy <<<
signal 6 (SIGABRT), code -1 (SI_QUEUE), fault addr --------
Abort message: 'assertion failed'
    x0  0000000000000000  x1  0000000000000001  x2  0000000000000002  x3  0000000000000003
    x29 0000007000001000  x30 0000006000002204
    sp  0000007000001000  pc  0000006000002100  pst 0000000060000000
backtrace:
      #00 pc 0000000000001100  /system/lib64/liba.so (leaf+8) (BuildId: 0011223344556677)
      #01 pc 0000000000001200  /system/lib64/liba.so (mid+32)
      #02 pc 0000000000000300  /system/lib64/libb.so (__start_thread+64)

memory near sp ([stack]):
    0000007000001000 0000007000001020 0000006000002204  ................

memory map (2 entries):
    00000060'00001000-00000060'00002fff r-x         0      2000  /system/lib64/liba.so (BuildId: 0011223344556677)
--- --- ---
pid: 100, tid: 100, name: main  >>> com.toy <<<
      #00 pc 0000000000000400  /system/lib64/libb.so (poll+4)
`, `aarch64 pid 100 SIGABRT (Abort message: 'assertion failed')
  Android: tid 101 worker: 0x6000002100=liba.so+0x1100/leaf 0x6000002200=liba.so+0x1200/mid libb.so+0x300/__start_thread
  Android: tid 100 main: libb.so+0x400/poll
`},
		// Until Android 9, the stack follows by frames, in words whose addresses are no frames.
		"tombstone with a stack": {`*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
ABI: 'arm'
pid: 100, tid: 101, name: worker  >>> com.toy <<<
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x10
    r0 00000000  r1 00000001  r2 00000002  r3 00000003
    ip 00000000  sp d2a46608  lr 60002205  pc 60002101  cpsr 40070030
backtrace:
    #00 pc 00001100  /system/lib/liba.so (leaf+8)
    #01 pc 00001204  /system/lib/liba.so (mid+32)

stack:
         d2a46600  00000000
         d2a46604  60002205  /system/lib/liba.so (mid+33)
    #00  d2a46608  d2a46628
         d2a4660c  60002305  /system/lib/liba.so (top)
    #01  d2a46610  60002305  /dev/ashmem/space (region)_1_1 (deleted)
         d2a46614  00000000  /system/lib/liba.so (_ZL3topPv+24)

--- --- ---
pid: 100, tid: 100, name: main  >>> com.toy <<<
    #00 pc 00000400  /system/lib/libb.so (poll+4)
`, `arm pid 100 SIGSEGV at 0x10
  Android: tid 101 worker: 0x60002100=liba.so+0x1100/leaf 0x60002204=liba.so+0x1204/mid
  Android: tid 100 main: libb.so+0x400/poll
`},
		// The list of Java frames and the registers are told twice.
		"HotSpot": {`#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f29738da214, pid=100, tid=101
#
# Problematic frame:
# V  [libjvm.so+0xeda214]  Unsafe_PutLong+0x124

Current thread (0x00007f296c017f10):  JavaThread "main" [_thread_in_vm, id=101, stack(0x00007f2972900000,0x00007f2972a00000)]

Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
V  [libjvm.so+0xeda214]  Unsafe_PutLong+0x124
j  Toy.main([Ljava/lang/String;)V+22
v  ~StubRoutines::call_stub
C  [libjli.so+0x45a2]  JavaMain+0xd92

Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
j  Toy.main([Ljava/lang/String;)V+22
v  ~StubRoutines::call_stub

siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000010

Registers:
RAX=0x0000000000000000, RBX=0x00007f296c017f10, RCX=0x0000000000000010, RDX=0x0000000000000000
RSP=0x00007f29729fe480, RBP=0x00007f29729fe4a0, RSI=0x00007f29729fe578, RDI=0x00007f296c0181c0
RIP=0x00007f29738da214, EFLAGS=0x0000000000010246, CSGSFS=0x002b000000000033, ERR=0x0000000000000006

Register to memory mapping:

RSP=0x0000000000001111 is pointing into the stack for thread: 0x00007f296c017f10

Top of Stack: (sp=0x00007f29729fe480)
0x00007f29729fe480:   00007f28eb416c80 0000000000000000

Dynamic libraries:
7f2972a00000-7f2973b5e000 r-xp 00000000 fd:00 2628 /lib/libjvm.so
7f29740cd000-7f29740d6000 r-xp 00000000 fd:00 2629 /lib/libjli.so
END.
`, `x86_64 pid 100 SIGSEGV at 0x10 (SIGSEGV (0xb))
  Java VM: JavaThread "main": 0x7f29738da214=libjvm.so+0xeda214/Unsafe_PutLong 0x0/Toy.main([Ljava/lang/String;)V 0x0/StubRoutines::call_stub 0x7f29740d15a2=libjli.so+0x45a2/JavaMain
`},
		"HotSpot on AArch64": {`# A fatal error has been detected by the Java Runtime Environment:
#  SIGBUS (0x7) at pc=0x0000ffff93a01214, pid=100, tid=101
# Java VM: OpenJDK 64-Bit Server VM (17.0.9+9, mixed mode, sharing, tiered, g1 gc, linux-aarch64)
Stack: [0x0000ffff92900000,0x0000ffff92a00000],  sp=0x0000ffff929fe480,  free space=1017k
Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
C  [libtoy.so+0x1214]  Java_Toy_poke+0x14
C  0x0000ffff7c9455da

Registers:
R0=0x0000000000000000
R1=0x0000000000000010
R2=0x0000ffff929fe578
R30=0x0000ffff7c9455da

Dynamic libraries:
ffff93a00000-ffff93a05000 r-xp 00000000 fd:00 2628 /lib/libtoy.so
END.
`, `aarch64 pid 100 SIGBUS (SIGBUS (0x7))
  Java VM: 0xffff93a01214=libtoy.so+0x1214/Java_Toy_poke 0xffff7c9455da
`},
		"logcat": {`F/libc    ( 5061): Fatal signal 11 (SIGSEGV), code 1, fault addr 0x30 in tid 5637 (Thread-329)
I/DEBUG   (  119): *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
I/DEBUG   (  119): pid: 5061, tid: 5637, name: Thread-329  >>> com.toy <<<
I/DEBUG   (  119): signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x30
I/DEBUG   (  119):     r0 422c5ee0  r1 4233a780  r2 4233a780  r3 422ea400
I/DEBUG   (  119):     ip 00000001  sp 6c06c970  lr 42110a2b  pc 41f71818  cpsr 20000030
I/DEBUG   (  119): backtrace:
I/DEBUG   (  119):     #00 pc 000e1818  /system/lib/libart.so
W/Activity(  502):   Force finishing activity
I/DEBUG   (  119):     #01 pc 00280a27  /system/lib/libart.so (trampoline+34)
`, `arm pid 5061 SIGSEGV at 0x30
  Android: tid 5637 Thread-329: 0x41f71818=libart.so+0xe1818 0x42110a26=libart.so+0x280a26/trampoline
`},
		"ANR": {`----- pid 12 at 2024-01-01 00:00:00 -----
Cmd line: com.toy
ABI: 'arm64'

"main" prio=5 tid=1 Native
  native: #00 pc 00000000000cb1a4  /lib64/libc.so (__epoll_pwait+4)
  native: #01 pc 0000000000014b14  /lib64/libutils.so
  at android.os.MessageQueue.next(MessageQueue.java:335)

"poll" sysTid=14
    #00 pc 00000000000cb1a4  /lib64/libc.so (__epoll_pwait+4)
`, `aarch64
  Android: main: libc.so+0xcb1a4/__epoll_pwait libutils.so+0x14b14 0x0/android.os.MessageQueue.next
  Android: tid 14 poll: libc.so+0xcb1a4/__epoll_pwait
`},
		"OpenHarmony": {`Generated by HiviewDFX@OpenHarmony
Pid:9
Process name:./toy
Reason:Signal:SIGSEGV(SEGV_MAPERR)@0x00000004  probably caused by NULL pointer dereference
Tid:9, Name:toy
#00 pc 00008d22 /bin/toy(f+14)(adfc673300571d2d)
#01 pc 00009d6b /bin/toy(main+90)(adfc673300571d2d)
Registers:
r0:00000000 r1:0079dd00 r2:00000000 r3:00000001
fp:ff9c7ef0 ip:00792d10 sp:ff9c7cd0 lr:0079bd6b pc:0079ad22
Maps:
792000-797000 r--p 00000000 /bin/toy
797000-79e000 r-xp 00005000 /bin/toy
`, `arm pid 9 SIGSEGV at 0x4 (probably caused by NULL pointer dereference)
  OpenHarmony: tid 9 toy: 0x79ad22=toy+0x8d22/f 0x79bd6a=toy+0x9d6a/main
`},
		"sanitizer": {`==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5623b5e822c5
READ of size 4 at 0x602000000010 thread T0
    #0 0x5623b5e822c4 in inl /a.h:3
    #1 0x5623b5e822c4 in f /a.c:9
    #2 0x7ffa8b445249  (/lib/libc.so.6+0x27249)

freed by thread T0 here:
    #0 0x7ffa8b445249  (/lib/libc.so.6+0x27249)
`, `unknown ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x5623b5e822c5 at 0x602000000010 ` +
			`(READ of size 4 at 0x602000000010 thread T0)
  sanitizers: 0x5623b5e822c4/f 0x7ffa8b445249=libc.so.6+0x27249
  sanitizers: freed by thread T0 here: 0x7ffa8b445249=libc.so.6+0x27249
`},
		"Go": {`panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x10 pc=0x45e2a4]

goroutine 1 [running]:
main.leaf(...)
	/tmp/a.go:5
main.main()
	/tmp/a.go:9 +0x24

goroutine 7 [select]:
main.wait(0xc000012345)
	/tmp/a.go:39 +0x1d
created by main.main in goroutine 1
	/tmp/a.go:7 +0x11
`, `unknown SIGSEGV at 0x10 (panic: runtime error: invalid memory address or nil pointer dereference)
  Go: goroutine 1 [running]: 0x0/main.leaf 0x0/main.main
  Go: goroutine 7 [select]: 0x0/main.wait 0x0/main.main
`},
		"Rust": {`thread 'main' panicked at src/main.rs:2:5:
oh no
stack backtrace:
   0: rust_begin_unwind
             at /rustc/f103/library/std/src/panicking.rs:456:19
   1: toy::main
`, `unknown thread 'main' panicked at src/main.rs:2:5:
  Rust: 0x0/rust_begin_unwind 0x0/toy::main
`},
		"Go, a server that goes on": {"2026/11/27 16:00:01 http: panic serving 127.0.0.1:1: boom\ngoroutine 34 [running]:\nmain.serve(0x1)\n\t/tmp/a.go:9 +0x24\n",
			"unknown 2026/11/27 16:00:01 http: panic serving 127.0.0.1:1: boom\n  Go: goroutine 34 [running]: 0x0/main.serve\n"},
		"Go, Docker Compose": {"app-1  | panic: boom\napp-1  | \napp-1  | goroutine 1 [running]:\napp-1  | main.main()\napp-1  | \t/tmp/a.go:9 +0x24\n",
			"unknown panic: boom\n  Go: goroutine 1 [running]: 0x0/main.main\n"},
		"Go, Kubernetes": {"2026-11-27T16:00:01.123456789Z stderr F panic: boom\n2026-11-27T16:00:01.123456790Z stderr F goroutine 1 [running]:\n" +
			"2026-11-27T16:00:01.123456791Z stderr F main.main()\n2026-11-27T16:00:01.123456792Z stderr F \t/tmp/a.go:9 +0x24\n", "unknown panic: boom\n  Go: goroutine 1 [running]: 0x0/main.main\n"},
		"Go, syslog": {"Nov 27 16:00:01 box app[7]: panic: boom\nNov 27 16:00:01 box app[7]: goroutine 1 [running]:\nNov 27 16:00:01 box app[7]: main.main()\n" +
			"Nov 27 16:00:01 box app[7]:         /tmp/a.go:9 +0x24\n", "unknown panic: boom\n  Go: goroutine 1 [running]: 0x0/main.main\n"},
		"Rust, a thread's number": {"thread 'worker' (4711) panicked at src/main.rs:2:5:\noh no\nstack backtrace:\n   0: rust_begin_unwind\n   1: toy::main\n",
			"unknown thread 'worker' (4711) panicked at src/main.rs:2:5:\n  Rust: 0x0/rust_begin_unwind 0x0/toy::main\n"},
		"Node.js": {"FATAL ERROR: Reached heap limit Allocation failed\n 1: 0xb7a940 node::Abort() [node]\n 2: 0xa8e823  [node]\n",
			"unknown FATAL ERROR: Reached heap limit Allocation failed\n  Node.js: 0xb7a940/node::Abort() 0xa8e823\n"},
		"valgrind, with sources": {"==1234== Invalid read of size 4\n==1234==    at 0x10915D: inner (toy.c:5)\n==1234==    by 0x109188: outer (toy.c:10)\n",
			"unknown\n  valgrind: Invalid read of size 4: 0x10915d/inner 0x109188/outer\n"},
		"journal": {`Jul 19 15:16:31 host systemd-coredump[11]: Process 9 (toy) of user 1000 dumped core.#012#012Stack trace of thread 9:#012` +
			`#0  0x00007f14ecd92b23 __libc_free (libc.so.6)#012#1  0x000000000040084c n/a (/home/toy)`, `unknown Process 9 (toy) of user 1000 dumped core.
  systemd: Stack trace of thread 9: 0x7f14ecd92b23/__libc_free 0x40084c
`},
		"valgrind": {`==1234== Invalid read of size 4
==1234==    at 0x109151: inner (in /tmp/a.out)
==1234==    by 0x10916E: mid (in /tmp/a.out)
==1234== Invalid write of size 4
==1234==    at 0x109152: inner (in /tmp/a.out)
==1234==    by 0x10916E: mid (in /tmp/a.out)
`, `unknown
  valgrind: Invalid read of size 4: 0x109151/inner 0x10916e/mid
  valgrind: Invalid write of size 4: 0x109152/inner 0x10916e/mid
`},
		"markup": {`{{{reset}}}
{{{module:0:libc.so:elf:4fcb712aa6387724}}}
{{{mmap:0x7f0000000000:0x1000:load:0:rx:0x0}}}
{{{bt:0:0x7f0000000123:pc}}}
{{{bt:1:0x7f0000000456:ra}}}
`, `unknown
  markup: 0x7f0000000123=libc.so+0x123 0x7f0000000456=libc.so+0x456
`},
		"x86 segfault": {"[ 12.345678] netd[4321]: segfault at 10 ip 00005581b0c0f1a4 sp 00007ffe3a2b1c40 error 6 in netd[5581b0c0e000+3000] likely on CPU 1\n",
			"x86_64 pid 4321 SIGSEGV at 0x10 (write to a page that is not there (error 6))\n  Linux: user fault: netd: 0x5581b0c0f1a4=netd+0x11a4\n"},
		"x86 trap": {"traps: netd[4321] general protection fault ip:5581b0c0f1a4 sp:7ffe3a2b1c40 error:0 in netd[1000,5581b0c0e000+3000]\n",
			"x86_64 pid 4321 SIGSEGV (general protection fault)\n  Linux: user fault: netd: 0x5581b0c0f1a4=netd+0x21a4\n"},
		"MIPS": {`[  156.870000] do_page_fault(): sending SIGSEGV to hostapd for invalid read access from 00000004
[  156.880000] epc = 77dba928 in libc.so[77d96000+b2000]
[  156.880000] ra  = 0042f0a4 in hostapd[400000+6a000]
`, `unknown SIGSEGV at 0x4 (do_page_fault(): sending SIGSEGV to hostapd for invalid read access from 00000004)
  Linux: user fault: hostapd: 0x77dba928=libc.so+0x24928 0x42f0a4=hostapd+0x2f0a4
`},
		"arm64": {`[   93.512345] netd[812]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in netd[400000+97000]
[   93.512345] CPU: 1 PID: 812 Comm: netd Not tainted 5.4.0 #1
[   93.512345] pc : 00000000004006f0
[   93.512345] lr : [<0000000000400734>] pstate: 60000000
[   93.512345] sp : 0000005501801900
[   93.512345] x29: 0000005501801930 x28: 0000000000000000
[   93.512345] Call trace:
[   93.512345]  show_regs+0x1/0x2
`, `aarch64 pid 812 SIGSEGV at 0x0 (unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in netd[400000+97000])
  Linux: user fault: netd: 0x4006f0=netd+0x6f0 0x400734=netd+0x734
`},
		"two programs": {`pid: 1, tid: 1, name: a  >>> a <<<
    #00 pc 00000010  /liba.so
pid: 2, tid: 2, name: b  >>> b <<<
    #00 pc 00000020  /libb.so
`, "unknown pid 1\n  Android: tid 1 a: liba.so+0x10\nunknown pid 2\n  Android: tid 2 b: libb.so+0x20\n"},
		"a device's":             {"stack backtrace:\n   0: 0x000007de - HardFaultTrampoline\n   1: 0x00000656 - main\n", ""},
		"one frame of no report": {"see #0 0x1234 in f\n", ""},
	} {
		c.compare(t, name)
	}
}

// example is a text, and what is read of that.
type example struct{ text, want string }

func (c example) compare(t *testing.T, name string) {
	t.Helper()
	if got := summary(readText(t, c.text)); got != c.want {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
	}
}

// TestInlined: a function that was inlined has a line of its own, in front of the frame's.
func TestInlined(t *testing.T) {
	snaps := readText(t, "#0  0x1234567 in inl () at a.h:3\n#1  f (x=1) at a.c:9\n#2  0x1234599 in main () at a.c:12\n")
	if len(snaps) != 1 || len(snaps[0].Threads[0].Listed) != 2 {
		t.Fatal(summary(snaps))
	}
	l := &snaps[0].Threads[0].Listed[0]
	if l.PC != 0x1234567 || l.Symbol != "f" || len(l.Inlined) != 1 || l.Inlined[0].Function != "inl" || l.Inlined[0].Line != 3 {
		t.Errorf("%+v", l)
	}
}

// pb is a tombstone of two threads as a message.
func pb() []byte {
	frame := func(rel, pc uint64, function, file string) []byte {
		return synth.Message(1, rel, 2, pc, 4, function, 5, 8, 6, file, 8, "0011223344556677")
	}
	thread := func(id int, name string, more ...any) []byte {
		return synth.Message(1, id, 2, synth.Message(append([]any{1, id, 2, name}, more...)...))
	}
	return synth.Message(1, 1, 2, "toy/toy/toy:14/A.1/1:user/release-keys", 4, "2026-01-01 00:00:00", 5, 100, 6, 101, 9, "com.toy",
		10, synth.Message(1, 11, 2, "SIGSEGV", 3, 1, 4, "SEGV_MAPERR", 8, 1, 9, 0x10), 15, synth.Message(1, "null pointer dereference"),
		16, thread(100, "main", 4, frame(0x400, 0x6000000400, "poll", "/lib/libb.so")),
		16, thread(101, "worker", 3, synth.Message(1, "pc", 2, uint64(0x6000001100)), 3, synth.Message(1, "sp", 2, uint64(0x7000)),
			4, frame(0x1100, 0x6000001100, "leaf", "/lib/liba.so"), 4, frame(0x1200, 0x6000001200, "mid", "/lib/liba.so"),
			5, synth.Message(1, "sp", 3, 0x7000, 4, "01234567")),
		17, synth.Message(1, uint64(0x6000000000), 2, uint64(0x6000002000), 4, 1, 6, 1, 7, "/lib/liba.so"))
}

func readPB(data []byte) (*target.Snapshot, error) {
	s, err := openTombstone(context.Background(), input.NewCapture("tombstone.pb", data), environment())
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// TestTombstone: the thread that the signal hit stands first; memory and registers are there to walk by.
func TestTombstone(t *testing.T) {
	if !sniffTombstone(pb()) || sniffTombstone([]byte("text")) || sniffTombstone([]byte("\x08\x01\x12\x05hello")) {
		t.Error("not told from other files")
	}
	snap, err := readPB(pb())
	if err != nil {
		t.Fatal(err)
	}
	const want = "aarch64 pid 100 SIGSEGV at 0x10 (Cause: null pointer dereference)\n" +
		"  worker: 0x6000001100=liba.so+0x1100/leaf 0x6000001200=liba.so+0x1200/mid\n  main: 0x6000000400=libb.so+0x400/poll\n"
	th := &snap.Threads[0]
	if got := summary([]*target.Snapshot{snap}); got != want || th.ID != 101 || !th.Crashed || snap.Fault.Thread != 101 {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if v, ok := th.Memory.Word(0x7000); !ok || v != 0x3736353433323130 {
		t.Errorf("memory %#x", v)
	}
}

// FuzzTombstone: damaged messages.
func FuzzTombstone(f *testing.F) {
	f.Add(pb())
	f.Add(pb()[:200])
	f.Fuzz(func(t *testing.T, data []byte) {
		if snap, err := readPB(data); err == nil && len(snap.Threads) == 0 {
			t.Error("no thread and no error")
		}
	})
}

// FuzzTexts: parts of makers' texts in any order. A list has no more frames than the text has lines, and addresses in them.
func FuzzTexts(f *testing.F) {
	f.Add("*** *** *** *** *** ***\npid: 1, tid: 2, name: a  >>> b <<<\nsignal 11 (SIGSEGV), code 1, fault addr 0x2\n x0 0000000000000001 pc 0000000000001000\n" +
		"#00 pc 0000000000001000  <unknown>\n#01 pc 10  /a.so (f+4) (BuildId: 00112233)\nmemory near x0:\n 0000000000001000 0000000000000001\nmemory map:\n" +
		"00000060'00001000-00000060'00002fff r-x 0 2000 /a.so\n")
	f.Add("==1==ERROR: AddressSanitizer: SEGV on unknown address 0x40 (pc 0x1)\n #0 0x1234567 in f /a.c:3\n #1 0x1234567 (/a+0x1)\nfreed by thread T0 here:\n #0 0x1 (/a+0x2)\n")
	f.Add("panic: x\ngoroutine 1 [running]:\nmain.f(...)\n\t/a.go:3 +0x1\nthread 'a' panicked at b:1:2:\nstack backtrace:\n  0: f\n   at /a.rs:1:2\n")
	f.Add("a[1]: segfault at 10 ip 1 sp 2 error 4 in b[1000+3000]\na[1]: unhandled x at 0x0 in b[1,2+3]\npc : [<0000000000001000>]\ndo_page_fault(): sending SIGSEGV to a for invalid read access from 4\nepc = 1 in a[0+2]\nra  = 2 in b[3+4]\n")
	f.Add("{{{module:0:a:elf:00}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n{{{bt:0:0x1001:pc}}}\n=>0 0x1 in a (+0x1) (0x2)\n./a(+0x1)[0x100001]\n@ 0x1 f\n#0 0x2 f (a + 0x1)#012#1 0x3 g (b)")
	f.Add("#0 0x1234567 in f (a=1,\n b=2) at a.c:3\n#1 0x1234567 in g ()\n from /a.so\nThread 1 (crashed)\n 0  a!f [a.c : 3 + 0x1]\n rip = 0x0000000000001000\n 1  a + 0x12\n")
	f.Add("panic: x\nf() at f+0x1/frame 0x1\n#2 Object \"/a\", at 0x1234567, in f\n#1 Object \"/a\", at 0x1234568, in g\nSTACK_TEXT:\n0 1 : a!b+0x1\n[a:1] [ 0] /a(+0x1)[0x1234567]\n")
	f.Add("eax=00000000 ebx=0034e7ac\neip=77e9016d esp=0034e75c ebp=0034e7f8\nSTACK_TEXT:\n0034e7f8 0186f798 a!b+0x1\n00 0034e7f8 766319fc a!b+0x1\n0034ef64 0186f798 0x1f6a167c\n" +
		"panic: x\nf() at f+0x1\nend trace frame: 0x1, count: 0\nf() at f+0x1\ng() at g+0x1\nrip 0xffffffff816dce0a f+0x1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range readText(t, text) {
			for i := range s.Threads {
				if th := &s.Threads[i]; len(th.Listed) > strings.Count(text, "\n")+strings.Count(text, "#012")+strings.Count(text, " ")+1 {
					t.Errorf("%d frames in %q", len(th.Listed), text)
				}
			}
		}
	})
}
