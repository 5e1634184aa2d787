//go:build !small

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is asked of the journal: entries, bytes of their fields, bytes of a core (systemd keeps 767 MB there at most,
// coredump.conf(5)), and time.
const (
	maxEntries     = 1000
	maxEntryBytes  = 16 << 20
	maxJournalCore = 1 << 30
	journalTime    = time.Minute
)

// coredumpMessage is the MESSAGE_ID of systemd-coredump's entries (systemd.journal-fields(7), sd-messages.h).
const coredumpMessage = "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1"

// errNoCore says that an entry has no core.
var errNoCore = errors.New("the journal has none")

// journaled are the newest crashes that systemd-coredump told the journal of; none where no journal can be read.
func journaled(ctx context.Context) (list []storedCore) {
	const fields = "COREDUMP_PID,COREDUMP_COMM,COREDUMP_EXE,COREDUMP_TIMESTAMP,COREDUMP_FILENAME"
	_ = journal(ctx, func(r io.Reader) (err error) {
		list, err = crashEntries(io.LimitReader(r, maxEntryBytes))
		return err
	}, "--reverse", "--lines", strconv.Itoa(maxEntries), "--output-fields", fields, coredumpMessage)
	return list
}

// journal runs journalctl, and reads what it writes in the journal's export format.
func journal(ctx context.Context, read func(io.Reader) error, args ...string) error {
	ctx, stop := context.WithTimeout(ctx, journalTime)
	defer stop()
	cmd := exec.CommandContext(ctx, "journalctl", append([]string{"--quiet", "--no-pager", "--output", "export"}, args...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = read(out)
	stop() // what is not read is not wanted
	_ = cmd.Wait()
	return err
}

// crashEntries reads crashes out of entries. What comes before an error is of use.
func crashEntries(r io.Reader) (list []storedCore, err error) {
	x := exported{r: bufio.NewReaderSize(r, maxField)}
	var c storedCore
	for len(list) < maxEntries {
		name, value, err := x.next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		if name == "" {
			if c.cursor != "" && c.pid > 0 {
				list = append(list, c)
			}
			c = storedCore{}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(value, maxField))
		if err != nil {
			return list, err
		}
		c.take(name, string(text))
	}
	return list, nil
}

// take takes a field of an entry.
func (c *storedCore) take(name, value string) {
	switch name {
	case "__CURSOR":
		c.cursor = value
	case "COREDUMP_PID":
		c.pid, _ = strconv.Atoi(value)
	case "COREDUMP_TIMESTAMP":
		c.when, _ = strconv.ParseUint(value, 10, 64)
	case "COREDUMP_COMM":
		c.comm = value
	case "COREDUMP_EXE":
		c.exe = value
	case "COREDUMP_FILENAME":
		c.path = value
	}
}

// maxField is how long a field in a line may be.
const maxField = 64 << 10

// exported reads the journal's export format (systemd.io/JOURNAL_EXPORT_FORMATS): NAME=VALUE in a line, or NAME in a line, the length of
// the value in 64 bits, and the value; an empty line ends an entry.
type exported struct {
	r     *bufio.Reader
	value io.LimitedReader // of the last field
}

// next is the next field; its value is to be read before the next call. At the end of an entry the name is empty. io.EOF is the end.
func (x *exported) next() (name string, value io.Reader, err error) {
	if x.value.R != nil {
		if _, err := io.Copy(io.Discard, &x.value); err != nil {
			return "", nil, err
		}
		x.value.R = nil
		if b, err := x.r.ReadByte(); err != nil || b != '\n' {
			return "", nil, errors.New("the journal: a field is cut off")
		}
	}
	line, err := x.r.ReadSlice('\n')
	if err != nil {
		return "", nil, err
	}
	line = line[:len(line)-1]
	if name, text, ok := bytes.Cut(line, []byte("=")); ok || len(line) == 0 {
		return string(name), bytes.NewReader(bytes.Clone(text)), nil
	}
	name = string(line)
	var size [8]byte
	if _, err := io.ReadFull(x.r, size[:]); err != nil {
		return "", nil, errors.New("the journal: a field is cut off")
	}
	x.value = io.LimitedReader{R: x.r, N: int64(binary.LittleEndian.Uint64(size[:]) & (1<<63 - 1))}
	return name, &x.value, nil
}

// coreOf writes the core that an entry has to a file.
func coreOf(ctx context.Context, c *storedCore, to *os.File) error {
	return journal(ctx, func(r io.Reader) error { return copyCore(r, to) }, "--cursor", c.cursor, "--lines", "1", "--output-fields", "COREDUMP")
}

func copyCore(r io.Reader, to io.Writer) error {
	x := exported{r: bufio.NewReaderSize(r, maxField)}
	for {
		name, value, err := x.next()
		switch {
		case err == io.EOF, err == nil && name == "":
			return errNoCore
		case err != nil:
			return err
		case name != "COREDUMP":
			continue
		}
		n, err := io.Copy(to, io.LimitReader(value, maxJournalCore+1))
		if err == nil && n > maxJournalCore {
			err = fmt.Errorf("the core has more than %d bytes", maxJournalCore)
		}
		if err == nil && x.value.N > 0 {
			err = errors.New("the core is cut off")
		}
		return err
	}
}

// extracted is the path of a file with the core that an entry of the journal has, which goes with the stores' end.
func (s *coreStore) extracted(ctx context.Context, c *storedCore) (path string, err error) {
	f, err := os.CreateTemp("", "backsight-*.core")
	if err != nil {
		return "", err
	}
	s.temporary = append(s.temporary, f.Name())
	return f.Name(), errors.Join(coreOf(ctx, c, f), f.Close())
}

// of is what a crash is called in messages.
func (c *storedCore) of() string {
	return strings.TrimSpace(fmt.Sprintf("%s, process %d, %s", c.comm, c.pid, time.UnixMicro(int64(c.when)).Format(time.DateTime)))
}
