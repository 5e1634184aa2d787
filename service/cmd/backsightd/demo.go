package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/backsight/backsight/service/inbox"
	"github.com/backsight/backsight/testdata"
)

// Sizes of the demonstration's fleet: devices, crashes of each kind at the most, and days that they are spread over.
const demoDevices, demoCrashes, demoDays = 40, 60, 14

// demo fills an empty service with crashes: captures of real programs, and what consoles of boxes and microcontrollers print.
func demo(ctx context.Context, s *service) error {
	var n int
	if err := s.db.Read.QueryRowContext(ctx, "SELECT count(*) FROM captures").Scan(&n); err != nil || n > 0 {
		return err
	}
	d := demonstration{s: s, random: rand.New(rand.NewPCG(1, 2))}
	if err := d.files(); err != nil {
		return err
	}
	for _, name := range []string{"mips-deref/core.gz", "x86_64-threads/core.gz", "aarch64-signal/core.gz", "macos-core/core.gz"} {
		b, err := testdata.Demo.ReadFile(name)
		if err != nil {
			return err
		}
		if err := d.many(ctx, "core.gz", path.Dir(name), 1+d.random.IntN(8), func(int) []byte { return b }); err != nil {
			return err
		}
	}
	for i, text := range consoles() {
		err := d.many(ctx, "console.log", []string{"set-top box", "router", "sensor"}[i%3], 1+d.random.IntN(demoCrashes), func(n int) []byte {
			return fmt.Appendf(nil, "%swatchdog: fed after %d ms\n%s", boot, 10+n, text)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type demonstration struct {
	s      *service
	random *rand.Rand
}

// files are those of the devices, below the data's sysroot.
func (d *demonstration) files() error {
	return fs.WalkDir(testdata.Demo, ".", func(name string, e fs.DirEntry, err error) error {
		_, rel, ok := strings.Cut(name, "/modules/")
		if err != nil || e.IsDir() || !ok {
			return err
		}
		b, err := testdata.Demo.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(d.s.config.path("sysroot"), filepath.FromSlash(rel))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, b, 0o600))
	})
}

// many has so many devices of a product crash.
func (d *demonstration) many(ctx context.Context, file, product string, crashes int, capture func(n int) []byte) error {
	for n := range crashes {
		sp, err := d.s.spools.Read(ctx, bytes.NewReader(capture(n)), "")
		if err != nil {
			return err
		}
		ago := time.Duration(d.random.Int64N(demoDays*24)) * time.Hour
		_, err = d.s.inbox.Add(&inbox.Arrival{Key: d.s.key, Kind: "upload", File: file, Device: fmt.Sprintf("%s-%02d", strings.Fields(product)[0], d.random.IntN(demoDevices)),
			Product: product, Version: fmt.Sprintf("2.%d", 4-int(ago/(5*24*time.Hour))), Annotations: map[string]string{"demo": "yes"}, When: time.Now().Add(-ago),
			Body: sp.Body(), Packing: sp.Packing, Size: sp.Size})
		sp.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

const boot = "U-Boot 2019.07\nLinux version 4.14.95 (build@ci) #1 SMP\nVFS: Mounted root (squashfs filesystem) readonly.\n"

// consoles are what devices printed.
func consoles() []string {
	return []string{
		`CPU 0 Unable to handle kernel paging request at virtual address 00000040, epc == 8011c0a4, ra == 8011c234
Oops[#1]:
CPU: 0 PID: 1 Comm: init Not tainted 4.14.95 #1
epc   : 8011c0a4 tuner_lock+0x24/0x180
ra    : 8011c234 tuner_scan+0x34/0x90
Call Trace:
[<8011c0a4>] tuner_lock+0x24/0x180
[<8011c234>] tuner_scan+0x34/0x90
[<8002f8d0>] process_one_work+0x1c4/0x3e0
[<80030a34>] worker_thread+0x2f8/0x44c
`,
		`Unable to handle kernel NULL pointer dereference at virtual address 0000000000000018
Internal error: Oops: 96000005 [#1] SMP
CPU: 2 PID: 913 Comm: wifid Not tainted 5.10.110 #1
pc : wl_event_handler+0x58/0x200 [wl]
lr : wl_event_handler+0x40/0x200 [wl]
Call trace:
 wl_event_handler+0x58/0x200 [wl]
 dhd_dpc_thread+0x1a0/0x2c8 [wl]
 kthread+0x128/0x138
 ret_from_fork+0x10/0x20
`,
		`HardFault: CFSR 00008200 HFSR 40000000 BFAR a0000000
R0 00000004 R1 00007eb4 R2 00000002 R3 a0000000
R12 00000000 LR 08000175 PC 0800015c PSR 01000000
SP 200029e0
200029e0: 20002a12 00000199 00020000 200003cc
`,
		`BUG: unable to handle page fault for address: ffffc90000e0d000
Oops: 0002 [#1] SMP NOPTI
CPU: 1 PID: 77 Comm: recorder Tainted: G O 5.4.0 #1
RIP: 0010:ring_write+0x4d/0xa0 [dvr]
Call Trace:
 ring_write+0x4d/0xa0 [dvr]
 dvr_ioctl+0x12e/0x400 [dvr]
 ksys_ioctl+0x8e/0xc0
 do_syscall_64+0x5b/0x1a0
`,
	}
}
