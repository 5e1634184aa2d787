package debuginfod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// curl is the program that speaks to servers.
const curl = "curl"

// tellStatus makes curl end what it says with the status of the answer: three digits.
const tellStatus = "%{stderr}%{http_code}"

// get writes what a server has at an address to w. The error is errMissing where it has
// nothing there.
func (s *settings) get(ctx context.Context, address string, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends curl where the answer is too large
	whole := func(d time.Duration) string { return strconv.Itoa(int(max(1, d/time.Second))) }
	args := []string{"--disable", "--silent", "--show-error", "--fail", "--location", "--max-redirs", "8",
		"--proto", "=http,https", "--connect-timeout", whole(s.stalled), "--speed-limit", "1", "--speed-time", whole(s.stalled),
		"--max-time", whole(s.longest), "--write-out", tellStatus, address}
	if s.packed {
		args = append(args, "--compressed")
	}
	cmd := exec.CommandContext(ctx, curl, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	answer, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(answer, s.maxSize+1))
	if n > s.maxSize {
		err = fmt.Errorf("the answer is larger than %d bytes; not used", s.maxSize)
	}
	if err != nil {
		cancel()
		_ = cmd.Wait() // it was ended
		return err
	}
	if err := cmd.Wait(); err != nil {
		return reason(said.String(), err)
	}
	return nil
}

// reason makes an error of curl's words, "curl: (22) The requested URL returned error: 500", with
// the status behind them.
func reason(said string, err error) error {
	status := said[max(0, len(said)-3):]
	if status == "404" {
		return errMissing
	}
	line, _, _ := strings.Cut(strings.TrimSuffix(said, status), "\n")
	if _, words, ok := strings.Cut(line, ") "); ok && words != "" {
		return errors.New(words)
	}
	return err
}
