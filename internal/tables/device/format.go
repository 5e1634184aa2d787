package device

import (
	"bufio"
	"fmt"
	"io"

	"github.com/backsight/backsight/tables"
)

// Format is the table as a file, for a flash partition or to be linked as it is.
func Format() tables.Format {
	return tables.Format{Name: "device", Short: "for device/backsight.c, on the machine itself", Write: encodedBy(writeBytes)}
}

// SourceFormat is the table as a C array, backsight_table, to be compiled into the program.
func SourceFormat() tables.Format {
	return tables.Format{Name: "device-c", Short: "the same as a C array, to be linked in", Text: true, Write: encodedBy(writeC)}
}

// encodedBy is a tables.Format's Write: the table of a program, written by write.
func encodedBy(write func(io.Writer, []byte) error) func(io.Writer, *tables.Program) ([]tables.Refusal, error) {
	return func(w io.Writer, p *tables.Program) ([]tables.Refusal, error) {
		table, refused, err := Encode(p)
		if err == nil {
			err = write(w, table)
		}
		return refused, err
	}
}

func writeBytes(w io.Writer, table []byte) error {
	_, err := w.Write(table)
	return err
}

func writeC(w io.Writer, table []byte) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "#include <stdint.h>\nextern const uint8_t backsight_table[];\nconst uint8_t backsight_table[%d] = {", len(table))
	for i, b := range table {
		if i%16 == 0 {
			fmt.Fprint(out, "\n\t")
		}
		fmt.Fprintf(out, "0x%02x,", b)
	}
	fmt.Fprintln(out, "\n};")
	return out.Flush()
}
