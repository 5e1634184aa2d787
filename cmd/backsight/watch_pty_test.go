//go:build !small && linux

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// pty opens a pair of pseudo-terminals: the device's end and the path of the other one.
func pty(t *testing.T) (device *os.File, path string) {
	t.Helper()
	device, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { device.Close() })
	control := func(request uintptr, arg *uint32) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, device.Fd(), request, uintptr(unsafe.Pointer(arg))); e != 0 {
			t.Skip("no pseudo-terminals: ", e)
		}
	}
	var unlock, number uint32
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	return device, fmt.Sprintf("/dev/pts/%d", number)
}

// TestWatchSerial: over a serial line, bytes come as 115200 baud carry them, with noise
// before a report, a reset in the middle of another, and a third one whole.
func TestWatchSerial(t *testing.T) {
	device, path := pty(t)
	out, stop := watching(path)
	time.Sleep(100 * time.Millisecond) // until the line passes all bytes on
	third := strings.Replace(consoleLog, "PC 0800015c", "PC 080001f0", 1)
	for _, text := range []string{"\x00\xff\xfe\x80noise\x01\r\n" + consoleLog, consoleLog[:150] + "\x00\x00boot\r\n", third} {
		for len(text) > 0 {
			n := min(len(text), 64)
			if _, err := device.WriteString(text[:n]); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
			time.Sleep(64 * time.Second * 10 / 115200)
		}
		time.Sleep(150 * time.Millisecond)
	}
	out.await(t, "#0  0x080001f0")
	if s := out.String(); strings.Count(s, "(crashed)") != 2 || !strings.Contains(s, "#0  0x0800015c") {
		t.Errorf("%s", s)
	}
	stop()
}
