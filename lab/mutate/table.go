package mutate

import (
	"fmt"
	"io"
)

// Table writes the counts, a row a damage.
func Table(w io.Writer, counts map[string]*Count) {
	fmt.Fprintln(w, "| damage | captures | whole | shorter | wrong | wrong and certain | inner frames lost | certain frames before | after |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	names := []string{oneBit}
	for _, d := range Damages() {
		names = append(names, d.Name)
	}
	for _, name := range names {
		if c := counts[name]; c != nil {
			fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", name, c.N, c.Whole, c.Shorter, c.Wrong, c.Lies, c.InnerLost,
				c.Certain, c.CertainGood)
		}
	}
}
