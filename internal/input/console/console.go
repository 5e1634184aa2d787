// Package console reads the text of consoles: what a serial line, a terminal or a log
// daemon kept of a machine that crashed, with everything else that was printed in
// between. Who knows a kind of report is a Reader; the reports of a log are the threads
// of one snapshot, in the order of the log.
package console

import (
	"context"
	"unicode/utf8"

	"github.com/backsight/backsight/input"
)

// Format is text with reports that one of readers knows. They are asked in order, until
// one knows the first report.
func Format(readers ...Reader) input.Format {
	return input.Format{
		Name:  "console",
		Sniff: sniff,
		Set:   dumpOf,
		Open: func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
			return open(ctx, c, env, nil, readers)
		},
		Reports: func(ctx context.Context, text []byte, env *input.Env) input.Reports {
			return reports(ctx, text, env, readers)
		},
	}
}

// textShare is how many percent of a log's head are text at least: lines lose bits, and a
// reset sends some bytes of noise.
const textShare = 60

// sniff tells text from other bytes: bytes above 0x7f are text as UTF-8 only, or all that
// is compressed would be text.
func sniff(head []byte) bool {
	head = withoutFill(decoded(context.Background(), head))
	text := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r >= ' ' && r != 0x7f && (r != utf8.RuneError || n > 1) || r == '\n' || r == '\r' || r == '\t' || r == 0x1b {
			text += n
		}
		i += n
	}
	return text*100 >= textShare*len(head) && text > 0
}
