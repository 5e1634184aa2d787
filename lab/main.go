// Lab is the truth laboratory: how we know that a backtrace is right.
//
//	go run ./lab all            installs tools, builds, records and scores: the whole way
//	go run ./lab score          recorded truth against what Backsight makes of it
//	go run ./lab diff FILE…     code analysis against the unwind tables of binaries
package main

import (
	"fmt"
	"os"
)

// commands are the tools of the laboratory.
var commands = []struct {
	name, what string
	run        func(args []string) error
}{
	{"all", "the whole way: installs tools (as root on Debian), builds, records, scores", runAll},
	{"record", "builds and records the programs of lab/programs for all CPUs that the machine has tools for", runRecord},
	{"trace", "PROGRAM  records one program with its own libraries under an emulator's plugin", runTrace},
	{"debian", "records programs as Debian ships them, for all its CPUs, under an emulator's plugin", runDebian},
	{"foreign", "records and scores programs of other languages and compilers, as npm and Debian ship them", runForeign},
	{"mutate", "damages recorded captures: nothing wrong may be certain", runMutate},
	{"logs", "LOG…  damages logs of kernels: what is wrong then is a guess", runLogs},
	{"public", "reports that other people brought, file by file: right, in part, refused by name, wrong", runPublic},
	{"hostile", "runs input that is made to cost much: time and memory are in proportion to it", runHostile},
	{"memory", "CAPTURE…  peak memory of bt, by folder: lab/results/memory.md", runMemory},
	{"score", "how right backtraces are over recorded truth", runScore},
	{"conformance", "[FILE…]  writes lab/results/conformance.md; FILEs are for its table of lab diff", runConformance},
	{"device", "the reader of device tables over recorded truth", runDevice},
	{"readers", "how right other programs are that unwind by our tables: GDB, a minidump's stack walker", runReaders},
	{"kernelsteps", "steps a Linux kernel in QEMU: backtraces at each instruction; lab/kernels.sh starts it", runKernelSteps},
	{"crashes", "writes docs/crashes.md: ten crashes as GDB, eu-stack and Backsight tell of them", runCrashes},
	{"remote", "programs that stand at a GDB server beside snapshots of them: frames, round trips", runRemote},
	{"readobj", "FILE…  unwind information of PE files as we and llvm-readobj read it", runReadobj},
	{"signatures", "crashes of known bugs, of several builds: which are told to be the same", runSignatures},
	{"redact", "CORE…  redacts cores: the same frames, and no text of the program left", runRedact},
	{"stack", "depths of stacks beside GCC's figures and painted stacks: lab/results/stack.md", runStack},
	{"diff", "FILE…  code analysis against unwind tables, at every instruction", runDiff},
}

func main() {
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name == os.Args[1] {
				if err := c.run(os.Args[2:]); err != nil {
					fmt.Fprintln(os.Stderr, "lab:", err)
					os.Exit(1)
				}
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: lab COMMAND …")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-13s%s\n", c.name, c.what)
	}
	os.Exit(64)
}
