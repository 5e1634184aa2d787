package conform

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

const headDecoders = "## Decoders against objdump"

const decodersIntro = "Every instruction of the files, as GNU objdump (of release 6's microMIPS: llvm-mc) prints it, against what the decoder says: its length;\n" +
	"whether and where it jumps, calls or returns; which registers it writes, SP, frame pointer and return address among them; constants and\n" +
	"memory operands where the text gives them. An oracle in the tests derives that from mnemonic and operands; it shares nothing with the\n" +
	"decoders. *Disagreements* is lengths and effects together. *Accepted* is what is not compared, or may differ: the list below.\n\n"

const acceptedIntro = "\nThey come from random words, from literal pools and tables that nothing marks as data, and from archives, whose relocations\n" +
	"objdump follows. Only fwait is of code that runs.\n\n"

// agreement is what was counted in files of one name.
type agreement struct{ files, compared, wrong int }

// decoders writes what the differential tests of the decoders have counted.
func decoders(w io.Writer, opt *Options) error {
	fmt.Fprintf(w, "\n%s\n\n", headDecoders)
	if opt.Decoders == "" {
		return opt.recall(w, "decoders", decodeAnew)
	}
	log, err := os.ReadFile(opt.Decoders)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprint(&b, decodersIntro)
	decoderTables(&b, log)
	return opt.keep(w, "decoders", b.Bytes(), decodeAnew)
}

// decoderTables sums the lines of difftest.Tally in a log by CPU and file name, and the
// accepted differences by CPU and reason.
func decoderTables(w io.Writer, log []byte) {
	files, reasons := map[string]agreement{}, map[string]int{}
	for s := bufio.NewScanner(bytes.NewReader(log)); s.Scan(); {
		_, line, _ := strings.Cut(s.Text(), ": ")
		f := strings.Split(line, " | ")
		switch {
		case len(f) == 5 && f[0] == "compared":
			key := f[1] + " | " + fileName(f[2])
			a := files[key]
			files[key] = agreement{a.files + 1, a.compared + count(f[3]), a.wrong + count(f[4])}
		case len(f) == 4 && f[0] == "accepted":
			reasons[f[1]+" | "+f[2]] += count(f[3])
		}
	}
	fmt.Fprintln(w, "| CPU | file | files | instructions | disagreements |\n|---|---|---|---|---|")
	for _, key := range slices.Sorted(maps.Keys(files)) {
		a := files[key]
		fmt.Fprintf(w, "| %s | %d | %d | %d |\n", key, a.files, a.compared, a.wrong)
	}
	fmt.Fprint(w, acceptedIntro)
	fmt.Fprintln(w, "| CPU | accepted, for this reason | instructions |\n|---|---|---|")
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "| %s | %d |\n", key, reasons[key])
	}
}

// fileName is the last element of a path or of a test's name.
func fileName(file string) string {
	switch name := path.Base(file); {
	case strings.Contains(strings.ToLower(file), "random"):
		return "random words"
	case name == "naked.elf" || name == "sym.elf" || path.Dir(file) == "TestPrograms":
		return "recorded programs, libraries of cross compilers"
	default:
		return name
	}
}

func count(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
